"""Manifest and status sheet in the store, written after a run; unchanged lines are taken over.

The manifest is exact and for machines; the status sheet is for people, safe to open in a
spreadsheet. Where few rows have changed since the last report its lines are taken over, of which
the store proves that they are what was written; the files are the same as if made again.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from sqlalchemy import Connection

from callsheet.tasks.campaign.report import manifest_line, row_documents, status_line
from callsheet.tasks.ledger.campaigns import (
    Campaign,
    find_campaign,
    last_event,
    newest_event,
    tally_of,
)
from callsheet.tasks.ledger.earlier_takes import earlier_of
from callsheet.tasks.ledger.figures import numbers_of, pages_of
from callsheet.tasks.ledger.sync import SENDING, Reported, note_report, rows_changed_since
from callsheet.tasks.ledger.values import CampaignRow, cells_of, rows_of
from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.runtime.spreadsheets import csv_writer, write_csv
from callsheet.tasks.store.addresses import linking, signing_key

if TYPE_CHECKING:
    # Anyone who reads rows need not pay for the service's client.
    from callsheet.tasks.engine.context import Context

#: The form of both files: another one is rewritten.
REPORT = 2
STATUS = "status.csv"
#: Makes the link to a file, by its address in the store.
Link = Callable[[str], str | None]
#: A row, how it stands, and its cells.
Line = tuple[CampaignRow, dict[str, Any], Sequence[tuple[str, str]]]


async def report_stands(at: Context, campaign: Campaign) -> bool:
    """Whether manifest and status sheet are in the store as they would be written now."""
    reported = Reported.read(campaign.reported)
    if reported is None:
        return False
    if await at.ledger.read(partial(_made_of, at=at, name=campaign.name)) != reported.made_of:
        return False
    try:
        found = [await at.store.head(f"{campaign.name}/{name}") for name in _names()]
    except (StoreError, StoreUnusable):
        return False
    return tuple(file and file.sha256 for file in found) == reported.files


async def write_report(at: Context, campaign: Campaign) -> None:
    """Put `manifest.json` and `status.csv` into the campaign's folder of the store.

    What already exists, made of the same, is left as it is.
    """
    known = await at.ledger.read(partial(find_campaign, name=campaign.name))
    assert known is not None
    if await report_stands(at, known):
        return
    with TemporaryDirectory(prefix="callsheet-report-") as folder:
        # Links are made for all rows: those of lines that have not changed would end.
        before = None if at.settings.links else await _last_report(at, known, _names())
        files = [Path(folder) / name for name in _names()]
        write = partial(_write_files, at=at, campaign=campaign, files=files, before=before)
        made_of, mark = await at.ledger.read(write)
        manifest, status = [await _replace(at, campaign, file) for file in files]
    reported = Reported(made_of=made_of, files=(manifest, status), mark=mark)
    await _note(at, known, reported)


async def write_manifest(at: Context, campaign: Campaign) -> None:
    """Put `manifest.json` into the campaign's folder of the store.

    It says enough to rebuild a lost ledger from (`recovery`), so it is written before the first
    paid request of a run as well as at the end.
    """
    name = _names()[0]
    known = await at.ledger.read(partial(find_campaign, name=campaign.name))
    assert known is not None
    with TemporaryDirectory(prefix="callsheet-report-") as folder:
        before = await _last_report(at, known, [name])
        file = Path(folder) / name
        write = partial(_write_files, at=at, campaign=campaign, files=[file], before=before)
        await at.ledger.read(write)
        written = await _replace(at, campaign, file)
    if before is not None:
        # The report at the end goes on from here; until then the status sheet is behind.
        files = (written, before.reported.files[1])
        reported = replace(before.reported, made_of=SENDING, files=files)
        await _note(at, known, reported)


def _names() -> tuple[str, str]:
    from callsheet.tasks.campaign import manifest

    return manifest.NAME, STATUS


@dataclass(frozen=True, slots=True)
class _LastReport:
    """The files of a report as they are in the store, proved to be what was written."""

    reported: Reported
    files: Sequence[bytes]


async def _last_report(
    at: Context, campaign: Campaign, names: Collection[str]
) -> _LastReport | None:
    """Fetch the files of the last report, if few rows have changed since."""
    reported = Reported.read(campaign.reported)
    since = partial(rows_changed_since, campaign_id=campaign.id, reported=reported)
    if reported is None or await at.ledger.read(since) is None:
        return None
    files = []
    for name, sha256 in zip(names, reported.files, strict=False):
        try:
            content = await at.store.read(f"{campaign.name}/{name}")
        except (StoreError, StoreUnusable):
            return None
        if content is None or await asyncio.to_thread(_digest, content) != sha256:
            return None
        files.append(content)
    return _LastReport(reported, files)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def _note(at: Context, known: Campaign, reported: Reported) -> None:
    """Remember a report, unless something else was noted since the campaign was read."""
    note = partial(note_report, campaign_id=known.id, reported=reported, instead_of=known.reported)
    await at.ledger.write(note)


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
    connection: Connection,
    at: Context,
    campaign: Campaign,
    files: Sequence[Path],
    before: _LastReport | None,
) -> tuple[str, int]:
    """Write the manifest, and the status sheet where a second file is given.

    Returns a digest of what they were made of, and the last event that they know of.
    """
    made_of, mark = _made_of(connection, at, campaign.name), last_event(connection, campaign.id)
    head, foot = _frame(connection, at, campaign)
    if before is None or not _amend(connection, campaign, head, foot, files, before):
        link = linking(at.store.address, at.settings.links) if at.settings.links else None
        _rewrite(connection, campaign, head, foot, files, link)
    return made_of, mark


def _amend(
    connection: Connection,
    campaign: Campaign,
    head: str,
    foot: str,
    files: Sequence[Path],
    before: _LastReport,
) -> bool:
    """Write the files by amending the last ones; return False where they have to be made again."""
    numbers = rows_changed_since(connection, campaign.id, before.reported)
    if numbers is None:
        return False
    count = tally_of(connection, campaign).total
    lines = {line[0].row: line for line in report_lines(connection, campaign.id, sorted(numbers))}
    sending = len(files) == 1
    texts = {row: _manifest_text(*line, sending=sending).encode() for row, line in lines.items()}
    with ExitStack() as stack:
        old = [io.BytesIO(content) for content in before.files]
        out = [stack.enter_context(file.open("wb")) for file in files]
        end = foot.encode().removeprefix(b"\n")
        places = amend_manifest(old[0], out[0], head.encode(), end, texts, count)
        if places is None or len(files) == 1:
            return places is not None
        headers, records = _status_texts({place: lines[row] for place, row in places.items()})
        header = headers.pop() if headers else None
        return not headers and amend_status(old[1], out[1], header, records, count)


def _status_texts(lines: Mapping[int, Line]) -> tuple[set[bytes], dict[int, bytes]]:
    """Return the headers that lines of a status sheet have, and the lines themselves."""
    headers: set[bytes] = set()
    records: dict[int, bytes] = {}
    for place, line in lines.items():
        status = status_line(*line)
        out = io.StringIO(newline="")
        add = csv_writer(out, list(status))
        header = out.getvalue()
        add(status)
        # Of a column whose name has a quote mark of its own the header does not tell it.
        headers.add(b"" if any(name.startswith("'") for name in status) else header.encode())
        records[place] = out.getvalue().removeprefix(header).encode()
    return headers, records


def _rewrite(
    connection: Connection,
    campaign: Campaign,
    head: str,
    foot: str,
    files: Sequence[Path],
    link: Link | None,
) -> None:
    """Write the files from all rows. A page of rows is in memory at a time."""
    columns: dict[str, None] = {}
    with ExitStack() as stack:
        texts = [stack.enter_context(_open_text(file)) for file in files]
        add: Callable[[Mapping[str, Any]], None] | None = None
        before = head
        for line in report_lines(connection, campaign.id, numbers_of(connection, campaign.id)):
            texts[0].write(f"{before}{_manifest_text(*line, sending=len(files) == 1)}")
            before = ",\n"
            if len(files) > 1:
                status = status_line(*line, link)
                add = add or csv_writer(texts[1], list(status))
                add(status)
                columns.update(dict.fromkeys(status))
        texts[0].write(before + foot if before == head else foot)
    if len(files) > 1:
        _widen(connection, campaign, files[1], list(columns), link)


def _widen(
    connection: Connection,
    campaign: Campaign,
    file: Path,
    columns: list[str],
    link: Link | None,
) -> None:
    """Write the status sheet once more where rows have columns that its first one has not."""
    numbers = numbers_of(connection, campaign.id)
    found = report_lines(connection, campaign.id, numbers)
    lines = (status_line(*line, link) for line in found)
    first = next(lines, None)
    if first is None or len(first) < len(columns):
        with _open_text(file) as out:
            write_csv(out, columns, chain([] if first is None else [first], lines))


def _open_text(file: Path) -> IO[str]:
    """Open a file for text whose line ends are written as they are."""
    return file.open("w", encoding="utf-8", newline="")


_JSON = json.JSONEncoder(ensure_ascii=False)


def _manifest_text(row: CampaignRow, line: Mapping[str, Any], _: object, *, sending: bool) -> str:
    """Return a row's line of the manifest, without its end; `sending`: before rows are sent."""
    return f"    {_JSON.encode(manifest_line(row, line, before_sending=sending))}"


def _frame(connection: Connection, at: Context, campaign: Campaign) -> tuple[str, str]:
    """Return what stands in a manifest before and after its rows."""
    from callsheet.tasks.campaign import manifest

    tally = tally_of(connection, campaign)
    document = manifest.Manifest.model_validate(
        {
            "format": manifest.FORMAT,
            "campaign": campaign.name,
            "sandbox": campaign.sandbox,
            "sheet": {"address": campaign.sheet, "sha256": campaign.sheet_digest},
            "made_at": datetime.fromtimestamp(at.clock(), UTC).replace(microsecond=0),
            "last_event": newest_event(connection, campaign.id),
            "credits": tally.credits_as_json(),
            "counts": tally.as_json(),
            "rows": [],
        }
    )
    head, _, foot = document.as_bytes().decode().rpartition("[]")
    return f"{head}[\n", f"\n  ]{foot}"


def report_lines(
    connection: Connection, campaign_id: int, numbers: Sequence[int]
) -> Iterator[Line]:
    """Yield rows of a campaign by their numbers, a page at a time, how each stands, its cells."""
    for page in pages_of(numbers):
        show = row_documents(connection, campaign_id, numbers=page)
        cells = cells_of(connection, campaign_id, numbers=page)
        rows = rows_of(connection, campaign_id, numbers=page)
        # What another ledger may have paid for: should this one be lost too, the store knows.
        earlier: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in earlier_of(connection, campaign_id, named=[row.row for row in rows]):
            earlier[one.row].append(one.as_json())
        for row in rows:
            told = {"earlier": earlier[row.row]} if row.row in earlier else {}
            yield row, show(row) | told, cells.get(row.id, ())


# Amends the files of a report: lines of rows that have not changed are taken over as they are.
#
# Knows what the files look like, and neither the store nor the ledger. Where anything is not as it
# should be the answer is no, and both files are made again.


#: What stands in a manifest before its first row and after its last one.
_FIRST, _LAST = b'  "rows": [\n', b"  ]\n"
#: Where a row's own members begin: its name may hold no quote mark without a backslash before it.
_MORE = b', "'
_END = b"\r\n"


def amend_manifest(
    old: IO[bytes], out: IO[bytes], head: bytes, foot: bytes, lines: Mapping[str, bytes], rows: int
) -> dict[int, str] | None:
    """Copy a manifest of so many `rows` with new `lines`, by row; return their places,
    None where that is not so.

    `head` and `foot` are what stands before and after the rows.
    """
    if not any(line == _FIRST for line in iter(old.readline, b"")):
        return None
    wanted = {line[: line.find(_MORE)]: row for row, line in lines.items()}
    places: dict[int, str] = {}
    out.write(head)
    place = 0
    for place, line in enumerate(old):
        if line == _LAST:
            out.write(foot)
            break
        row = wanted.get(line[: line.find(_MORE)])
        if row is None:
            out.write(line)
            continue
        places[place] = row
        out.write(lines[row] + (b",\n" if line.endswith(b",\n") else b"\n"))
    return places if (place, len(places)) == (rows, len(lines)) else None


def amend_status(
    old: IO[bytes], out: IO[bytes], header: bytes | None, lines: Mapping[int, bytes], rows: int
) -> bool:
    """Copy a status sheet of so many `rows` with new `lines`, by their places; return whether so.

    `header` is what theirs would be (None: there are none): it has to be that of the sheet.
    """
    records = _records(old)
    there = next(records, b"")
    if header not in (None, there):
        return False
    out.write(there)
    count = 0
    for place, record in enumerate(records):
        out.write(lines.get(place, record))
        count += 1
    return count == rows


def _records(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a CSV, of which some may have line ends in their cells."""
    record = b""
    for line in file:
        record = record + line if record else line
        if record.endswith(_END) and not record.count(b'"') % 2:
            yield record
            record = b""
    if record:
        yield record
