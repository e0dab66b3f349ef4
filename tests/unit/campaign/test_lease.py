"""One run at a time works on a campaign, and a dead one holds nobody up."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import time

import pytest

from callsheet.tasks.campaign.lease import LAPSE, leased
from callsheet.tasks.engine import owner
from callsheet.tasks.ledger import leases
from callsheet.tasks.ledger.leases import campaign_lease
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.runtime.errors import LedgerError, Parked
from tests.campaigns import Stage
from tests.leasing import acquire_lease, let_lapse, release_lease, take_over


def clock() -> float:
    return 1_000.0


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    return await Stage.set(ledger)


async def owner_of(stage: Stage) -> str | None:
    found = await lease_of(stage)
    return found.owner if found is not None else None


async def lease_of(stage: Stage) -> leases.Lease | None:
    return await stage.ledger.read(leases.find, name=campaign_lease(stage.campaign.id))


async def owned_by(stage: Stage, owner: str, *, seconds: float = LAPSE) -> None:
    assert await stage.write(acquire_lease, stage.campaign, owner=owner, seconds=seconds) is None


async def test_it_is_held_for_the_block_and_given_back(stage: Stage):
    async with leased(stage.ledger, stage.campaign, clock=clock):
        assert str(os.getpid()) in (await owner_of(stage) or "")
    assert await owner_of(stage) is None


async def test_it_is_given_back_after_a_failure(stage: Stage):
    with pytest.raises(ValueError, match="no"):
        async with leased(stage.ledger, stage.campaign, clock=clock):
            raise ValueError("no")
    assert await owner_of(stage) is None


async def test_another_run_of_the_same_process_is_refused(stage: Stage):
    async def run() -> None:
        async with leased(stage.ledger, stage.campaign, clock=clock):
            pass

    begun, over = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with leased(stage.ledger, stage.campaign, clock=clock):
            begun.set()
            await over.wait()

    holding = asyncio.create_task(first())
    await begun.wait()
    with pytest.raises(Parked):
        await asyncio.create_task(run())
    over.set()
    await holding


async def test_it_may_be_left_in_another_context_than_it_was_entered(stage: Stage):
    """A Prefect step enters it, the run leaves it."""
    held = leased(stage.ledger, stage.campaign, clock=clock)
    await asyncio.create_task(held.__aenter__())
    await held.__aexit__(None, None, None)
    assert await owner_of(stage) is None


def as_owner(pid: int, started: str | None = None, place: str | None = None) -> str:
    """An owner on this machine, alive as far as the kernel says, unless told otherwise."""
    started = owner._started(pid) if started is None else started
    place = owner._place() if place is None else place
    return f"{socket.gethostname()}:{pid}:{started}:{place}:1"


async def test_a_live_owner_is_named(stage: Stage):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:  # noqa: ASYNC220
        await owned_by(stage, as_owner(other.pid))
        with pytest.raises(Parked) as caught:
            async with leased(stage.ledger, stage.campaign, clock=clock):
                pass
        other.communicate(b"\n")
    assert f"process {other.pid} on {socket.gethostname()}" in str(caught.value)
    assert "nothing was spent" in str(caught.value)
    lease = await lease_of(stage)
    assert caught.value.until.timestamp() == pytest.approx(lease.until, abs=1e-3)
    assert caught.value.exit_status == 5


async def test_a_dead_owner_on_this_machine_is_followed_at_once(stage: Stage):
    with subprocess.Popen([sys.executable, "-c", ""]) as other:  # noqa: ASYNC220
        other.wait()
    await owned_by(stage, as_owner(other.pid, started="123"))
    async with leased(stage.ledger, stage.campaign, clock=clock):
        assert str(os.getpid()) in (await owner_of(stage) or "")


async def test_a_process_that_has_the_number_of_a_dead_one_is_not_taken_for_it(stage: Stage):
    await owned_by(stage, as_owner(os.getpid(), started="1"))
    async with leased(stage.ledger, stage.campaign, clock=clock):
        pass


@pytest.mark.parametrize(
    "place",
    [
        "another-boot/4026531836",
        f"{owner._place().partition('/')[0]}/1",
        "",
    ],
    ids=["another boot", "another container", "a kernel that does not say"],
)
async def test_a_number_of_another_place_says_nothing(stage: Stage, place: str):
    """Containers that share a host name: the process has no such number here, and lives there."""
    with subprocess.Popen([sys.executable, "-c", ""]) as other:  # noqa: ASYNC220
        other.wait()
    await owned_by(stage, as_owner(other.pid, started="123", place=place))
    with pytest.raises(Parked):
        async with leased(stage.ledger, stage.campaign, clock=clock):
            pass
    await stage.write(let_lapse, campaign_lease(stage.campaign.id))
    async with leased(stage.ledger, stage.campaign, clock=clock):
        pass


async def test_whoever_waits_is_told_once_and_goes_on_when_it_is_free(stage: Stage):
    begun, heard, told = asyncio.Event(), asyncio.Event(), []

    def hear(words: str) -> None:
        told.append(words)
        heard.set()

    async def first() -> None:
        async with leased(stage.ledger, stage.campaign, clock=clock):
            begun.set()
            await heard.wait()
            # Long enough for whoever waits to look again, and not to say so again.
            await asyncio.sleep(1.2)

    holding = asyncio.create_task(first())
    await begun.wait()
    waiting = leased(stage.ledger, stage.campaign, clock=clock, wait=None, on_wait=hear)
    async with waiting as lease:
        assert await owner_of(stage) == lease.owner
    await holding
    assert len(told) == 1
    assert f"is being run by process {os.getpid()} on" in told[0]
    assert re.search(r"since \d\d:\d\d:\d\d UTC$", told[0])


async def test_whoever_waits_gives_up_in_time(stage: Stage):
    await owned_by(stage, "elsewhere:1:1:there:1")
    with pytest.raises(Parked, match="process 1 on elsewhere"):
        async with leased(stage.ledger, stage.campaign, clock=clock, wait=0.6):
            pass


async def test_a_lease_that_somebody_took_over_is_lost_for_good(stage: Stage):
    now, lost = [1_000.0], []
    holding = leased(stage.ledger, stage.campaign, clock=lambda: now[0], on_lost=lost.append)
    async with holding as lease:
        assert await lease.holds()
        now[0] += LAPSE
        await stage.write(take_over, stage.campaign, owner="elsewhere:7:1:there:1")
        assert not await lease.holds()
        assert lost == ["campaign spring was taken over by process 7 on elsewhere"]
        await stage.write(release_lease, stage.campaign, owner="elsewhere:7:1:there:1")
        assert not await lease.holds()
    assert await owner_of(stage) is None


async def test_a_lease_that_another_run_had_meanwhile_is_lost_though_it_is_free(stage: Stage):
    """What that run has changed, this one does not know."""
    now, lost = [1_000.0], []
    holding = leased(stage.ledger, stage.campaign, clock=lambda: now[0], on_lost=lost.append)
    async with holding as lease:
        assert lease is not None
        await stage.write(take_over, stage.campaign, owner="elsewhere:7:1:there:1")
        await stage.write(release_lease, stage.campaign, owner="elsewhere:7:1:there:1")
        now[0] += LAPSE
        assert not await lease.holds()
    assert lost == ["campaign spring was taken over by another run"]


async def test_a_clock_that_is_ahead_takes_no_live_lease_over(stage: Stage):
    await owned_by(stage, "elsewhere:1:1:there:1")
    with pytest.raises(Parked):
        async with leased(stage.ledger, stage.campaign, clock=lambda: time.time() + 3 * 3600):
            pass
    assert await owner_of(stage) == "elsewhere:1:1:there:1"


async def test_a_lapsed_lease_that_nobody_wants_is_renewed(stage: Stage):
    now = [1_000.0]
    async with leased(stage.ledger, stage.campaign, clock=lambda: now[0]) as lease:
        assert lease is not None
        await stage.write(let_lapse, campaign_lease(stage.campaign.id))
        now[0] += 10 * LAPSE
        assert await lease.holds()
        found = await lease_of(stage)
        assert found.is_live


async def test_an_owner_on_another_machine_is_waited_for_until_it_lapses(stage: Stage):
    await owned_by(stage, "elsewhere:1:1:1")
    with pytest.raises(Parked, match="on elsewhere"):
        async with leased(stage.ledger, stage.campaign, clock=clock):
            pass
    await stage.write(let_lapse, campaign_lease(stage.campaign.id))
    async with leased(stage.ledger, stage.campaign, clock=clock):
        pass


class Stumbling:
    """A ledger that is locked at the first beat of a lease."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.beats = ledger, -1
        self.went_on = asyncio.Event()

    async def read(self, query, **named):
        return await self.ledger.read(query, **named)

    async def write(self, change, **named):
        self.beats += 1
        if self.beats == 1:
            raise LedgerError("locked")
        if self.beats == 3:
            self.went_on.set()
        return await self.ledger.write(change, **named)


async def test_a_ledger_in_trouble_for_a_while_does_not_end_the_lease(stage: Stage):
    ledger = Stumbling(stage.ledger)
    async with leased(ledger, stage.campaign, clock=clock, lapse=0.04):  # type: ignore[arg-type]
        await asyncio.wait_for(ledger.went_on.wait(), 5)
        assert await owner_of(stage)
    assert await owner_of(stage) is None
