"""Nights for tests: an inbox that is a folder, sheets in it, and sweeps that something befalls."""

from __future__ import annotations

import csv
import inspect
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from callsheet.flows.nightly_run import sweep
from callsheet.tasks.campaign.run import Run, Watch
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.ledger.leases import night_lease
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.nightly_runs import claim_night
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.reports import NightReport, SheetReport
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings
from tests.leasing import let_lapse
from tests.programs import Sandbox, simple_sheet

NIGHTS = ("2026-11-20", "2026-11-21")
BROKEN = "id,tool,title\na,,\nb,no-such-tool,B\n"


async def no_sleep(_: float) -> None:
    """Look again at once."""


@dataclass
class Nights:
    """An inbox that is a folder, and the nights in which it is swept."""

    folder: Path
    service: Sandbox
    name: str
    #: Where its ledger is, unless in the folder.
    ledger: str | None = None
    terms: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.folder / "inbox"

    @property
    def settings(self) -> Settings:
        own = {} if self.ledger is None else {"CALLSHEET_LEDGER": self.ledger}
        return load_settings(environ={**self.service.environ, **own}, folder=self.folder)

    def put(self, stem: str, text: str, *, old: bool = True) -> Path:
        """Put a sheet there, as if it had lain there for a while."""
        self.path.mkdir(exist_ok=True)
        file = self.path / f"{self.name}-{stem}.csv"
        file.write_text(text, newline="")
        if old:
            os.utime(file, (time.time() - 1000,) * 2)
        return file

    def put_named(
        self, stem: str, text: str, *, campaign: str | None = None, **head: object
    ) -> Path:
        """Put a sheet there that names its campaign itself, as others do."""
        keys, *rows = text.splitlines()
        lines = [dict(zip(keys.split(","), row.split(","), strict=True)) for row in rows]
        self.path.mkdir(exist_ok=True)
        file = self.path / f"{self.name}-{stem}.json"
        file.write_text(json.dumps({"campaign": campaign or self.name, **head, "rows": lines}))
        os.utime(file, (1, 1))
        return file

    def inbox(self, **terms: Any) -> Inbox:
        told = {"approval": "auto", "per_night": Decimal(1000), **self.terms, **terms}
        return Inbox(name="spring", place=str(self.path), **told)

    async def sweep(self, night: str = "2026-11-20", **terms: Any) -> NightReport:
        """Sweep it once; `inbox` are terms of the inbox, `lease` is how long its lease holds."""
        inbox, asked = self.inbox(**terms.pop("inbox", {})), {"sleep": no_sleep, **terms}
        own = {"sandbox": asked.get("sandbox", False)}
        if lease := asked.pop("lease", None):
            own["lease"] = lease
        settings = self.settings.model_copy(update=own)
        return await sweep(inbox, settings, night=night, zone="UTC", **asked)

    async def read(self, query: Callable[..., Any], **about: Any) -> Any:
        """Read from its ledger."""
        async with await open_ledger(self.settings.ledger) as ledger:
            return await ledger.read(query, **about)

    async def write(self, change: Callable[..., Any], **about: Any) -> Any:
        """Change its ledger, as another process does."""
        async with await open_ledger(self.settings.ledger) as ledger:
            return await ledger.write(change, **about)

    async def lose_to_another(self) -> None:
        """Have the lease of the inbox lapse, and another sweep acquire it."""
        claim = claimed("2026-11-21", "another", at=time.time())

        def take(connection: Connection) -> None:
            # In one transaction: its owner would renew a lease that has only lapsed.
            let_lapse(connection, night_lease("spring"))
            claim(connection)

        await self.write(take)

    def answer(self, stem: str) -> dict[str, Any]:
        """Return the answer beside a sheet."""
        return dict(json.loads((self.path / f"{self.name}-{stem}.csv.callsheet.json").read_text()))

    def report(self, stem: str) -> list[dict[str, str]]:
        """Return the lines of the report beside a sheet."""
        file = self.path / f"{self.name}-{stem}.csv.report.csv"
        return list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))


@pytest.fixture
def nights(tmp_path: Path, service: Sandbox, name: str) -> Nights:
    return Nights(tmp_path, service, name)


@pytest.fixture
def slow(tmp_path: Path, studio: Sandbox, name: str) -> Nights:
    """Nights whose first two videos take some seconds."""
    studio.plan_fault(on="render", do="slow", seconds=2.5, nth="1-2")
    return Nights(tmp_path, studio, name)


@pytest.fixture
async def left(slow: Nights) -> Nights:
    """A night that was left with its videos under way: all are begun, none is finished."""
    slow.put("a", videos("A"))
    report = the_one(await slow.sweep(watch=until_all_render))
    slow.service.clear_faults()
    assert (report.outcome, report.exit_status) == ("parked", 5), report
    return slow


def said(report: NightReport) -> dict[str, str]:
    """What became of each sheet, by the last part of its name."""
    return {sheet.sheet.rpartition("-")[2][:-4]: sheet.outcome for sheet in report.sheets}


def the_one(report: NightReport) -> SheetReport:
    (sheet,) = report.sheets
    return sheet


def videos(title: str, count: int = 2) -> str:
    """A sheet of videos that cost 15 credits each, none of which another sheet has."""
    return simple_sheet(count, title=title).replace("Kettle", f"{title} kettle")


def watching(begins: Callable[[Run], Any]) -> Watch:
    """Have something happen when a run begins."""

    @asynccontextmanager
    async def watch(run: Run) -> AsyncIterator[None]:
        if inspect.isawaitable(found := begins(run)):
            await found
        yield

    return watch


def once_all_render(run: Run, then: Callable[[], object]) -> None:
    """Do something once both videos of a run are begun."""

    def hear(snapshot: Snapshot) -> None:
        if snapshot.rows.get("rendering") == 2:
            then()

    run.listeners.append(hear)


#: Stops a run once both of its videos are begun.
until_all_render = watching(
    lambda run: once_all_render(run, partial(run.stop, "all are begun")),
)


def claimed(night: str, place: str, *, at: float, seconds: float = 60.0) -> Any:
    """A change of the ledger: another sweep has the night."""
    terms = {"inbox": "spring", "zone": "UTC", "is_dead": lambda _: False}
    return partial(claim_night, **terms, date=night, place=place, at=at, seconds=seconds)
