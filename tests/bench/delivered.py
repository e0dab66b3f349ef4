"""A campaign whose videos are all delivered, made by writing its ledger: what a night's run meets.

The videos themselves are not there: nothing looks at what is delivered and unchanged.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, update

from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.deliveries import Delivered, files_as_text
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.schema import campaigns, events, rows, takes
from callsheet.tasks.ledger.sync import sync_sheet
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.sheet import read_sheet
from tests.programs import simple_sheet

#: Credits that each video has cost, in millionths.
COST = 12_000_000
#: Rows that are written at a time.
PAGE = 5_000
_FILES = (("mp4", "a" * 64, 24_000), ("srt", "b" * 64, 61), ("vtt", "c" * 64, 64))


def make_delivered(folder: Path, count: int) -> Path:
    """Make `bench.csv` of so many rows and its ledger in a folder; return the sheet.

    The folder is to be the desk's: the ledger is `.callsheet/ledger.db`, the store `deliveries`.
    """
    sheet = folder / "bench.csv"
    sheet.write_text(simple_sheet(count))
    (folder / ".callsheet").mkdir(parents=True, exist_ok=True)
    asyncio.run(_fill(sheet, folder / ".callsheet" / "ledger.db"))
    return sheet


async def _fill(sheet: Path, file: Path) -> None:
    found = await read_sheet(str(sheet))
    now = time.time() - 3600

    def fill(connection: Connection) -> None:
        campaign = ensure_campaign(
            connection,
            found.campaign,
            sheet=found.address,
            sheet_digest=found.digest,
            at=now,
            origin=found.origin,
        )
        sync_sheet(connection, campaign.id, found.briefs, at=now)
        made = rows_of(connection, campaign.id)
        for start in range(0, len(made), PAGE):
            _deliver(connection, made[start : start + PAGE], now)
        spent = {"charged": COST * len(made)}
        connection.execute(update(campaigns).values(spent))

    async with await open_ledger(f"sqlite:///{file}") as ledger:
        await ledger.write(fill)


def _deliver(connection: Connection, made: list[CampaignRow], now: float) -> None:
    """Write what a run leaves of rows: their takes, files and events."""
    connection.execute(insert(takes), [_take(row, now) for row in made])
    connection.execute(insert(events), [event for row in made for event in _events(row, now)])
    done = {"state": "delivered", "since": now, "quoted": COST, "quoted_at": now, "approved": COST}
    own = {"take_id": rows.c.id, "video_take_id": rows.c.id}
    this = rows.c.id.between(made[0].id, made[-1].id)
    connection.execute(update(rows).where(this).values(**done, **own))


def _take(row: CampaignRow, now: float) -> dict[str, Any]:
    key = row.key()
    moments = dict.fromkeys(("intended_at", "accepted_at", "ready_at", "delivered_at"), now)
    return {
        "id": row.id,
        "row_id": row.id,
        "number": 1,
        "nth": 1,
        "key": key,
        "digest": row.digest,
        "body": row.body(key),
        "quoted": COST,
        "reserved": 0,
        "charged": COST,
        "video_id": f"vid_{row.id}",
        "campaign_id": row.campaign_id,
        "files": files_as_text({file.kind: file for file in _files(row)}),
        **moments,
    }


def _files(row: CampaignRow) -> Iterator[Delivered]:
    for kind, sha256, size in _FILES:
        uri = f"deliveries/{row.campaign}/{row.row}/{row.row}-take1.{kind}"
        seconds = 1.0 if kind == "mp4" else None
        yield Delivered(kind=kind, uri=uri, sha256=sha256, bytes=size, seconds=seconds)


def _events(row: CampaignRow, now: float) -> Iterator[dict[str, Any]]:
    road = ("planned", "quoted", "approved", "submitting", "rendering", "ready", "delivered")
    for old, new in pairwise(road):
        common = {"campaign_id": row.campaign_id, "row_id": row.id, "at": now, "kind": "state"}
        yield {**common, "take_id": None, "old": old, "new": new, "words": None}


if __name__ == "__main__":
    make_delivered(Path(sys.argv[1]), int(sys.argv[2]))
