"""More of nights: videos that come home by other ways, a canary, another kill. Slow: not collected
by default.

python -m pytest tests/pipeline/nights_torture.py
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.values import rows_of
from tests.board.conftest import board_at
from tests.board.stage import API, approved, ended
from tests.pipeline.night_kills import sweep_killed
from tests.pipeline.nights import BROKEN, Nights, left, nights, said, slow, the_one, videos
from tests.programs import Sandbox

__all__ = ["left", "nights", "slow"]
BOTH = ("r001", "r002")


async def test_what_is_parked_is_carried_on_the_next_night(left: Nights) -> None:
    report = the_one(await left.sweep("2026-11-21"))
    assert (report.outcome, report.delivered) == ("delivered", BOTH)


async def test_videos_come_home_though_their_sheet_is_gone(left: Nights) -> None:
    (left.path / f"{left.name}-a.csv").unlink()
    report = the_one(await left.sweep("2026-11-21"))
    assert (report.outcome, report.delivered) == ("delivered", BOTH)
    assert "gone from the inbox" in str(report.words)
    assert (await left.sweep("2026-11-22")).sheets == ()


async def test_videos_come_home_though_their_sheet_is_too_dear_by_now(left: Nights) -> None:
    left.put("a", videos("A", 9))
    report = the_one(await left.sweep("2026-11-21", inbox={"per_night": Decimal(0)}))
    assert (report.outcome, report.delivered) == ("not-approved", BOTH)


async def test_videos_come_home_though_their_sheet_is_left_alone(left: Nights) -> None:
    """It failed three times while its videos could not be fetched."""
    left.put("a", BROKEN)
    left.service.plan_fault(on="get", do="error-before", status=503, every=1)
    for night in ("2026-11-21", "2026-11-22", "2026-11-23"):
        report = the_one(await left.sweep(night, inbox={"max_wait": 0.1}))
    left.service.clear_faults()
    assert (report.outcome, report.delivered) == ("set-aside", ())
    report = the_one(await left.sweep("2026-11-24"))
    assert (report.outcome, report.exit_status, report.delivered) == ("set-aside", 0, BOTH)


async def test_of_a_new_campaign_one_video_is_made_until_somebody_keeps_it(nights: Nights) -> None:
    nights.put("a", videos("A", 3))
    wanted = {"canary": True}
    first = the_one(await nights.sweep(inbox=wanted))
    again = the_one(await nights.sweep("2026-11-21", inbox=wanted))
    assert (first.outcome, first.exit_status, first.charged) == ("not-approved", 4, 15)
    assert "keep r001, and the next nightly run makes what waits for it" in str(first.words)
    assert (again.outcome, again.charged) == ("not-approved", 0)
    campaign = await nights.read(find_campaign, name=f"{nights.name}-a")
    (found,) = await nights.read(rows_of, campaign_id=campaign.id, row="r001")
    await nights.write(review, take_id=found.take.id, verdict="keep", by="Alice", at=1.0)
    assert said(await nights.sweep("2026-11-22", inbox=wanted)) == {"a": "delivered"}
    assert nights.answer("a")["charged"] == 30


def test_a_night_that_is_killed_once_its_answer_lies_there_says_it_again(
    tmp_path: Path, studio: Sandbox, name: str
) -> None:
    trial = sweep_killed(tmp_path, studio, name, "night: the answer lies beside the sheet")
    assert (trial.killed, trial.findings) == (True, [])


async def test_a_plan_that_waits_is_approved_on_the_board(nights: Nights) -> None:
    nights.put("a", videos("A"))
    wanted = {"approval": "plan-only", "board": "https://board.example"}
    async with board_at(nights.folder, environ=nights.service.environ) as board:
        link = the_one(await nights.sweep(inbox=wanted)).link
        plan = (await board.admin.get(f"{API}/plans/{link.rpartition('/')[2]}")).json()
        assert (plan["state"], plan["total"]) == ("ready", 30)
        assert plan["made_by"] == "the night of 2026-11-20"
        over = await ended(board.admin, await approved(board.admin, plan))
        assert (over["exit"], over["words"]) == (0, None)
    assert said(await nights.sweep("2026-11-21", inbox=wanted)) == {"a": "delivered"}
    assert the_one(await nights.sweep("2026-11-22", inbox=wanted)).outcome == "unchanged"
