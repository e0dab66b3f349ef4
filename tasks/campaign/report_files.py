"""Manifest and status sheet in the store, written from all rows after a run.

The manifest is exact and for machines; the status sheet is for people, safe to open in a
spreadsheet.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection

from callsheet.tasks.campaign.report import manifest_line, status_line
from callsheet.tasks.ledger.campaigns import (
    Campaign,
    find_campaign,
    last_event,
    newest_event,
    tally_of,
)
from callsheet.tasks.ledger.earlier_takes import earlier_of
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.row_views import ShownRow, stream
from callsheet.tasks.ledger.sync import Reported, note_report
from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.runtime.spreadsheets import csv_writer, write_csv
from callsheet.tasks.store.addresses import linking, signing_key

if TYPE_CHECKING:
    # Anyone who reads rows need not pay for the service's client.
    from callsheet.tasks.engine.context import Context

#: The form of the manifest; that of both files: another one is rewritten.
FORMAT, REPORT = 1, 3
MANIFEST, STATUS = "manifest.json", "status.csv"
#: Makes the link to a file, by its address in the store.
Link = Callable[[str], str | None]


async def report_stands(at: Context, campaign: Campaign) -> bool:
    """Whether manifest and status sheet are in the store as they would be written now."""
    reported = Reported.read(campaign.reported)
    if reported is None:
        return False
    if await at.ledger.read(_made_of, at=at, name=campaign.name) != reported.made_of:
        return False
    try:
        found = [await at.store.head(f"{campaign.name}/{name}") for name in (MANIFEST, STATUS)]
    except (StoreError, StoreUnusable):
        return False
    return tuple(file and file.sha256 for file in found) == reported.files


async def write_report(at: Context, campaign: Campaign) -> None:
    """Put `manifest.json` and `status.csv` into the campaign's folder of the store.

    What already exists, made of the same, is left as it is.
    """
    known = await at.ledger.read(find_campaign, name=campaign.name)
    assert known is not None
    if await report_stands(at, known):
        return
    with TemporaryDirectory(prefix="callsheet-report-") as folder:
        files = [Path(folder) / name for name in (MANIFEST, STATUS)]
        made_of = await at.ledger.read(_write_files, at=at, campaign=campaign, files=files)
        manifest, status = [await _replace(at, campaign, file) for file in files]
    await _note(at, known, Reported(made_of=made_of, files=(manifest, status)))


async def write_manifest(at: Context, campaign: Campaign) -> None:
    """Put `manifest.json` into the campaign's folder of the store.

    It says enough to rebuild a lost ledger from (`recovery`), so it is written before the first
    paid request of a run as well as at the end.
    """
    known = await at.ledger.read(find_campaign, name=campaign.name)
    assert known is not None
    # Until the report at the end the next run reads this manifest again: a ledger that is restored
    # from a backup of now does not know what was sent a moment later.
    await _note(at, known, None)
    with TemporaryDirectory(prefix="callsheet-report-") as folder:
        file = Path(folder) / MANIFEST
        await at.ledger.read(_write_files, at=at, campaign=campaign, files=[file])
        await _replace(at, campaign, file)


async def _note(at: Context, known: Campaign, reported: Reported | None) -> None:
    """Remember a report (None: none), unless something was noted since the campaign was read."""
    await at.ledger.write(
        note_report, campaign_id=known.id, reported=reported, instead_of=known.reported
    )


async def _replace(at: Context, campaign: Campaign, file: Path) -> str:
    """Put a file into the campaign's folder of the store; return its digest."""
    kind = _KINDS[file.suffix]
    stored = await at.store.replace(f"{campaign.name}/{file.name}", file, content_type=kind)
    return stored.sha256


_KINDS = {".csv": "text/csv", ".json": "application/json"}


def _made_of(connection: Connection, at: Context, name: str) -> str:
    """Return a digest of what a report would be made of now.

    Whatever changes a row on its way leaves an event, or an amount; what a sheet changes next to
    that is noted by `sync_sheet`.
    """
    campaign = find_campaign(connection, name)
    assert campaign is not None
    tally = tally_of(connection, campaign)
    asked = (campaign.sheet, campaign.sheet_digest, campaign.sandbox)
    last = last_event(connection, campaign.id)
    made_of = [REPORT, name, *asked, last, tally.as_json(), tally.credits_as_json()]
    if links := at.settings.links:
        made_of += [*links, links.turn(at.clock()), signing_key(at.store.address, links)]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()


def _write_files(
    connection: Connection, at: Context, campaign: Campaign, files: Sequence[Path]
) -> str:
    """Write the manifest, and the status sheet where a second file is given.

    A page of rows is in memory at a time. Returns a digest of what the files were made of.
    """
    made_of = _made_of(connection, at, campaign.name)
    head, foot = _frame(connection, at, campaign)
    link = linking(at.store.address, at.settings.links) if at.settings.links else None
    columns: dict[str, None] = {}
    with ExitStack() as stack:
        texts = [stack.enter_context(_open_text(file)) for file in files]
        add: Callable[[Mapping[str, Any]], None] | None = None
        before = head
        for line, earlier in _with_earlier(connection, campaign.id):
            document = line.document
            said = manifest_line(line, document, earlier, before_sending=len(files) == 1)
            texts[0].write(f"{before}    {orjson.dumps(said).decode()}")
            before = ",\n"
            if len(files) > 1:
                status = status_line(line, document, link)
                add = add or csv_writer(texts[1], list(status))
                add(status)
                columns.update(dict.fromkeys(status))
        texts[0].write(before + foot if before == head else foot)
    if len(files) > 1:
        _widen(connection, campaign, files[1], list(columns), link)
    return made_of


def _with_earlier(
    connection: Connection, campaign_id: int
) -> Iterator[tuple[ShownRow, Sequence[Mapping[str, Any]]]]:
    """Yield all rows of a campaign, each with the takes of another ledger that are known of it."""
    for page in pages_of(stream(connection, campaign_id)):
        earlier: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        named = [row.row for row in page]
        for one in earlier_of(connection, campaign_id, named=named):
            earlier[one.row].append(one.as_json())
        yield from ((row, earlier.get(row.row, ())) for row in page)


def _widen(
    connection: Connection, campaign: Campaign, file: Path, columns: list[str], link: Link | None
) -> None:
    """Write the status sheet once more where rows have columns that its first one has not."""
    lines = (status_line(line, line.document, link) for line in stream(connection, campaign.id))
    first = next(lines, None)
    if first is None or len(first) < len(columns):
        with _open_text(file) as out:
            write_csv(out, columns, chain([] if first is None else [first], lines))


def _open_text(file: Path) -> IO[str]:
    """Open a file for text whose line ends are written as they are."""
    return file.open("w", encoding="utf-8", newline="")


def _frame(connection: Connection, at: Context, campaign: Campaign) -> tuple[str, str]:
    """Return what stands in a manifest before and after its rows."""
    tally = tally_of(connection, campaign)
    made_at = datetime.fromtimestamp(at.clock(), UTC)
    document = {
        "format": FORMAT,
        "campaign": campaign.name,
        "sandbox": campaign.sandbox,
        "sheet": {"address": campaign.sheet, "sha256": campaign.sheet_digest},
        "made_at": made_at.isoformat(timespec="seconds"),
        "last_event": newest_event(connection, campaign.id),
        "credits": tally.credits_as_json(),
        "counts": tally.as_json(),
    }
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return text.removesuffix("\n}") + ',\n  "rows": [\n', "\n  ]\n}\n"
