"""Whatever happens to a campaign, its report tells of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from callsheet.tasks.campaign.report_files import write_manifest, write_report
from callsheet.tasks.engine.context import Context, connect
from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.deliveries import add_delivery
from callsheet.tasks.ledger.moves import note, remark
from callsheet.tasks.ledger.quotes import Quoted, record_quotes
from callsheet.tasks.ledger.schema import campaigns
from callsheet.tasks.ledger.takes import correct_charge
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, VIDEO, Stage

#: Names that are hard to tell apart, and ones that JSON and CSV write in a way of their own.
ROWS = ("a", 'a"', 'a, "state"', "a\\", "ä", "=b", "b\r\nc", "d,e", "]")
CELLS = ("Kettle", "", 'say "x"', "two\r\nlines", "=1+1", "ü, v")
FILES = ("manifest.json", "status.csv")
NOBODY = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_nobody"}


class Reported:
    """A campaign, and its report."""

    def __init__(self, at: Context, stage: Stage, folder: Path) -> None:
        self.at, self.stage = at, stage
        self.folder = folder / "deliveries" / stage.campaign.name
        self.briefs = {
            row: Brief(row=row, request={"topic": row}, cells=(("c", CELLS[n % len(CELLS)]),))
            for n, row in enumerate(ROWS)
        }

    async def edit(self, row: str, **own: Any) -> None:
        self.briefs[row] = replace(self.briefs[row], **own)
        await self.stage.sync(*self.briefs.values())

    async def report(self) -> list[bytes]:
        """Write the report as a run does, and compare it with one that is forced."""
        await write_report(self.at, self.stage.campaign)
        found = self.files()
        await self.note(None)
        await write_report(self.at, self.stage.campaign)
        assert self.files() == found
        return found

    async def note(self, reported: str | None) -> None:
        change = update(campaigns).values(reported=reported)
        await self.at.ledger.write(lambda connection: connection.execute(change))

    def files(self) -> list[bytes]:
        return [(self.folder / name).read_bytes() for name in FILES]


@asynccontextmanager
async def reported(folder: Path) -> AsyncIterator[Reported]:
    """Have a campaign of which some rows are delivered, and one is approved."""
    environ = {**NOBODY, "CALLSHEET_STORE": str(folder / "deliveries")}
    settings = load_settings(environ=environ, folder=folder)
    async with connect(settings, clock=lambda: NOW) as at:
        found = Reported(at, await Stage.set(at.ledger), folder)
        await found.stage.sync(*found.briefs.values())
        for row in ROWS[::2]:
            await found.stage.delivered(row)
        await found.stage.approve(ROWS[1])
        await found.report()
        yield found


AT: Any = {"at": NOW}
QUOTED: Any = {**AT, "tolerance": Decimal(9)}
AGAIN: Any = {**AT, "by": "A", "because": "x"}
SRT = replace(VIDEO, kind="srt", uri="a.srt")
#: What may happen to a row that is delivered (0), approved (1) or planned (3).
WAYS: dict[str, tuple[int, Callable[[Stage, CampaignRow], Awaitable[Any]]]] = {
    # In the same state: no event tells of it.
    "quote": (1, lambda s, row: s.write(record_quotes, [Quoted(row, Decimal(13))], **QUOTED)),
    "again": (0, lambda s, row: s.write(approve_retakes, [Quoted(row, Decimal(7))], **AGAIN)),
    "deliver": (3, lambda s, row: s.delivered(row.row)),
    "fail": (3, lambda s, row: s.failed(row.row)),
    "charge": (0, lambda s, row: s.write(correct_charge, row, row.take, charged=Decimal(5), **AT)),
    "file": (0, lambda s, row: s.write(add_delivery, row, row.take, file=SRT, **AT)),
    "remark": (0, lambda s, row: s.write(remark, row, "said", **AT)),
    "event": (0, lambda s, row: s.write(note, row, "repair", "x", **AT)),
    "leave": (0, lambda s, row: s.sync()),
}


@pytest.mark.merge
@pytest.mark.parametrize("way", WAYS)
async def test_a_report_tells_of_what_happened(tmp_path: Path, way: str) -> None:
    """Each way for itself: nothing that happens beside it makes its row known as changed."""
    number, happen = WAYS[way]
    async with reported(tmp_path) as campaign:
        await happen(campaign.stage, await campaign.stage.row(ROWS[number]))
        await campaign.report()


@pytest.mark.merge
async def test_a_report_tells_of_what_became_of_its_sheet(tmp_path: Path) -> None:
    async with reported(tmp_path) as campaign:
        before = await campaign.report()
        for own in (
            {"request": {"topic": "Tea"}},
            {"cells": (("c", "new"),)},
            {"cells": (("d", ""),)},
        ):
            await campaign.edit(ROWS[0], **own)
            before, last = await campaign.report(), before
            assert before[1] != last[1]
        campaign.briefs = dict(reversed(campaign.briefs.items()))
        await campaign.edit(ROWS[0])
        assert await campaign.report() != before


@pytest.mark.merge
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [None, b"", b"{}", b"cut"])
async def test_a_file_that_is_not_what_was_written_is_made_anew(tmp_path: Path, name, content):
    async with reported(tmp_path) as campaign:
        file = campaign.folder / name
        whole = file.read_bytes()
        if content is None:
            file.unlink()
        else:
            file.write_bytes(whole[:-9] if content == b"cut" else content)
        await campaign.report()
        assert file.read_bytes() == whole


@pytest.mark.parametrize("early", [False, True])
async def test_a_report_that_was_begun_is_gone_on_with(tmp_path: Path, early: bool) -> None:
    """A process that ends between the files and what is noted of them leaves nothing wrong."""
    async with reported(tmp_path) as campaign:
        noted = (await campaign.stage.account()).reported
        await campaign.stage.delivered(ROWS[3])
        await (write_manifest if early else write_report)(campaign.at, campaign.stage.campaign)
        await campaign.note(noted)
        await campaign.edit(ROWS[0], cells=(("c", "new"),))
        await campaign.report()


async def test_a_manifest_written_before_rows_are_sent_is_not_noted(tmp_path: Path) -> None:
    """A backup of now knows nothing of what is sent a moment later."""
    async with reported(tmp_path) as campaign:
        await write_manifest(campaign.at, campaign.stage.campaign)
        assert (await campaign.stage.account()).reported is None
