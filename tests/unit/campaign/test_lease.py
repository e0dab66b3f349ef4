"""One run at a time works on a campaign, and a dead one holds nobody up."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys

import pytest

from callsheet.tasks.campaign.lease import LAPSE, leased
from callsheet.tasks.engine import owner
from callsheet.tasks.ledger import leases
from callsheet.tasks.ledger.leases import campaign_lease
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.runtime.errors import Parked
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


async def test_it_is_held_for_the_block_and_given_back_after_a_failure(stage: Stage):

    async def fail() -> None:
        async with leased(stage.ledger, stage.campaign, clock=clock):
            assert str(os.getpid()) in (await owner_of(stage) or "")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await fail()
    assert await owner_of(stage) is None
    # A Prefect step enters it, the run leaves it.
    held = leased(stage.ledger, stage.campaign, clock=clock)
    await asyncio.create_task(held.__aenter__())
    assert await owner_of(stage)
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


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as other:
        other.wait()
    return other.pid


@pytest.mark.parametrize("own", [False, True])
async def test_a_dead_owner_on_this_machine_is_followed_at_once(stage: Stage, own: bool):
    """And one whose number another process has by now."""
    await owned_by(stage, as_owner(os.getpid() if own else dead_process(), started="123"))
    async with leased(stage.ledger, stage.campaign, clock=clock):
        assert str(os.getpid()) in (await owner_of(stage) or "")


@pytest.mark.parametrize(
    "place",
    ["another-boot/4026531836", f"{owner._place().partition('/')[0]}/1", ""],
    ids=["another boot", "another container", "a kernel that does not say"],
)
async def test_a_number_of_another_place_says_nothing(stage: Stage, place: str):
    """Containers that share a host name: the process has no such number here, and lives there."""
    await owned_by(stage, as_owner(dead_process(), started="123", place=place))
    with pytest.raises(Parked):
        async with leased(stage.ledger, stage.campaign, clock=clock, wait=0.2):
            pass
    await stage.write(let_lapse, campaign_lease(stage.campaign.id))
    async with leased(stage.ledger, stage.campaign, clock=clock):
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
