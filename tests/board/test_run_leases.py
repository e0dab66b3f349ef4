"""A board run belongs to one process at a time, and goes on by itself once its lease has lapsed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from callsheet.deployments.board.run_monitor import RunMonitor
from callsheet.flows.approved_plan import execute
from callsheet.tasks.aftercare.cancel import cancel
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.ledger.leases import run_lease
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.runs import RunRow, claim_run, find_run, run_again
from callsheet.tasks.runtime.errors import BadInput
from tests.board.conftest import board_at, settings_at
from tests.board.stage import API, approved_plan, ended, run_of
from tests.databases import lay_ledger
from tests.fixtures import sandbox_fixture
from tests.leasing import let_lapse
from tests.programs import Sandbox
from tests.web import Quiet, serving

#: Of a machine that was started anew: another host name, boot and container than this one's.
ELSEWHERE = "old-name:12:345:old-boot/4026531836:0"
FLOW_RUN = "prefect:0f0e"


service = sandbox_fixture("--render", "instant", "--time-scale", "60")


async def have(ledger: Ledger, run: str, place: str, *, seconds: float = 3600.0) -> RunRow:
    """Have a place at work on a run."""
    return await ledger.write(claim_run, run_id=run, place=place, at=0.0, seconds=seconds)


def paid(service: Sandbox) -> int:
    """How many videos were charged so far."""
    return sum(one["event"] == "charge" for one in service.charges())


@pytest.mark.merge
async def test_a_run_of_a_restarted_machine_goes_on_by_itself(
    tmp_path: Path, service: Sandbox
) -> None:
    run = await approved_plan(tmp_path, service.environ, "rebooted", kind="sheet")
    before = paid(service)
    async with await open_ledger(settings_at(tmp_path).ledger) as ledger:
        await have(ledger, run, ELSEWHERE)
    async with board_at(tmp_path, environ=service.environ) as board:
        answer = await board.admin.post(f"{API}/runs/{run}/carry-on")
        assert answer.status_code == 409
        assert "process 12 on old-name has its lease until" in answer.json()["detail"]
        found = (await board.admin.get(f"{API}/runs/{run}")).json()
        assert (found["place"], found["ended_at"]) == (ELSEWHERE, None)

        await board.ledger.write(let_lapse, name=run_lease(run))
        over = await ended(board.admin, run)
    assert (over["exit"], over["place"], over["leased_until"]) == (0, None, None)
    assert paid(service) - before == 2


@pytest.mark.merge
async def test_carry_on_resumes_a_run_whose_lease_lapsed(tmp_path: Path, service: Sandbox) -> None:
    run = await approved_plan(tmp_path, service.environ, "lapsed", kind="sheet")
    before = paid(service)
    async with await open_ledger(settings_at(tmp_path).ledger) as ledger:
        await have(ledger, run, ELSEWHERE, seconds=-1.0)
    # A board that looks after no runs: the person is first.
    async with board_at(tmp_path, environ=service.environ, begin=_nothing) as board:
        answer = await board.admin.post(f"{API}/runs/{run}/carry-on")
        assert answer.status_code == 202, answer.text
    async with board_at(tmp_path, environ=service.environ) as board:
        assert (await ended(board.admin, run))["exit"] == 0
    assert paid(service) - before == 2


def _nothing(*_: object) -> None:
    raise OSError("no process is started here")


#: What the state of a flow run says besides its name.
WHY = "there is no run 12 in the ledger"
#: Whether the lease lives, what Prefect says of the flow run (status, state), whether the run is
#: started again, and whether the lease lives afterwards.
SAID: Mapping[str, tuple[bool, tuple[int, str | None] | None, bool, bool]] = {
    "deleted, and its process renews the lease": (True, (404, None), False, True),
    "deleted": (False, (404, None), True, False),
    "waits for a worker": (False, (200, "SCHEDULED"), False, True),
    "is being started": (False, (200, "PENDING"), False, True),
    "runs": (True, (200, "RUNNING"), False, True),
    "is said to run, and gives no sign of life": (False, (200, "RUNNING"), True, False),
    "has ended, and has not said how": (True, (200, "CRASHED"), False, False),
    "nobody can tell": (False, None, True, False),
    "nobody can tell, and its process renews the lease": (True, None, False, True),
}


@pytest.mark.safeguard(
    "deployments/board/run_monitor.py", "lapsed = run.leased_until is None", "lapsed = True"
)
@pytest.mark.merge
@pytest.mark.parametrize("case", SAID)
async def test_a_run_whose_flow_run_is_gone_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approved_run: tuple[Path, str], case: str
) -> None:
    lives, told, is_started, lives_then = SAID[case]
    folder, run_id = approved_run
    async with board_at(folder, begin=_nothing) as board:
        seconds = 3600.0 if lives else -1.0
        run = await have(board.ledger, run_id, FLOW_RUN, seconds=seconds)
        with _prefect(told) as address:
            monkeypatch.setenv("PREFECT_API_URL", f"{address}/api")
            monitor = RunMonitor(board.board)
            found = await board.ledger.read(find_run, run_id=run_id)
            assert found.token == run.token
            assert await monitor.is_to_start(found) is is_started
        after = await board.ledger.read(find_run, run_id=run_id)
        assert (after.leased_until is not None) is lives_then
        crashed = f"Prefect says of its flow run: Crashed: {WHY}"
        ended_here = told == (200, "CRASHED")
        assert (after.exit, after.words) == ((1, crashed) if ended_here else (None, None))


async def test_a_run_of_another_ledger_is_refused(
    tmp_path: Path, approved_run: tuple[Path, str]
) -> None:
    (tmp_path / "other").mkdir()
    async with await open_ledger(settings_at(tmp_path / "other").ledger):
        pass
    with pytest.raises(BadInput, match=r"there is no run .* in the ledger .*other") as caught:
        await execute(approved_run[1], settings_at(tmp_path / "other"), place="a worker")
    assert "the ledger of the board (CALLSHEET_LEDGER)" in str(caught.value.remedy)


@pytest.fixture
async def approved_run(tmp_path: Path, service: Sandbox) -> tuple[Path, str]:
    return tmp_path, await approved_plan(tmp_path, service.environ, "flow", kind="sheet")


@asynccontextmanager
async def _taken_over(
    run: Run, *, folder: Path, run_id: str, heard: list[str]
) -> AsyncIterator[None]:
    async with await open_ledger(settings_at(folder).ledger) as ledger:
        await ledger.write(let_lapse, name=run_lease(run_id))
        await have(ledger, run_id, ELSEWHERE)
    for _ in range(300):
        await asyncio.sleep(0.1 if run.lost is None else 0)
    heard.append(str(run.lost))
    yield


@pytest.mark.safeguard("flows/approved_plan.py", "on_lost=opened.lose)", "on_lost=str)")
@pytest.mark.merge
async def test_a_process_that_lost_its_run_begins_nothing(tmp_path: Path, service: Sandbox) -> None:
    run_id = await approved_plan(tmp_path, service.environ, "lost", kind="sheet")
    before = service.calls()
    settings = settings_at(tmp_path, {**service.environ, "CALLSHEET_LEASE": "1s"})
    heard: list[str] = []
    watch = partial(_taken_over, folder=tmp_path, run_id=run_id, heard=heard)
    await execute(run_id, settings, place="a worker", watch=watch)
    assert heard == ["another process took over this run: this one did not renew its lease"]
    assert service.calls()["create"] == before["create"]
    found = await run_of(tmp_path, run_id)
    assert (found.place, found.ended_at, found.exit) == (ELSEWHERE, None, None)
    # A live lease of another process is left to it.
    assert await execute(run_id, settings, place="a worker") is None


def _prefect(told: tuple[int, str | None] | None):  # type: ignore[no-untyped-def]
    """A server that says this of every flow run; None: one that breaks off."""

    class Prefect(Quiet):
        def do_GET(self) -> None:
            if told is None:
                self.connection.close()
                return
            status, kind = told
            named = {"type": kind, "name": str(kind).capitalize(), "message": WHY}
            state = named if kind else None
            body = json.dumps({"state": state}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return serving(Prefect)


@pytest.mark.safeguard("flows/approved_plan.py", "check_stands(kept)", "")
async def test_nothing_of_it_is_paid_for(
    tmp_path: Path, made_ledger: Path, service: Sandbox
) -> None:
    lay_ledger(tmp_path, made_ledger)
    before = len(service.bought())
    run_id = await approved_plan(tmp_path, service.environ, "spring", kind="sheet")
    settings = settings_at(tmp_path, service.environ)
    async with await open_ledger(settings.ledger) as ledger:
        asked = partial(cancel, ask=RunOptions(campaign="spring"), by="Ann", at=1.0)
        assert await ledger.write(asked) is not None
        assert await execute(run_id, settings, place="a worker") is None
        assert await ledger.write(run_again, run_id=run_id, at=2.0)

    end = await execute(run_id, settings, place="a worker")

    assert (end.exit_status, "cancelled by Ann" in str(end.words)) == (4, True)
    assert "nothing was spent" in str(end.words)
    assert len(service.bought()) == before
