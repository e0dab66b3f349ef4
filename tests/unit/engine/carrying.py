"""Rows in numbers, carried by the engine in a process of its own: what that takes, in memory.

`python -m tests.unit.engine.carrying LEDGER CALLS` carries what the ledger there has until its
service, an object that finishes no render, was asked so many times; prints rows by state and the
highest resident memory in kB, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, insert, update

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.evidence import Baseline
from callsheet.tasks.engine.pages import Work
from callsheet.tasks.ledger.campaigns import Campaign, ensure_campaign, find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.row_selection import rows_to_process
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import Created, Gate, Video

NAME = "spring"
REQUEST = {"topic": "a kettle that hums in tune " * 20, "duration_seconds": 5}


class Service:
    """Takes every create, finishes no render, and says when it was asked often enough."""

    def __init__(self, calls: int) -> None:
        self.gate = Gate()
        self.enough = asyncio.Event()
        self._left = calls

    async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
        self._count()
        return Created(video_id=f"vid_{self._left}", status="generating", poll_after=300.0)

    async def get(self, video_id: str) -> Video:
        self._count()
        return Video(id=video_id, status="generating", poll_after=300.0, charged=None)

    def _count(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self.enough.set()


def add_approved(connection: Connection, count: int, *, at: float) -> None:
    """Put so many approved rows into a campaign, as the sheet of them would have."""
    campaign = ensure_campaign(connection, name=NAME, sheet="s.csv", sheet_digest="d", at=at)
    same = {"campaign_id": campaign.id, "state": "approved", "since": at, "nth": 1, "priority": 0}
    same |= {"operation": "create", "request": json.dumps(REQUEST), "captions": "srt vtt"}
    same |= {"enabled": True, "tags": '["spring"]', "notes": "of the spring", "cells": "[]"}
    same |= {"quoted": 12_000_000, "quoted_at": at, "approved": 12_000_000}
    own = [{"row": f"r{n}", "position": n, "line": n, "digest": f"{n:064}"} for n in range(count)]
    connection.execute(insert(rows), [same | one for one in own])


def add_rendering(connection: Connection, count: int, *, at: float) -> None:
    """Put so many rows into a campaign whose renders are all under way."""
    add_approved(connection, count, at=at)
    same = {"number": 1, "nth": 1, "quoted": 12_000_000, "reserved": 12_000_000}
    same |= {"intended_at": at, "accepted_at": at}
    own = [
        {
            "row_id": row.id,
            "campaign_id": row.campaign_id,
            "key": f"cs1_{row.id}",
            "digest": row.digest,
            "body": json.dumps(REQUEST | {"idempotency_key": f"cs1_{row.id}"}).encode(),
            "video_id": f"vid_{row.id}",
        }
        for row in connection.execute(rows.select()).all()
    ]
    connection.execute(insert(takes), [same | one for one in own])
    of_row = takes.select().with_only_columns(takes.c.id).where(takes.c.row_id == rows.c.id)
    connection.execute(update(rows).values(state="rendering", take_id=of_row.scalar_subquery()))


async def process(ledger_file: str, calls: int) -> dict[str, Any]:
    """Carry all there is, stop when the service was asked so often; return what came of it."""
    async with await open_ledger(f"sqlite:///{ledger_file}") as ledger:
        service = Service(calls)
        at = Context(
            settings=load_settings(environ={}, folder=Path(ledger_file).parent),
            ledger=ledger,
            service=cast(Any, service),
            store=cast(Any, None),
            fetcher=cast(Any, None),
            baseline=Baseline(ledger, cast(Any, service), "studio"),
        )
        campaign = await ledger.read(find_campaign, name=NAME)
        assert campaign is not None
        work = await ledger.read(_work_of, campaign=campaign)
        states = Counter[str]()
        async with Engine(campaign, at) as engine:
            shards = [asyncio.create_task(engine.process_shard(shard)) for shard in work.shards()]
            await service.enough.wait()
            engine.stop("it was asked often enough")
            for found in await asyncio.gather(*shards):
                states.update(found)
    return {"rows": dict(states), "peak": _peak()}


def _peak() -> int:
    """Return the highest resident memory of this process in kB; `getrusage` has its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def _work_of(connection: Connection, campaign: Campaign) -> Work:
    return Work(rows_to_process(connection, campaign.id))


if __name__ == "__main__":
    _, place, count = sys.argv
    print(json.dumps(asyncio.run(process(place, int(count)))))
