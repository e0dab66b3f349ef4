"""A schedule, a dashboard and a person start at the same moment: one works, the others wait."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from callsheet.tasks.runtime import crash_points
from tests.databases import postgres_server
from tests.launcher import Process
from tests.programs import CALLSHEET, Desk, Finished, Sandbox, simple_sheet

RUN = ("run", "--yes", "--json", "--without-prefect")


@pytest.fixture(scope="module")
def postgres_ledger() -> Iterator[str]:
    with postgres_server() as server:
        yield server.new_database()


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, desk: Desk) -> Desk:
    """A desk whose ledger is on either database."""
    if request.param == "postgres":
        desk.environ["CALLSHEET_LEDGER"] = request.getfixturevalue("postgres_ledger")
    return desk


@pytest.fixture
def slow(service: Sandbox) -> Iterator[Sandbox]:
    """The shared sandbox, whose creates and renders take a while."""
    service.plan_fault(on="create", do="slow", every=1, seconds=0.4)
    service.plan_fault(on="render", do="slow", every=1, seconds=1)
    yield service
    service.clear_faults()


def test_three_runs_of_a_campaign_make_every_video_once(
    shared: Desk, slow: Sandbox, name: str
) -> None:
    sheet = shared.sheet(f"{name}.csv", simple_sheet(4))

    ended = _at_once(shared, [sheet] * 3)

    assert [one.status for one in ended] == [0, 0, 0], [one.err for one in ended]
    assert all(one.json["rows"] == {"total": 4, "delivered": 4} for one in ended)
    waited = [one for one in ended if "is being run by process" in one.err]
    # How many met each other, if any did, depends on how fast they started.
    for one in waited:
        assert one.err.count("is being run by process") == 1
        assert "nothing to do, 0 credits" in one.err
    keys = [row["key"] for row in shared.rows(name).values()]
    assert slow.charged(keys) == dict.fromkeys(keys, 1)


@contextmanager
def armed(hook: Callable[[str, object], None]) -> Iterator[None]:
    """Have crash points of this process call a hook meanwhile."""
    crash_points.arm(hook)
    try:
        yield
    finally:
        crash_points.arm(lambda *_: None)


@pytest.mark.merge
def test_rows_that_another_campaign_has_approved_are_not_paid_for_again(
    shared: Desk, service: Sandbox, name: str
) -> None:
    one_by_one = Desk(shared.folder, {**shared.environ, "CALLSHEET_AT_ONCE": "1"})
    text = simple_sheet(3, title="One")
    first, second = (shared.sheet(f"{name}-{one}.csv", text) for one in "ab")
    before, asked = service.calls().get("create", 0), list[Finished]()

    def run_the_other(point: str, operation: object) -> None:
        if (point, operation) == ("service: before the request", "create") and not asked:
            asked.append(shared.call("plan", second, "--json"))
            asked.append(shared.run(second))

    with armed(run_the_other):
        ended = one_by_one.call(*RUN, first)
    planned, stopped = asked

    assert ended.status == 0, ended.err
    assert (planned.status, stopped.status) == (4, 4), stopped.err
    words = f"campaign {name}-a already paid for or approved 3 of 3 rows; nothing was spent"
    assert words in stopped.json["error"]
    assert service.calls()["create"] == before + 3

    # Neither has approved anything yet when the other one plans.
    text = simple_sheet(3, title="Two")
    found = _at_once(shared, [shared.sheet(f"{name}-{one}.csv", text) for one in "cd"])
    assert sorted(one.status for one in found) == [0, 4], [one.err for one in found]
    assert service.calls()["create"] == before + 6


@pytest.mark.merge
def test_what_another_campaign_approves_while_a_run_plans_is_no_mere_advice(
    shared: Desk, service: Sandbox, name: str
) -> None:
    text = simple_sheet(2, title="Three")
    first, second = (shared.sheet(f"{name}-{one}.csv", text) for one in "ef")
    before, others = service.calls().get("create", 0), list[Finished]()

    def run_the_other(point: str, _: object) -> None:
        # The sheet was looked up, and the campaign is there; the rows are not planned yet.
        if point == "ledger: after the commit" and not others:
            others.append(shared.run(first))

    with armed(run_the_other):
        ended = shared.call(*RUN, second)

    assert others[0].status == 0, others[0].err
    assert ended.status == 4, ended.err
    assert f"campaign {name}-e already paid for 2 of 2 rows" in ended.json["error"]
    assert service.calls()["create"] == before + 2


def test_a_budget_of_the_day_holds_over_three_runs_at_once(
    shared: Desk, slow: Sandbox, name: str
) -> None:
    # What other campaigns of this ledger have spent today counts.
    spent = _spent_today(shared)
    shared.environ["CALLSHEET_DAY_BUDGET"] = str(spent + 75)
    texts = [simple_sheet(4, title=f"Video {n}") for n in range(3)]
    sheets = [shared.sheet(f"{name}-{n}.csv", text) for n, text in enumerate(texts)]

    ended = _at_once(shared, sheets)

    assert {one.status for one in ended} <= {0, 3}, [one.err for one in ended]
    rows = [row for n in range(3) for row in shared.rows(f"{name}-{n}").values()]
    found = Counter(row["state"] for row in rows)
    assert found == {"delivered": 5, "held": 7}
    assert all("the budget of" in row["reason"] for row in rows if row["state"] == "held")
    keys = [row["key"] for row in rows if row["key"]]
    assert slow.charged(keys) == dict.fromkeys(keys, 1)
    assert _spent_today(shared) == spent + 75


@pytest.mark.merge
def test_whoever_waits_gives_up_when_its_time_is_up(desk: Desk, slow: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    # For longer than anybody here waits.
    slow.clear_faults()
    slow.plan_fault(on="render", do="slow", seconds=120)
    before = _begun(slow)
    process = desk.start(*RUN, sheet)
    _wait_for(lambda: _begun(slow) > before)

    parked = desk.run(sheet, "--max-wait", "1s")
    left = desk.run(sheet, "--if-running", "leave")

    assert (parked.status, left.status) == (5, 5)
    for ended in (parked, left):
        assert f"is being run by process {process.pid} on" in ended.err
        assert "nothing was spent" in ended.err
    assert "waiting for it" not in left.err
    process.send_signal(signal.SIGTERM)
    assert _end(process).status == 5


@pytest.mark.merge
def test_a_run_that_was_stopped_until_its_lease_lapsed_pays_nothing_more(
    desk: Desk, slow: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(9))
    desk.environ |= {"CALLSHEET_AT_ONCE": "1", "CALLSHEET_LEASE": "2s"}
    before = _begun(slow)
    first = desk.start(*RUN, sheet, "--run-budget", "10000")
    _wait_for(lambda: _begun(slow) >= before + 2)
    _wait_for(lambda: _stopped_between_transactions(first, desk))
    taken, begun = _set_aside_by_run(desk), _begun(slow)
    second = desk.start(*RUN, sheet)
    try:
        _wait_for(lambda: f"process {second.pid} on" in desk.call("status", name).out)
        _wait_for(lambda: _begun(slow) >= begun + 2)
    finally:
        first.send_signal(signal.SIGCONT)

    stopped, ended = _end(first), _end(second)

    assert stopped.status == 5, stopped.err
    assert f"was taken over by process {second.pid}" in stopped.err
    assert ended.status == 0, ended.err
    # One more may have been set aside for, and not been sent yet.
    assert _set_aside_by_run(desk) == taken
    assert taken / 15 - (begun - before) in (0, 1)
    rows = desk.rows(name)
    assert Counter(row["state"] for row in rows.values()) == {"delivered": 9}
    keys = [row["key"] for row in rows.values()]
    assert slow.charged(keys) == dict.fromkeys(keys, 1)


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


def _at_once(desk: Desk, sheets: Sequence[str]) -> list[Finished]:
    """Run sheets in as many processes at the same moment."""
    return [_end(one) for one in [desk.start(*RUN, sheet) for sheet in sheets]]


def _end(process: Process) -> Finished:
    out, err = process.communicate(timeout=180)
    assert "Traceback" not in out + err, err
    return Finished(process.wait(), out, err)


def _begun(service: Sandbox) -> int:
    """How many videos were begun, as the service has it."""
    return sum(entry["event"] == "reserve" for entry in service.charges())


def _spent_today(desk: Desk) -> int:
    return _spent(desk, "day")


def _set_aside_by_run(desk: Desk) -> int:
    """What runs with a budget of their own have set aside, paid for or not."""
    return _spent(desk, "run")


def _spent(desk: Desk, kind: str) -> int:
    found = desk.call("status", "--accounts", "--json")
    accounts = found.json["accounts"] if found.status == 0 else []
    return sum(a["charged"] + a["reserved"] for a in accounts if a["kind"] == kind)


def _wait_for(met: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not met():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.merge
def test_with_few_files_there_are_fewer_lanes_and_every_video_is_made(
    desk: Desk, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(20))
    done = subprocess.run(
        ["bash", "-c", 'ulimit -n 128 && exec "$@"', "-", *CALLSHEET, "run", sheet, "--yes",
         "--json", "--without-prefect"],
        cwd=desk.folder,
        env=desk.environment() | {"CALLSHEET_AT_ONCE": "512"},
        capture_output=True,
        text=True,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == {"total": 20, "delivered": 20}
    assert "may have 128 files open, and at_once" in done.stderr


def test_a_download_that_somebody_else_delivers_and_takes_away_is_made_again(
    desk: Desk, service: Sandbox, name: str
) -> None:
    (desk.folder / f"{name}.csv").write_text(simple_sheet(1))
    taken: list[Path] = []

    def take_away(point: str, _: object) -> None:
        if point == "spool: the video has its name" and not taken:
            taken.extend((desk.folder / ".callsheet" / "spool").iterdir())
            for path in taken:
                path.unlink()

    crash_points.arm(take_away)
    try:
        ended = desk.call(*RUN, f"{name}.csv")
    finally:
        crash_points.arm(lambda *_: None)

    assert len(taken) == 1
    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 1, "delivered": 1}
