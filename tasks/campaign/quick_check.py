"""A quick check of ledgers in files: which campaign a sheet is, and where a campaign is.

Reads files alone, with nothing of what opens a ledger: `check` makes no requests and must not pay
for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from callsheet.tasks.runtime.errors import LedgerError
from callsheet.tasks.runtime.home import LastRun, notes_of
from callsheet.tasks.sheet import Sheet

if TYPE_CHECKING:
    from callsheet.tasks.runtime.known_settings import Settings

_FILE = "sqlite:///"


async def named_offline(sheet: Sheet, settings: Settings, *, new_campaign: bool) -> Sheet:
    """Return the sheet under the campaign that a run would go on with, as a ledger in a file says.

    The ledger itself is opened only where that may be another than the sheet's file names.
    """
    if sheet.origin is None or not sheet.named_after_file:
        return sheet
    query = (
        "SELECT 1 FROM campaigns LEFT JOIN origins ON origins.campaign_id = campaigns.id "
        "WHERE digest = ? AND name <> ? OR name = ? AND sandbox"
    )
    values = (sheet.origin.digest, sheet.campaign, sheet.campaign)
    if not _has(settings.ledger, query, *values):
        return sheet
    from callsheet.tasks.campaign.match import name_campaign
    from callsheet.tasks.campaign.options import RunOptions
    from callsheet.tasks.ledger.ledger import open_ledger

    options = RunOptions(sheet=sheet.address, new_campaign=new_campaign)
    try:
        async with await open_ledger(settings.ledger, create=False) as ledger:
            return await name_campaign(ledger, sheet, options)
    except LedgerError:
        # Anyone who needs the ledger is told.
        return sheet


def ledger_with(name: str, settings: Settings) -> LastRun | None:
    """Return a run of this user's whose ledger, another one that is there, has the campaign."""
    for run in _other_runs(settings):
        if _has(run.ledger, "SELECT 1 FROM campaigns WHERE name = ?", name):
            return run
    return None


def _other_runs(settings: Settings) -> Iterator[LastRun]:
    own = Path(settings.ledger.removeprefix(_FILE)).resolve()
    seen = {f"{_FILE}{own}"}
    for run in notes_of(settings.notes):
        if run.ledger not in seen:
            seen.add(run.ledger)
            yield run


def _has(ledger: str, query: str, *values: str) -> bool:
    """Return whether a query finds anything in a ledger, where that is a file that can be read."""
    if not ledger.startswith(_FILE):
        return False
    path = Path(ledger.removeprefix(_FILE))
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            return file.execute(f"{query} LIMIT 1", values).fetchone() is not None
    except sqlite3.Error:
        return False
