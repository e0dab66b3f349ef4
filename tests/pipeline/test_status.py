"""`callsheet status` speaks of who is at work on a campaign, and of nobody who is gone."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

import pytest

from callsheet.tasks.engine.owner import this_process
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from tests.leasing import acquire_lease
from tests.programs import Desk

#: Who has the campaign, how long ago the lease began, and whether somebody is at work.
OWNERS = {
    "this process": (0, True),
    "a process that has ended": (0, False),
    "a process that began with the number of this one": (0, False),
    "another machine": (0, True),
    "another machine, silent since": (600, False),
}


@pytest.mark.parametrize("owner", OWNERS)
def test_only_who_is_at_work_is_named(desk: Desk, name: str, owner: str) -> None:
    silent, at_work = OWNERS[owner]
    asyncio.run(_have(desk, name, _owner(owner), silent))

    told = desk.call("status")
    (line,) = desk.call("status", "--json").json["campaigns"]

    assert told.status == 0
    assert (f"{name} is being run by" in told.out) is at_work
    assert (line["owner"] is not None) is at_work


def _owner(who: str) -> str:
    host, pid, started, place = this_process().split(":")
    if who.startswith("another"):
        return f"elsewhere:{pid}:{started}:there:1"
    if who == "a process that has ended":
        with subprocess.Popen([sys.executable, "-c", ""]) as other:
            other.wait()
        pid = str(other.pid)
    if "began" in who:
        started = "1"
    assert pid != str(os.getpid()) or "ended" not in who
    return f"{host}:{pid}:{started}:{place}:1"


async def _have(desk: Desk, name: str, owner: str, silent: float) -> None:
    async with await open_ledger(f"sqlite:///{desk.folder}/.callsheet/ledger.db") as ledger:
        campaign = await ledger.write(
            ensure_campaign, name=name, sheet="s", sheet_digest="d", at=time.time()
        )
        await ledger.write(acquire_lease, campaign=campaign, owner=owner, seconds=60 - silent)
