"""Whatever happens to a campaign, its report tells of it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import update

from callsheet.tasks.campaign.manifest import keep_manifest
from callsheet.tasks.campaign.report_files import report_stands, write_manifest, write_report
from callsheet.tasks.engine.context import Context, connect
from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.deliveries import add_delivery
from callsheet.tasks.ledger.moves import note, remark
from callsheet.tasks.ledger.quotes import Quoted, record_quotes
from callsheet.tasks.ledger.schema import campaigns
from callsheet.tasks.ledger.sync import Reported
from callsheet.tasks.ledger.takes import correct_charge
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.store import Store
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, VIDEO, Stage

#: Names that are hard to tell apart, and ones that JSON and CSV write in a way of their own.
ROWS = ("a", 'a"', "a, ", 'a, "state"', "a\\", "ä", "=b", "b\nc", "b\r\nc", "d,e", "]", "f")
CELLS = ("Kettle", "", 'say "x"', "two\r\nlines", "=1+1", "ü, v")
WAYS = ("edit", "note", "quote", "again", "deliver", "charge", "file", "remark", "event", "fail")
FILES = ("manifest.json", "status.csv")
NOBODY = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_nobody"}


class History:
    """A campaign to which things happen by chance, and its report."""

    def __init__(self, at: Context, stage: Stage, folder: Path, chance: random.Random) -> None:
        self.at, self.stage, self.chance = at, stage, chance
        self.folder = folder / "deliveries" / stage.campaign.name
        self.briefs = {row: self.brief(row) for row in ROWS}

    def brief(self, row: str, *, columns: int = 2) -> Brief:
        cells = tuple((f"column {n}", self.chance.choice(CELLS)) for n in range(columns))
        topic = f"{row} {self.chance.random()}"
        return Brief(row=row, request={"topic": topic}, cells=cells)

    async def sync(self) -> None:
        await self.stage.sync(*self.briefs.values())

    async def happen(self, way: str) -> None:
        """Let something become of a row, if it can."""
        row = await self.stage.row(self.chance.choice(sorted(self.briefs)))
        write, amount = self.stage.write, Decimal(self.chance.randint(1, 99))
        match way:
            case "edit":
                self.briefs[row.row] = self.brief(row.row)
                await self.sync()
            case "note":
                cells = self.brief(row.row).cells
                self.briefs[row.row] = replace(self.briefs[row.row], cells=cells)
                await self.sync()
            case "quote":
                # In the same state, as far as that goes: no event tells of it.
                quoted = [Quoted(row, amount)]
                if row.state in ("planned", "quoted", "approved"):
                    await write(record_quotes, quoted, tolerance=Decimal(1000), at=NOW)
            case "deliver" if row.state == "planned":
                await self.stage.delivered(row.row)
            case "fail" if row.state == "planned":
                await self.stage.failed(row.row)
            case "again" if row.state in ("delivered", "failed"):
                await write(approve_retakes, [Quoted(row, amount)], by="A", because="x", at=NOW)
            case "charge" if row.take:
                await write(correct_charge, row, row.take, charged=amount, at=NOW)
            case "file" if row.take and row.state == "delivered":
                file = replace(VIDEO, kind="srt", uri=f"{amount}.srt")
                await write(add_delivery, row, row.take, file=file, at=NOW)
            case "remark":
                await write(remark, row, f"said {amount}", at=NOW)
            case "event":
                await write(note, row, "repair", "x", at=NOW)

    async def reorder(self) -> None:
        """Let rows leave the sheet, come to it, change places, or have another column."""
        match self.chance.randrange(4):
            case 0:
                self.briefs.pop(self.chance.choice(sorted(self.briefs)))
            case 1:
                new = f"new {self.chance.random()}"
                self.briefs[new] = self.brief(new)
            case 2:
                names = self.chance.sample(sorted(self.briefs), len(self.briefs))
                self.briefs = {name: self.briefs[name] for name in names}
            case _:
                row = self.chance.choice(sorted(self.briefs))
                self.briefs[row] = self.brief(row, columns=self.chance.randint(1, 4))
        await self.sync()

    async def report(self, *, early: bool) -> None:
        """Write the report as a run does, and compare it with one that is forced."""
        if early:
            await write_manifest(self.at, self.stage.campaign)
        await write_report(self.at, self.stage.campaign)
        found = self.files()
        await self.forget()
        await write_report(self.at, self.stage.campaign)
        assert self.files() == found

    async def forget(self) -> None:
        await self.at.ledger.write(lambda c: c.execute(update(campaigns).values(reported=None)))

    def files(self) -> list[bytes]:
        return [(self.folder / name).read_bytes() for name in FILES]


@asynccontextmanager
async def history(folder: Path, seed: int) -> AsyncIterator[History]:
    environ = {**NOBODY, "CALLSHEET_STORE": str(folder / "deliveries")}
    settings = load_settings(environ=environ, folder=folder)
    async with connect(settings, clock=lambda: NOW) as at:
        stage = await Stage.set(at.ledger)
        found = History(at, stage, folder, random.Random(seed))
        await found.sync()
        yield found




@pytest.mark.merge
@pytest.mark.parametrize("way", WAYS)
async def test_a_report_tells_of_what_happened(tmp_path: Path, way: str) -> None:
    """Each way for itself: nothing that happens beside it makes its row known as changed."""
    async with history(tmp_path, 7) as campaign:
        for row in ROWS[::2]:
            await campaign.stage.delivered(row)
        await campaign.stage.approve(ROWS[1])
        await campaign.report(early=False)
        for _ in range(8):
            await campaign.happen(way)
            await campaign.report(early=False)


@pytest.mark.merge
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [None, b"", b"{}", b"cut"])
async def test_a_file_that_is_not_what_was_written_is_made_anew(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    async with history(tmp_path, 1) as campaign:
        await campaign.report(early=False)
        file = campaign.folder / name
        whole = file.read_bytes()
        if content is None:
            file.unlink()
        else:
            file.write_bytes(whole[:-9] if content == b"cut" else content)
        await campaign.report(early=False)
        assert file.read_bytes() == whole


@pytest.mark.parametrize("early", [False, True])
async def test_a_report_that_was_begun_is_gone_on_with(tmp_path: Path, early: bool) -> None:
    """A process that ends between the files and what is noted of them leaves nothing wrong."""
    async with history(tmp_path, 2) as campaign:
        await campaign.report(early=False)
        noted = (await campaign.stage.account()).reported
        await campaign.happen("deliver")
        write = write_manifest if early else write_report
        await write(campaign.at, campaign.stage.campaign)
        await campaign.at.ledger.write(
            lambda c: c.execute(update(campaigns).values(reported=noted))
        )
        await campaign.happen("note")
        await campaign.report(early=False)


def test_what_is_noted_of_a_report_is_read_as_it_was() -> None:
    reported = Reported(made_of="m", files=("a", "b"))
    assert Reported.read(reported.as_text()) == reported


@pytest.mark.parametrize("text", [None, "", "made_of", "made_of manifest", "made_of a b 7"])
def test_what_is_no_note_is_none(text: str | None) -> None:
    assert Reported.read(text) is None


async def test_a_manifest_written_before_rows_are_sent_is_not_noted(tmp_path: Path) -> None:
    """A backup of now knows nothing of what is sent a moment later."""
    async with history(tmp_path, 3) as campaign:
        await campaign.report(early=False)
        await write_manifest(campaign.at, campaign.stage.campaign)
        assert (await campaign.stage.account()).reported is None


@pytest.mark.parametrize("other", [False, True])
async def test_a_ledger_reads_no_manifest_that_it_wrote_at_the_end(
    tmp_path: Path, other: bool
) -> None:
    """Nor once its sheet has changed: it reads those alone that may tell it something."""
    async with history(tmp_path, 3) as campaign:
        await campaign.report(early=False)
        await campaign.happen("note")
        assert not await report_stands(campaign.at, await campaign.stage.account())
        file = campaign.folder / FILES[0]
        if other:
            file.write_bytes(file.read_bytes() + b" ")
        store = Reading(campaign.at.store)

        await keep_manifest(replace(campaign.at, store=cast(Any, store)), campaign.stage.campaign)

        assert store.names == [f"{campaign.stage.campaign.name}/{FILES[0]}"] * other


class Reading:
    """A store that knows what was read of it."""

    def __init__(self, store: Store) -> None:
        self.names: list[str] = []
        self.address, self.head = store.address, store.head
        self._store = store

    async def read(self, name: str) -> bytes | None:
        self.names.append(name)
        return await self._store.read(name)
