"""A schedule, a dashboard and a person start at the same moment: one works, the others wait."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from callsheet.tasks.runtime import crash_points
from tests.launcher import Process
from tests.programs import CALLSHEET, Desk, Finished, Sandbox, simple_sheet, wait_until

RUN = ("run", "--yes", "--json", "--without-prefect")


@pytest.fixture
def slow(service: Sandbox) -> Iterator[Sandbox]:
    """The shared sandbox, whose creates and renders take a while."""
    service.plan_fault(on="create", do="slow", every=1, seconds=0.4)
    service.plan_fault(on="render", do="slow", every=1, seconds=1)
    yield service
    service.clear_faults()


@contextmanager
def armed(hook: Callable[[str, object], None]) -> Iterator[None]:
    """Have crash points of this process call a hook meanwhile."""
    crash_points.arm(hook)
    try:
        yield
    finally:
        crash_points.arm(lambda *_: None)


def at_once(desk: Desk, sheets: Sequence[str]) -> list[Finished]:
    """Run sheets in as many processes at the same moment."""
    return [end(one) for one in [desk.start(*RUN, sheet) for sheet in sheets]]


def end(process: Process) -> Finished:
    out, err = process.communicate(timeout=180)
    assert "Traceback" not in out + err, err
    return Finished(process.wait(), out, err)


def begun(service: Sandbox) -> int:
    """How many videos were begun, as the service has it."""
    return sum(entry["event"] == "reserve" for entry in service.charges())


def spent(desk: Desk, kind: str) -> int:
    """What accounts of a kind have set aside, paid for or not."""
    found = desk.call("status", "--accounts", "--json")
    accounts = found.json["accounts"] if found.status == 0 else []
    return sum(a["charged"] + a["reserved"] for a in accounts if a["kind"] == kind)


def test_three_runs_of_a_campaign_make_every_video_once(
    shared: Desk, slow: Sandbox, name: str
) -> None:
    sheet = shared.sheet(f"{name}.csv", simple_sheet(4))
    ended = at_once(shared, [sheet] * 3)
    assert [one.status for one in ended] == [0, 0, 0], [one.err for one in ended]
    assert all(one.json["rows"] == {"total": 4, "delivered": 4} for one in ended)
    # How many met each other, if any did, depends on how fast they started.
    for one in ended:
        if "is being run by process" in one.err:
            assert one.err.count("is being run by process") == 1
            assert "nothing to do, 0 credits" in one.err
    assert shared.paid_once(name, slow)


@pytest.mark.merge
def test_rows_that_another_campaign_has_approved_are_not_paid_for_again(
    shared: Desk, service: Sandbox, name: str
) -> None:
    text = simple_sheet(3, title="One")
    first, second = (shared.sheet(f"{name}-{one}.csv", text) for one in "ab")
    before, asked = service.creates(), list[Finished]()

    def run_the_other(point: str, operation: object) -> None:
        if (point, operation) == ("service: before the request", "create") and not asked:
            asked.append(shared.call("plan", second, "--json"))
            asked.append(shared.run(second))

    one_by_one = Desk(shared.folder, {**shared.environ, "CALLSHEET_AT_ONCE": "1"})
    with armed(run_the_other):
        ended = one_by_one.call(*RUN, first)
    assert [one.status for one in (ended, *asked)] == [0, 4, 4], ended.err
    words = f"campaign {name}-a already paid for or approved 3 of 3 rows; nothing was spent"
    assert words in asked[1].json["error"]
    assert service.creates() == before + 3
    # Neither has approved anything yet when the other one plans.
    text = simple_sheet(3, title="Two")
    found = at_once(shared, [shared.sheet(f"{name}-{one}.csv", text) for one in "cd"])
    assert sorted(one.status for one in found) == [0, 4], [one.err for one in found]
    assert service.creates() == before + 6


@pytest.mark.safeguard("tasks/campaign/steps.py", "if plan.elsewhere:", "if False:")
@pytest.mark.merge
def test_what_another_campaign_approves_while_a_run_plans_is_no_mere_advice(
    shared: Desk, service: Sandbox, name: str
) -> None:
    text = simple_sheet(2, title="Three")
    first, second = (shared.sheet(f"{name}-{one}.csv", text) for one in "ef")
    before, others = service.creates(), list[Finished]()

    def run_the_other(point: str, _: object) -> None:
        # The sheet was looked up, and the campaign is there; the rows are not planned yet.
        if point == "ledger: after the commit" and not others:
            others.append(shared.run(first))

    with armed(run_the_other):
        ended = shared.call(*RUN, second)
    assert (others[0].status, ended.status) == (0, 4), ended.err
    assert f"campaign {name}-e already paid for 2 of 2 rows" in ended.json["error"]
    assert service.creates() == before + 2


def test_a_budget_of_the_day_holds_over_three_runs_at_once(
    shared: Desk, slow: Sandbox, name: str
) -> None:
    # What other campaigns of this ledger have spent today counts.
    before = spent(shared, "day")
    shared.environ["CALLSHEET_DAY_BUDGET"] = str(before + 75)
    texts = [simple_sheet(4, title=f"Video {n}") for n in range(3)]
    sheets = [shared.sheet(f"{name}-{n}.csv", text) for n, text in enumerate(texts)]
    ended = at_once(shared, sheets)
    assert {one.status for one in ended} <= {0, 3}, [one.err for one in ended]
    rows = [row for n in range(3) for row in shared.rows(f"{name}-{n}").values()]
    assert Counter(row["state"] for row in rows) == {"delivered": 5, "held": 7}
    assert all("the budget of" in row["reason"] for row in rows if row["state"] == "held")
    keys = [row["key"] for row in rows if row["key"]]
    assert slow.charged(keys) == dict.fromkeys(keys, 1)
    assert spent(shared, "day") == before + 75


@pytest.mark.merge
def test_whoever_waits_gives_up_when_its_time_is_up(desk: Desk, slow: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    # For longer than anybody here waits.
    slow.clear_faults()
    slow.plan_fault(on="render", do="slow", seconds=120)
    before = begun(slow)
    process = desk.start(*RUN, sheet)
    wait_until(lambda: begun(slow) > before)
    parked, left = desk.run(sheet, "--max-wait", "1s"), desk.run(sheet, "--if-running", "leave")
    for ended in (parked, left):
        assert ended.status == 5
        assert f"is being run by process {process.pid} on" in ended.err
        assert "nothing was spent" in ended.err
    assert "waiting for it" not in left.err
    assert "wait for it, or stop it, then run the same command again" in left.err
    process.send_signal(signal.SIGTERM)
    assert end(process).status == 5


@pytest.mark.merge
def test_a_run_that_was_stopped_until_its_lease_lapsed_pays_nothing_more(
    desk: Desk, slow: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(9))
    desk.environ |= {"CALLSHEET_AT_ONCE": "1", "CALLSHEET_LEASE": "2s"}
    before = begun(slow)
    first = desk.start(*RUN, sheet, "--run-budget", "10000")
    wait_until(lambda: begun(slow) >= before + 2)
    wait_until(lambda: _stopped_between_transactions(first, desk))
    taken, sent = spent(desk, "run"), begun(slow)
    second = desk.start(*RUN, sheet)
    try:
        wait_until(lambda: f"process {second.pid} on" in desk.call("status", name).out)
        wait_until(lambda: begun(slow) >= sent + 2)
    finally:
        first.send_signal(signal.SIGCONT)
    stopped, ended = end(first), end(second)
    assert (stopped.status, ended.status) == (5, 0), stopped.err + ended.err
    assert f"was taken over by process {second.pid}" in stopped.err
    # One more may have been set aside for, and not been sent yet.
    assert spent(desk, "run") == taken
    assert taken / 15 - (sent - before) in (0, 1)
    assert set(desk.states(name).values()) == {"delivered"}
    assert desk.paid_once(name, slow)


def _stopped_between_transactions(process: Process, desk: Desk) -> bool:
    """Stop a process, unless it is within a transaction: that would lock everybody out."""
    process.send_signal(signal.SIGSTOP)
    with closing(sqlite3.connect(desk.folder / ".callsheet" / "ledger.db", timeout=0.5)) as ledger:
        try:
            ledger.execute("BEGIN IMMEDIATE")
            return True
        except sqlite3.OperationalError:
            process.send_signal(signal.SIGCONT)
            return False


@pytest.mark.merge
def test_with_few_files_there_are_fewer_lanes_and_every_video_is_made(
    desk: Desk, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(20))
    done = subprocess.run(
        ["bash", "-c", 'ulimit -n 128 && exec "$@"', "-", *CALLSHEET, *RUN, sheet],
        cwd=desk.folder,
        env=desk.environment() | {"CALLSHEET_AT_ONCE": "512"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == {"total": 20, "delivered": 20}
    assert "may have 128 files open, and at_once" in done.stderr


def test_a_download_that_somebody_else_delivers_and_takes_away_is_made_again(
    desk: Desk, name: str
) -> None:
    taken: list[Path] = []

    def take_away(point: str, _: object) -> None:
        if point == "spool: the video has its name" and not taken:
            taken.extend((desk.folder / ".callsheet" / "spool").iterdir())
            for path in taken:
                path.unlink()

    with armed(take_away):
        ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))
    assert len(taken) == 1
    assert (ended.status, ended.json["rows"]) == (0, {"total": 1, "delivered": 1}), ended.err
