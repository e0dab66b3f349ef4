"""Nights: what is new or changed is made within what may be spent unasked, and the rest rests.

Every proof of money is in the sandbox's own charge log.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from callsheet.flows.nightly_run import hold_night
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.engine.owner import this_process
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.inbox_sheets import end_sheet, sheets_in
from callsheet.tasks.ledger.nightly_runs import find_night
from callsheet.tasks.ledger.plans import latest_plan, plans_of
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.nights.approval import WAITS
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.locations import open_place
from callsheet.tasks.nights.reports import NightReport
from tests.approvers import delay_approval
from tests.board.conftest import board_at
from tests.board.stage import API, approved, ended
from tests.databases import PostgresServer
from tests.pipeline.night_kills import WORDS, sweep_killed
from tests.pipeline.nights import (
    BROKEN,
    NIGHTS,
    Nights,
    claimed,
    left,
    nights,
    said,
    slow,
    the_one,
    until_all_render,
    videos,
    watching,
)
from tests.programs import Desk, Sandbox, simple_sheet
from tests.stores import S3Server, moto_s3
from tests.torture.sweep import Kill
from tests.web import watcher

__all__ = ["left", "nights", "slow"]
pytestmark = pytest.mark.merge


@pytest.mark.safeguard("tasks/campaign/steps.py", "(owns, *run.approver.limits)", "(owns,)")
@pytest.mark.always
async def test_a_night_of_five_sheets_and_one_with_nothing_to_do(nights: Nights) -> None:
    nights.put("unchanged", videos("Unchanged"))
    nights.put("changed", videos("Changed"))
    before = await nights.sweep("2026-11-19")
    nights.put("good", videos("Good"))
    nights.put("changed", videos("Changed", 3))
    nights.put("broken", BROKEN)
    nights.put("dear", videos("Dear", 9))
    night = await nights.sweep(inbox={"per_sheet": Decimal(100)})
    assert said(before) == {"changed": "delivered", "unchanged": "delivered"}
    assert said(night) == {
        "broken": "invalid",
        "changed": "delivered",
        "dear": "not-approved",
        "good": "delivered",
        "unchanged": "unchanged",
    }
    assert (night.charged, night.exit_status) == (45, 2)
    assert [one["problem"] for one in nights.report("broken")] == [
        "is empty, and the row has neither a tool nor a script: give one of them"
    ]
    assert nights.answer("broken")["problems"] == list(night.sheets[0].problems)
    assert nights.answer("dear")["asked"] == 135
    assert {line["credits"] for line in nights.report("dear")} == {"15"}
    good = nights.answer("good")
    assert (good["outcome"], good["charged"], good["delivered"]) == (
        "delivered", 30, ["r001", "r002"]
    )  # fmt: skip
    assert good["rows"] == {"total": 2, "delivered": 2}
    assert all(Path(line["video"]).is_file() for line in nights.report("good"))
    (plan,) = await nights.read(plans_of, campaign=f"{nights.name}-good", limit=9)
    assert (plan.state, plan.total) == ("approved", 30)
    assert plan.approval == "approved by the standing approval of inbox spring, 2026-11-20"
    for stem in ("broken", "dear"):
        (nights.path / f"{nights.name}-{stem}.csv").unlink()
    calls = nights.service.calls()
    times = {file: file.stat().st_mtime_ns for file in nights.path.iterdir()}
    quiet = await nights.sweep("2026-11-21")
    assert set(said(quiet).values()) == {"unchanged"}
    assert (quiet.charged, quiet.exit_status) == (0, 0)
    assert nights.service.calls() == calls
    assert {file: file.stat().st_mtime_ns for file in nights.path.iterdir()} == times


async def test_what_is_said_of_a_night_is_said_of_all_its_sweeps(nights: Nights) -> None:
    for count in (2, 3, 3):
        nights.put("a", videos("A", count))
        await nights.sweep()
    kept = await nights.read(find_night, inbox="spring", date="2026-11-20")
    told = NightReport.read(kept.report or "")
    assert (said(told), told.charged, kept.exit) == ({"a": "delivered"}, 45, 0)
    assert the_one(told).delivered == ("r001", "r002", "r003")


@pytest.mark.parametrize("gone", ["deleted", "has another campaign"])
async def test_a_night_no_longer_asks_for_a_sheet_that_is_gone(nights: Nights, gone: str) -> None:
    dear = nights.put_named("dear", videos("Dear", 9))
    broken = nights.put("broken", BROKEN)
    asked = await nights.sweep(inbox={"per_sheet": Decimal(100)})
    assert {one.outcome for one in asked.sheets} == {"invalid", "not-approved"}
    broken.unlink()
    if gone == "deleted":
        dear.unlink()
        nights.put("dearer", videos("Dear", 1))
    else:
        nights.put_named("dear", videos("Cheap", 1), campaign=f"{nights.name}-cheap")
    await nights.sweep(inbox={"per_sheet": Decimal(100)})
    kept = await nights.read(find_night, inbox="spring", date="2026-11-20")
    told = NightReport.read(kept.report or "")
    assert ([one.outcome for one in told.sheets], kept.exit) == (["delivered"], 0)


async def test_without_a_word_beforehand_nothing_is_spent(nights: Nights, desk: Desk) -> None:
    sheet = nights.put("a", videos("A"))
    charges = len(nights.service.charges())
    asking = {"approval": "plan-only"}
    report = the_one(await nights.sweep(inbox=asking))
    assert (report.outcome, report.exit_status, report.asked) == ("not-approved", 4, 30)
    assert f"callsheet run {sheet}" in str(report.words)
    assert len(nights.service.charges()) == charges
    # Whoever is asked says yes in the morning.
    assert desk.run(str(sheet)).status == 0
    assert said(await nights.sweep("2026-11-21", inbox=asking)) == {"a": "delivered"}
    assert the_one(await nights.sweep("2026-11-22")).outcome == "unchanged"


async def test_of_two_equal_sheets_in_an_inbox_one_is_asked_about(slow: Nights) -> None:
    before = slow.service.creates()
    for stem in ("a", "b"):
        slow.put(stem, videos("Same", 3))
    report = await slow.sweep()
    assert sorted(said(report).values()) == ["delivered", "not-approved"]
    (other,) = (sheet for sheet in report.sheets if sheet.outcome == "not-approved")
    assert "3 of 3 rows" in str(other.words)
    assert slow.service.creates() == before + 3


@pytest.mark.safeguard("flows/night_sheet.py", "self._check_own(sheet.campaign)", "")
async def test_two_sheets_of_one_campaign_do_not_undo_each_other(nights: Nights) -> None:
    def alike(title: str) -> str:
        """Return a sheet of four videos, three of which others like it have too."""
        own = videos(title, 1).replace("r001", f"r{title}").splitlines()[1]
        return f"{videos('Same', 3)}{own}\n"

    for stem in ("a", "b"):
        nights.put_named(stem, alike(stem))
    found = [await nights.sweep(night) for night in NIGHTS]
    outcomes = [[sheet.outcome for sheet in report.sheets] for report in found]
    assert outcomes == [["delivered", "not-approved"], ["unchanged", "not-approved"]]
    assert [report.charged for report in found] == [60, 0]
    assert "is in the same inbox" in str(found[0].sheets[1].words)

    # Somebody is writing to the one that has the campaign: it has it all the same.
    async def write_on(_: float) -> None:
        nights.put_named("a", alike("again")).touch()

    await write_on(0)
    other = the_one(await nights.sweep("2026-11-22", sleep=write_on))
    assert (other.outcome, other.charged) == ("not-approved", 0)
    assert "is in the same inbox" in str(other.words)


async def test_a_sheet_that_is_renamed_with_its_videos_under_way_is_told_once(slow: Nights) -> None:
    """Its campaign goes on with it; of the name that is gone there is nothing to say."""
    sheet = slow.put_named("a", videos("A"))
    await slow.sweep(watch=until_all_render)
    sheet.rename(sheet.with_name(f"{slow.name}-b.json"))
    report = the_one(await slow.sweep("2026-11-21"))
    assert (report.sheet[-6:], report.outcome, report.charged) == ("b.json", "delivered", 30)


async def test_what_was_tried_with_a_sandbox_is_not_what_was_made(nights: Nights) -> None:
    nights.put("a", videos("A"))
    tried, made = the_one(await nights.sweep(sandbox=True)), the_one(await nights.sweep())
    again = [the_one(await nights.sweep(sandbox=trial)) for trial in (False, True)]
    assert (tried.campaign, tried.charged) == (f"{nights.name}-a", 30)
    assert (made.campaign, made.charged) == (f"{nights.name}-a-real", 30)
    assert [one.outcome for one in again] == ["unchanged", "unchanged"]


@pytest.mark.always
async def test_a_file_that_cannot_be_read_does_not_stop_the_others(nights: Nights) -> None:
    nights.put("a", videos("A", 1))
    gone = nights.put("gone", videos("Gone"))
    (nights.path / os.fsdecode(b"caf\xe9.csv")).write_text("x")

    def lose(_: Run) -> None:
        gone.unlink()
        gone.mkdir()

    report = await nights.sweep(watch=watching(lose))
    assert said(report) == {"a": "delivered", "gone": "invalid"}
    assert "cannot be read" in str(report.sheets[1].words)


@pytest.mark.always
async def test_a_file_that_is_still_written_to_is_left_to_the_next_sweep(nights: Nights) -> None:
    file = nights.put("a", videos("A", 1), old=False)

    async def write_on(_: float) -> None:
        with file.open("a") as more:
            more.write(videos("A", 2).splitlines()[-1] + "\n")

    report = await nights.sweep(sleep=write_on)
    assert (report.sheets, report.waiting) == ((), (file.name,))
    later = await nights.sweep("2026-11-21", clock=lambda: time.time() + 10)
    assert said(later) == {"a": "delivered"}


async def test_a_script_beside_the_sheet_that_changes_changes_the_sheet(nights: Nights) -> None:
    nights.put("a", "id,title,script,duration_seconds,aspect_ratio\na,A,@a.txt,5,9:16\n")
    for night, words in zip(NIGHTS, ("one", "another one"), strict=True):
        (nights.path / "a.txt").write_text(f"{nights.name} {words}")
        report = the_one(await nights.sweep(night))
        assert (report.outcome, report.charged > 0) == ("delivered", True)


async def test_a_sheet_that_fails_in_three_nights_is_left_alone_and_said_so_once(
    nights: Nights,
) -> None:
    nights.put("a", BROKEN)
    found = []
    for night in ("2026-11-20", "2026-11-20", "2026-11-21", "2026-11-23", "2026-11-24"):
        report = the_one(await nights.sweep(night))
        found.append((report.outcome, report.exit_status, len(report.problems)))
    assert found == [*[("invalid", 2, 1)] * 3, ("set-aside", 2, 1), ("set-aside", 0, 0)]
    assert nights.answer("a")["outcome"] == "set-aside"
    nights.put("a", videos("A", 1))
    assert said(await nights.sweep("2026-11-25")) == {"a": "delivered"}


async def test_videos_under_way_come_home_though_their_sheet_is_broken(left: Nights) -> None:
    """Nothing more is approved of it, and the next sheet goes on beside it."""
    left.put("a", BROKEN)
    left.put("b", videos("B", 1))
    both = asyncio.Barrier(2)

    async def meet(_: Run) -> None:
        async with asyncio.timeout(60):
            await both.wait()

    report = await left.sweep("2026-11-21", watch=watching(meet))
    assert said(report) == {"a": "invalid", "b": "delivered"}
    broken = report.sheets[0]
    assert (broken.exit_status, broken.delivered) == (2, ("r001", "r002"))


@pytest.mark.safeguard(
    "flows/night_sheet.py",
    "gone = () if self._refused is None else self._refused.retiring",
    "gone = ()",
)
@pytest.mark.always
async def test_what_was_approved_of_a_row_that_left_is_not_made_by_a_refused_night(
    nights: Nights, desk: Desk
) -> None:
    file = nights.put("a", simple_sheet(3))
    assert said(await nights.sweep()) == {"a": "delivered"}
    campaign = file.stem
    assert desk.call("retake", campaign, "r002", "r003", "--yes", "--json").status == 0
    lines = simple_sheet(30).splitlines(keepends=True)
    nights.put("a", "".join(line for line in lines if not line.startswith("r003")))
    report = await nights.sweep("2026-11-21", inbox={"per_night": Decimal(50)})
    assert said(report) == {"a": "not-approved"}
    takes = {row: one["take"] for row, one in desk.rows(campaign).items() if one["take"]}
    assert takes == {"r001": 1, "r002": 2, "r003": 1}


@pytest.mark.parametrize("how", ["broken", "gone"])
async def test_a_fault_while_videos_come_home_keeps_no_other_sheet_from_its_night(
    left: Nights, how: str
) -> None:
    sheet = left.put("a", BROKEN)
    if how == "gone":
        sheet.unlink()
    left.put("b", videos("B", 1))

    def fail(run: Run) -> None:
        # Only what was left of a campaign is resumed without its sheet.
        if run.options.campaign:
            raise RuntimeError("no error of ours")

    report = await left.sweep("2026-11-21", watch=watching(fail))
    assert said(report) == {"a": "needs-person", "b": "delivered"}
    assert [one.exit_status for one in report.sheets] == [1, 0]


async def test_a_sheet_that_was_set_aside_and_is_mended_is_run_once(left: Nights) -> None:
    """Its videos are under way: they come home with its run, and not beside it as well."""
    (known,) = (await left.read(sheets_in, inbox="spring")).values()
    aside = replace(known, digest="0", outcome="set-aside", failures=3, set_aside_at=1.0)
    await left.write(end_sheet, inbox="spring", sheet=aside)
    left.put("a", videos("A", 3))
    found = [the_one(await left.sweep(night)) for night in ("2026-11-21", "2026-11-22")]
    assert [one.outcome for one in found] == ["delivered", "unchanged"]
    assert (found[0].exit_status, found[0].rows["delivered"]) == (0, 3)


@pytest.mark.safeguard(
    "tasks/campaign/propose.py", "check_same_money(found, sandbox=ask.sandbox)", ""
)
@pytest.mark.always
async def test_a_trial_is_left_alone_by_nights_that_cost(slow: Nights) -> None:
    """Its service is another one: what was begun there is no video of this one's."""
    sheet = slow.put("a", videos("A"))
    await slow.sweep(sandbox=True, watch=until_all_render)
    slow.put("a", BROKEN)
    calls = slow.service.calls()
    broken = the_one(await slow.sweep("2026-11-21"))
    sheet.unlink()
    gone = await slow.sweep("2026-11-22")
    assert (broken.outcome, broken.rows["rendering"]) == ("invalid", 2)
    assert gone.sheets == ()
    assert slow.service.calls() == calls


async def test_a_night_whose_sweep_was_killed_elsewhere_is_waited_for(nights: Nights) -> None:
    """Of a process on another machine nobody here knows whether it lives, until it says so."""
    nights.put("a", videos("A", 1))
    elsewhere = claimed("2026-11-20", "elsewhere:1:1:boot/1:1", at=time.time(), seconds=1.0)
    await nights.write(elsewhere)
    report = await nights.sweep(lease=1.0, sleep=asyncio.sleep)
    assert said(report) == {"a": "delivered"}


@pytest.mark.safeguard("flows/nightly_run.py", "if not report.is_swept_elsewhere:", "if True:")
@pytest.mark.always
async def test_whoever_leaves_a_night_to_another_sweep_does_not_say_that_it_went_well(
    nights: Nights,
) -> None:
    """That one may hang: who watches over nights waits for its own word."""
    now = time.time()
    night = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
    await nights.write(claimed(night, f"{this_process()}:0", at=now))
    with watcher() as web:
        inbox = replace(nights.inbox(), ping=f"{web.url}/p", timezone="UTC")
        report = await hold_night(inbox, nights.settings, due=now, clock=lambda: now)
    assert report.is_swept_elsewhere
    assert [call.path for call in web.calls] == ["/p/start"]


async def test_a_plan_that_waits_is_where_the_board_shows_it(nights: Nights) -> None:
    wanted = {"approval": "plan-only", "board": "https://board.example/"}

    async def link(night: str, count: int, **how: object) -> str:
        nights.put("a", videos("A", count))
        found = the_one(await nights.sweep(night, inbox=wanted, **how)).link
        assert found.startswith("https://board.example/plans/")
        assert nights.answer("a")["link"] == found
        return found.rpartition("/")[2]

    first, same = [await link(night, 1) for night in NIGHTS]
    assert first == same, "it stands: the link that was mailed leads to it"
    more = await link("2026-11-22", 2)
    later = time.time() + 2 * 86400
    last = await link("2026-11-24", 2, clock=lambda: later)
    found = await nights.read(plans_of, campaign=f"{nights.name}-a", limit=9)
    assert {plan.id: (plan.state, plan.total, plan.replaced_by) for plan in found} == {
        first: ("void", 15, more),
        more: ("void", 30, last),
        last: ("ready", 30, None),
    }
    assert await nights.read(latest_plan, plan_id=first) == last
    assert [plan.expires_at for plan in found if plan.state == "ready"] == [later + WAITS]


@pytest.mark.always
async def test_whoever_has_lost_the_night_approves_nothing(nights: Nights) -> None:
    """A sweep that was stopped for so long that another one has its night by now."""
    nights.put("a", videos("A", 1))
    charges = len(nights.service.charges())
    losing = watching(lambda run: delay_approval(run, nights.lose_to_another))
    report = the_one(await nights.sweep(watch=losing))
    assert (report.outcome, len(nights.service.charges())) == ("not-approved", charges)
    assert "another nightly run has this night" in str(report.words)


@pytest.mark.always
async def test_a_sweep_hears_that_its_night_is_another_ones(nights: Nights) -> None:
    """At its next sign of life: it stops what it carries, and begins no other sheet."""
    nights.put("a", videos("A", 1))
    nights.put("b", videos("B", 1))
    heard = []

    async def lose(run: Run) -> None:
        await nights.lose_to_another()
        for _ in range(600):
            await asyncio.sleep(0.1 if run.lost is None else 0)
        heard.append(run.lost)

    report = await nights.sweep(watch=watching(lose), lease=1.0, sleep=asyncio.sleep)
    assert heard == ["another nightly run has this night, because this one did not renew its lease"]
    assert report.waiting == (f"{nights.name}-b.csv",)


def test_two_sweeps_at_once_are_one(nights: Nights, desk: Desk) -> None:
    nights.put("a", videos("A"))
    nights.put("b", videos("B"))
    several = [desk.start(*WORDS) for _ in range(3)]
    said = [process.communicate(timeout=300) for process in several]
    assert sum(json.loads(out)["charged"] for out, _ in said) == 30, said
    assert all(process.wait() in (0, 4) for process in several), said
    log = [entry for entry in nights.service.charges() if nights.name in json.dumps(entry)]
    assert len(log) <= 2


def test_a_bad_row_is_named_with_its_reason_and_what_helps(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    long = "bad,product-launch,Kettle,Bad,5000,9:16\n"
    Nights(desk.folder, studio, name).put("a", videos("Badly", 2) + long)
    studio.plan_fault(on="create", nth=1, do="error-before", status=400)
    night = desk.call("nightly", "inbox", "--approve-up-to", "100")
    assert night.status == 3, night.err
    rows = desk.rows(f"{name}-a")
    wrong = {row: one["reason"] for row, one in rows.items() if one["state"] == "rejected"}
    assert len(wrong) == 2
    assert "bad" in wrong
    said = " ".join(night.err.split())
    for row, reason in wrong.items():
        command = f"`callsheet explain {name}-a {row}` shows what you can do"
        assert f"{row} is rejected: {reason}; {command}" in said
        # As a log of the default level has it, whatever ran the sheet.
        assert f"row {row} is rejected: {reason}" in said


@pytest.mark.crashpoint(
    "night: it is claimed",
    "night: a sheet is begun",
    "night: what was approved is in the rows",
    "night: the answer lies beside the sheet",
    "night: what became of the sheet is kept",
    "night: before its end is noted",
)
@pytest.mark.parametrize("point", ["ledger: after the commit (steps._approve)"])
def test_a_night_that_is_killed_is_taken_up_within_the_same_limit(
    tmp_path: Path, studio: Sandbox, name: str, point: str
) -> None:
    trial = sweep_killed(tmp_path, studio, name, Kill(point))
    assert trial.killed
    assert trial.findings == []


#: Where a night is killed whose ledger is a PostgreSQL.
POINTS = (
    "night: it is claimed",
    "ledger: after the commit (steps._approve)",
    "night: what was approved is in the rows",
    "night: the answer lies beside the sheet",
    "night: what became of the sheet is kept",
    "night: before its end is noted",
)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_night_on_postgres_that_is_killed_is_taken_up_within_the_same_limit(
    tmp_path: Path, studio: Sandbox, name: str, postgres: PostgresServer, point: str
) -> None:
    trial = sweep_killed(tmp_path, studio, name, Kill(point), ledger=postgres.new_database())
    assert (trial.killed, trial.findings) == (True, [])


@pytest.mark.slow
async def test_what_is_parked_is_carried_on_the_next_night(left: Nights) -> None:
    report = the_one(await left.sweep("2026-11-21"))
    assert (report.outcome, report.delivered) == ("delivered", ("r001", "r002"))


@pytest.mark.slow
async def test_videos_come_home_though_their_sheet_is_gone(left: Nights) -> None:
    (left.path / f"{left.name}-a.csv").unlink()
    report = the_one(await left.sweep("2026-11-21"))
    assert (report.outcome, report.delivered) == ("delivered", ("r001", "r002"))
    assert "gone from the inbox" in str(report.words)
    assert (await left.sweep("2026-11-22")).sheets == ()


@pytest.mark.slow
async def test_videos_come_home_though_their_sheet_is_too_dear_by_now(left: Nights) -> None:
    left.put("a", videos("A", 9))
    report = the_one(await left.sweep("2026-11-21", inbox={"per_night": Decimal(0)}))
    assert (report.outcome, report.delivered) == ("not-approved", ("r001", "r002"))


@pytest.mark.slow
async def test_videos_come_home_though_their_sheet_is_left_alone(left: Nights) -> None:
    """It failed three times while its videos could not be fetched."""
    left.put("a", BROKEN)
    left.service.plan_fault(on="get", do="error-before", status=503, every=1)
    for night in ("2026-11-21", "2026-11-22", "2026-11-23"):
        report = the_one(await left.sweep(night, inbox={"max_wait": 0.1}))
    left.service.clear_faults()
    assert (report.outcome, report.delivered) == ("set-aside", ())
    report = the_one(await left.sweep("2026-11-24"))
    assert (report.outcome, report.exit_status, report.delivered) == (
        "set-aside",
        0,
        ("r001", "r002"),
    )


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3Server]:
    with moto_s3() as server:
        yield server


def test_an_inbox_that_is_a_bucket(desk: Desk, name: str, bucket: S3Server) -> None:
    desk.environ.update(bucket.environment())
    client, key = bucket.client(), f"{name}/in/{name}.csv"
    client.put_object(Bucket=bucket.bucket, Key=key, Body=videos("S3").encode())
    client.put_object(Bucket=bucket.bucket, Key=f"{name}/in/deeper/{name}.csv", Body=b"x")
    words = ("nightly", f"s3://{bucket.bucket}/{name}/in/", "--approve-up-to", "100", "--json")
    for outcome, charged in (("delivered", 30), ("unchanged", 0)):
        night = desk.call(*words)
        assert night.status == 0, night.err
        assert [one["outcome"] for one in night.json["sheets"]] == [outcome]
        assert night.json["charged"] == charged
    answer = json.loads(bucket.read(f"{key}.callsheet.json"))
    assert answer["rows"]["delivered"] == 2
    assert b"r001" in bucket.read(f"{key}.report.csv")
    # Nothing was moved or removed.
    assert bucket.read(key) == videos("S3").encode()


@pytest.mark.safeguard(
    "tasks/nights/locations.py",
    'if (answer["ETag"], str(answer["ContentLength"])) != (tag, size):',
    "if False:",
)
@pytest.mark.always
async def test_an_object_that_changes_before_it_is_read_is_left_to_the_next_sweep(
    name: str, bucket: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in bucket.environment().items():
        monkeypatch.setenv(key, value)
    client = bucket.client()
    where = {"Bucket": bucket.bucket, "Key": f"{name}/changes/a.csv"}
    client.put_object(**where, Body=b"one")
    async with open_place(Inbox(name="a", place=f"s3://{bucket.bucket}/{name}/changes")) as place:
        (entry,) = await place.entries()
        assert await place.read(entry) == b"one"
        client.put_object(**where, Body=b"two")
        assert await place.read(entry) is None
