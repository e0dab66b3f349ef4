"""Nights in which files and people do what nobody expects: nothing is paid for by it, nor lost."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from callsheet.tasks.campaign.run import OpenRuns, Run
from callsheet.tasks.ledger.backup import back_up, restore
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.nightly_runs import find_night
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.locations import open_place
from callsheet.tasks.nights.reports import NightReport
from callsheet.tasks.runtime.errors import StoreUnusable
from tests.leasing import acquire_lease
from tests.pipeline.nights import (
    BROKEN,
    NIGHTS,
    Nights,
    nights,
    once_all_render,
    said,
    slow,
    the_one,
    until_all_render,
    videos,
    watching,
)
from tests.programs import Desk

pytestmark = pytest.mark.merge
__all__ = ["nights", "slow"]

SCRIPTED = "id,title,script,duration_seconds,aspect_ratio\na,A,@a.txt,5,9:16\n"
BOTH = ("r001", "r002")


@pytest.mark.safeguard(
    "flows/nightly_run.py", "return failed or self._scan.runs.lost is not None", "return failed"
)
async def test_a_sweep_that_is_stopped_begins_no_other_sheet(nights: Nights) -> None:
    nights.put("a", videos("A", 1))
    nights.put("b", videos("B", 1))
    runs = OpenRuns()
    stop = watching(lambda _: runs.lose("stopped by a signal"))
    report = await nights.sweep(watch=stop, runs=runs)
    assert said(report) == {"a": "parked"}
    assert report.waiting == (f"{nights.name}-b.csv",)


@pytest.mark.safeguard(
    "flows/nightly_run.py",
    "return failed or self._scan.runs.lost is not None",
    "return self._scan.runs.lost is not None",
)
async def test_a_fault_that_concerns_all_sheets_begins_no_other(nights: Nights) -> None:
    nights.put("a", videos("A", 1))
    nights.put("b", videos("B", 1))
    begun: list[str] = []

    def fail(run: Run) -> None:
        begun.append(Path(run.options.sheet).name)
        raise StoreUnusable("the store is gone")

    with pytest.raises(StoreUnusable):
        await nights.sweep(watch=watching(fail))
    assert begun == [f"{nights.name}-a.csv"]


@pytest.mark.safeguard(
    "tasks/campaign/steps.py", "if run.settled or run.lost is not None:", "if run.settled:"
)
async def test_a_run_that_is_stopped_before_its_approval_approves_nothing(nights: Nights) -> None:
    nights.put("a", videos("A", 1))

    def stop(run: Run) -> None:
        run.on_quotes = lambda *_: run.lose("stopped by a signal")

    report = the_one(await nights.sweep(watch=watching(stop)))
    assert (report.outcome, report.exit_status) == ("parked", 5), report
    assert report.rows == {"total": 1, "quoted": 1}
    assert the_one(await nights.sweep()).charged == 15


async def test_a_long_name_fails_no_night(nights: Nights) -> None:
    nights.put("a", videos("A", 1))
    long = nights.put("b" * (255 - len(nights.name) - 5), videos("B", 1))
    assert len(long.name) == 255
    assert [one.outcome for one in (await nights.sweep()).sheets] == ["delivered", "delivered"]


async def test_a_file_that_goes_while_an_inbox_is_read_is_not_there(tmp_path: Path) -> None:
    over = threading.Event()

    def churn() -> None:
        files = [tmp_path / f"{number}.csv.part" for number in range(20)]
        while not over.is_set():
            for file in files:
                file.touch()
            for file in files:
                file.unlink()

    (tmp_path / "a.csv").write_text("x")
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        async with open_place(Inbox(name="a", place=str(tmp_path))) as place:
            for _ in range(300):
                assert [entry.name for entry in await place.entries()] == ["a.csv"]
    finally:
        over.set()
        thread.join()


@pytest.mark.safeguard(
    "flows/night_sheet.py",
    "if content is None or any(points_to(content, name) for name in self._moving):",
    "if content is None:",
)
async def test_a_script_that_is_still_written_keeps_its_sheet_waiting(nights: Nights) -> None:
    sheet = nights.put("a", SCRIPTED)
    script = nights.path / "a.txt"
    script.write_text(f"{nights.name} the first half")

    async def write_on(_: float) -> None:
        with script.open("a") as more:
            more.write(" and more")

    report = await nights.sweep(sleep=write_on)
    assert (report.sheets, report.waiting) == ((), (sheet.name,))
    later = await nights.sweep("2026-11-21", clock=lambda: time.time() + 100)
    assert said(later) == {"a": "delivered"}


@pytest.mark.safeguard(
    "flows/night_sheet.py", "budget=min(wanted, default=None)", "budget=max(wanted, default=None)"
)
@pytest.mark.parametrize(("sheet", "inbox"), [(40, 1000), (1000, 40), (40, None)])
async def test_of_two_budgets_a_sheet_has_the_smaller(
    nights: Nights, sheet: int, inbox: int | None
) -> None:
    nights.put_named("a", videos("A", 3), budget=sheet)
    budget = None if inbox is None else Decimal(inbox)
    report = the_one(await nights.sweep(inbox={"budget": budget}))
    assert (report.outcome, report.charged, report.asked) == ("not-approved", 0, 45)
    assert "the budget of the campaign is 40" in str(report.words)


@pytest.mark.safeguard(
    "flows/night_sheet.py",
    "self._refused is not None and not isinstance(error, SheetError)",
    "True",
)
async def test_what_is_approved_of_a_sheet_that_is_broken_is_not_begun(
    nights: Nights, desk: Desk
) -> None:
    sheet = nights.put("a", videos("A"))
    assert desk.run(str(sheet), "--max-wait", "0s").json["rows"]["approved"] == 2
    stop = watching(lambda run: run.lose("stopped by a signal"))
    parked = the_one(await nights.sweep(watch=stop))
    nights.put("a", BROKEN)
    report = the_one(await nights.sweep("2026-11-21"))
    assert (parked.outcome, report.outcome) == ("parked", "invalid")
    assert set(desk.states(f"{nights.name}-a").values()) == {"approved"}


@pytest.mark.safeguard(
    "tasks/campaign/run.py", "if self.lost is not None:\n            run.lose(self.lost)", ""
)
async def test_whoever_has_lost_the_night_begins_nothing_that_was_approved(
    nights: Nights, desk: Desk
) -> None:
    """The other sweep does: what this one opens once it knows, is stopped at once."""
    sheet = nights.put("a", videos("A"))
    assert desk.run(str(sheet), "--max-wait", "0s").json["rows"]["approved"] == 2
    nights.put("a", videos("A", 3))
    opened: list[Run] = []

    async def lose(run: Run) -> None:
        opened.append(run)
        if len(opened) == 1:
            await nights.lose_to_another()
            for _ in range(600):
                await asyncio.sleep(0.1 if run.lost is None else 0)

    about = {"inbox": {"approval": "plan-only"}, "lease": 1.0, "sleep": asyncio.sleep}
    report = await nights.sweep(watch=watching(lose), **about)
    assert the_one(report).outcome == "not-approved"
    found = [*desk.states(f"{nights.name}-a").values()]
    assert found == ["approved", "approved", "quoted"]
    assert [bool(run.lost) for run in opened] == [True, True]


async def test_an_inbox_that_is_deleted_in_the_middle_is_not_made_anew(nights: Nights) -> None:
    nights.put("a", videos("A", 1))
    delete = watching(lambda _: shutil.rmtree(nights.path))
    one = the_one(await nights.sweep(watch=delete))
    assert (one.outcome, int(one.charged)) == ("delivered", 15)
    assert f"the inbox {nights.path} is gone; the next run writes it" in str(one.unanswered)
    assert not nights.path.exists()


@pytest.mark.safeguard(
    "flows/night_sheet.py", "elif report.unanswered is not None:\n            version = None", ""
)
@pytest.mark.parametrize("which", [".callsheet.json", ".report.csv"])
async def test_a_sheet_that_could_not_be_answered_is_answered_by_the_next_sweep(
    nights: Nights, which: str
) -> None:
    """What lies in the way stands for a disk that takes nothing: it is said each time."""
    sheet = nights.put("a", videos("A", 1))
    in_the_way = nights.path / f"{sheet.name}{which}"
    in_the_way.mkdir()
    found = [the_one(await nights.sweep(night)) for night in NIGHTS]
    in_the_way.rmdir()
    found += [the_one(await nights.sweep(f"2026-11-2{day}")) for day in (2, 3)]
    outcomes = [(one.outcome, int(one.charged)) for one in found]
    assert outcomes == [("delivered", 15), *[("delivered", 0)] * 2, ("unchanged", 0)]
    words = f"{sheet.name}{which} could not be written"
    assert [words in str(one.unanswered) for one in found] == [True, True, False, False]
    assert "the next run writes it" in str(found[0].as_json()["unanswered"])
    answer = nights.answer("a")
    assert (answer["outcome"], answer["rows"]) == ("delivered", {"total": 1, "delivered": 1})
    assert [line["state"] for line in nights.report("a")] == ["delivered"]


@pytest.mark.always
async def test_a_sheet_that_was_set_aside_without_an_answer_is_answered_later(
    nights: Nights,
) -> None:
    sheet = nights.put("a", BROKEN)
    in_the_way = nights.path / f"{sheet.name}.callsheet.json"
    in_the_way.mkdir()
    for day in range(20, 24):
        last = the_one(await nights.sweep(f"2026-11-{day}"))
    in_the_way.rmdir()
    assert (last.outcome, last.exit_status, bool(last.unanswered)) == ("set-aside", 0, True)
    answered = the_one(await nights.sweep("2026-11-24"))
    assert (answered.outcome, answered.unanswered) == ("set-aside", None)
    assert nights.answer("a")["outcome"] == "set-aside"
    assert [one["problem"] for one in nights.report("a")] != []


@pytest.mark.safeguard(
    "tasks/nights/locations.py",
    "return content if versions == {entry.version} else None",
    "return content",
)
async def test_a_sheet_that_changes_before_it_is_read_is_left_to_the_next_sweep(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("one")
    async with open_place(Inbox(name="a", place=str(tmp_path))) as place:
        (entry,) = await place.entries()
        assert await place.read(entry) == b"one"
        file.write_text("two")
        assert await place.read(entry) is None
        file.unlink()
        assert await place.read(entry) is None


async def test_a_campaign_whose_run_was_killed_elsewhere_is_waited_for(
    nights: Nights, desk: Desk
) -> None:
    """Of a process on another machine nobody here knows that it is dead, until its lease lapses."""
    sheet = nights.put("a", videos("A", 1))
    assert desk.run(str(sheet), "--max-wait", "0s").json["rows"]["approved"] == 1
    campaign = await nights.read(find_campaign, name=f"{nights.name}-a")
    lease = {"campaign": campaign, "owner": "elsewhere:1:1:boot/1:1"}
    assert await nights.write(acquire_lease, **lease, seconds=3.0) is None
    assert said(await nights.sweep()) == {"a": "delivered"}


@pytest.mark.safeguard(
    "tasks/nights/approval.py",
    "if found is not None and found.budget is not None and not plan.unapproved:",
    "if False:",
)
async def test_a_night_raises_no_budget_that_somebody_has_given(nights: Nights, desk: Desk) -> None:
    """Of what was approved a part does not fit, and nobody has said that it may."""
    sheet = str(nights.put("a", videos("A", 3)))
    left = desk.run(sheet, "--budget", "30", "--at-limit", "fit", "--max-wait", "0s")
    assert left.json["rows"] == {"total": 3, "approved": 3}, left.err
    terms = {"approval": "plan-only", "budget": Decimal(1000)}
    found = [the_one(await nights.sweep(night, inbox=terms)) for night in NIGHTS]
    assert [(one.budget, one.charged) for one in found] == [(30, 30), (30, 0)]
    assert "the budget of the campaign is 30" in str(found[0].words)
    # With a word on it, it may be more.
    auto = the_one(await nights.sweep("2026-11-22", inbox={"budget": Decimal(1000)}))
    assert (auto.budget, auto.charged, auto.rows["delivered"]) == (1000, 15, 3)


async def sweep_ends_at_once(nights: Nights) -> None:
    """End a scan as a kill does: its videos are paid for, and it notes nothing of its sheet."""
    paid = asyncio.Event()
    scan = asyncio.create_task(
        nights.sweep(watch=watching(lambda run: once_all_render(run, paid.set)))
    )
    async with asyncio.timeout(60):
        await paid.wait()
    scan.cancel()
    with pytest.raises(asyncio.CancelledError):
        await scan
    nights.service.clear_faults()


def of_campaigns(report: NightReport) -> dict[str | None, tuple[str, int, tuple[str, ...]]]:
    """What became of each campaign, what it was charged, and the videos it delivered."""
    return {one.campaign: (one.outcome, int(one.charged), one.delivered) for one in report.sheets}


async def test_a_sheet_removed_after_a_killed_first_night_gets_its_paid_videos(
    slow: Nights,
) -> None:
    sheet = slow.put_named("a", videos("A"))
    await sweep_ends_at_once(slow)
    sheet.unlink()
    report = await slow.sweep("2026-11-21")
    assert of_campaigns(report) == {slow.name: ("delivered", 30, BOTH)}
    assert (await slow.sweep("2026-11-22")).sheets == ()


@pytest.mark.parametrize("first", ["is killed", "is killed, and a person runs it", "is parked"])
async def test_a_file_reused_for_another_campaign_leaves_no_paid_video_behind(
    slow: Nights, first: str
) -> None:
    sheet = slow.put_named("a", videos("A"))
    if first == "is parked":
        await slow.sweep("2026-11-20", watch=until_all_render)
        slow.service.clear_faults()
    else:
        await sweep_ends_at_once(slow)
    if "a person" in first:
        desk = Desk(slow.folder, slow.service.environ, may_be_here=False)
        assert desk.run(str(sheet)).status == 0
    other = f"{slow.name}-other"
    slow.put_named("a", videos("B", 1), campaign=other)
    report = await slow.sweep("2026-11-21")
    new = {other: ("delivered", 15, ("r001",))}
    assert of_campaigns(report) == {**new, slow.name: ("delivered", 30, BOTH)}
    assert report.charged == 45
    # What is said of the sheet itself is kept of its present campaign.
    later = await slow.sweep("2026-11-22")
    assert of_campaigns(later) == {other: ("unchanged", 0, ())}
    kept = await slow.read(find_night, inbox="spring", date="2026-11-21")
    assert of_campaigns(NightReport.read(kept.report or "")) == of_campaigns(report)


def charged(nights: Nights) -> int:
    """Return how many videos the service has charged for, of all tests."""
    return sum(entry["event"] == "charge" for entry in nights.service.charges())


@pytest.mark.parametrize(
    ("by_hand", "words"),
    [
        (False, "the ledger was restored from a backup"),
        # What is found again in the store counts: 15 in the backup, and 30 that came after it.
        (True, "it costs 15 credits, and 0 of the 45 credits"),
    ],
)
async def test_a_ledger_restored_in_a_night_gives_it_no_second_allowance(
    nights: Nights, by_hand: bool, words: str
) -> None:
    today = datetime.now(UTC).date()
    one_night, next_night = str(today), str(today + timedelta(days=1))
    limit, ledger = {"per_night": Decimal(45)}, nights.settings.ledger
    nights.put("a", videos("A", 1))
    assert said(await nights.sweep(one_night, inbox=limit)) == {"a": "delivered"}
    kept, file = nights.folder / "kept.db", nights.folder / ".callsheet" / "ledger.db"
    back_up(ledger, kept, by="Ann", at=time.time())
    nights.put("b", videos("B"))
    assert (await nights.sweep(one_night, inbox=limit)).charged == 30
    if by_hand:
        for part in ("-wal", "-shm"):
            file.with_name(file.name + part).unlink(missing_ok=True)
        shutil.copyfile(kept, file)
    else:
        restore(ledger, kept, by="Ann", at=time.time(), instead=True)
    charges = charged(nights)
    nights.put("c", videos("C", 1))
    report = await nights.sweep(one_night, inbox=limit)
    # The videos of b are in the store: nothing of it is to be approved.
    assert said(report) == {"a": "unchanged", "b": "delivered", "c": "not-approved"}
    assert words in str(report.sheets[2].words)
    assert charged(nights) == charges
    later = await nights.sweep(next_night, inbox=limit)
    assert said(later) == {"a": "unchanged", "b": "unchanged", "c": "delivered"}
    assert charged(nights) == charges + 1
