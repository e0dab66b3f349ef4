"""What is said at the end of a run: its outcome, the manifest and the status sheet.

The manifest is exact and for machines; the status sheet is the input with `cs_` columns beside
it, safe to open in a spreadsheet. Both are in the store, where the films are.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from sqlalchemy import Connection

from tasks.campaign.values import RunOutcome
from tasks.credits import as_number
from tasks.errors import CallsheetError, StoreError, StoreUnusable
from tasks.ledger import (
    NEEDS_PERSON,
    UNDER_WAY,
    Campaign,
    CampaignRow,
    RowFilm,
    State,
    cells_of,
    films_of,
    find_campaign,
    last_event,
    note_report,
    numbers_of,
    pages_of,
    rows_of,
    tally_of,
)
from tasks.ledger.figures import NAMES, Figures, figures_of
from tasks.spreadsheet import csv_writer, write_csv

if TYPE_CHECKING:
    # Whoever reads rows need not pay for the service's client.
    from tasks.engine.context import Context
    from tasks.engine.engine import Engine

log = logging.getLogger("callsheet.campaign")

#: The form of both files: another one is written anew.
REPORT = 1
STATUS = "status.csv"


async def outcome_of(
    at: Context,
    campaign: Campaign,
    states: Collection[State],
    engine: Engine | None,
    *,
    charged_before: Decimal | None,
) -> RunOutcome:
    """Return how a run ended: `states` are those of the rows that it was asked to make.

    `charged_before` is what the campaign had been charged when the run began; None: the same.
    """
    tally = await at.ledger.read(partial(tally_of, campaign=campaign))
    parked = engine.parked_until if engine else None
    words = engine.parked_because if engine else None
    return RunOutcome(
        campaign=campaign.name,
        tally=tally,
        charged_this_run=tally.charged
        - (tally.charged if charged_before is None else charged_before),
        exit_status=exit_status(states),
        parked_until=parked,
        words=words,
    )


def unreported(outcome: RunOutcome, error: CallsheetError) -> RunOutcome:
    """Return an outcome whose manifest could not be written: a run that is not done yet."""
    words = f"manifest and status sheet could not be written: {error}"
    log.warning("%s", words)
    return replace(outcome, exit_status=outcome.exit_status or 5, words=outcome.words or words)


def exit_status(states: Collection[State]) -> int:
    """Return 5 when rows can go on by themselves later, 3 when some need a person, else 0.

    A row that is quoted at the end of a run has become dearer since its approval.
    """
    if any(state in UNDER_WAY or state == "approved" for state in states):
        return 5
    return 3 if any(state in NEEDS_PERSON or state == "quoted" for state in states) else 0


async def report_stands(at: Context, campaign: Campaign) -> bool:
    """Whether manifest and status sheet are in the store as they would be written now."""
    if campaign.reported is None:
        return False
    made_of, *written = campaign.reported.split()
    if await at.ledger.read(partial(_made_of, name=campaign.name)) != made_of:
        return False
    try:
        found = [await at.store.head(f"{campaign.name}/{name}") for name in _files()]
    except (StoreError, StoreUnusable):
        return False
    return [file and file.sha256 for file in found] == written


async def write_report(at: Context, campaign: Campaign) -> None:
    """Put `manifest.json` and `status.csv` into the campaign's folder of the store.

    What is there already, made of the same, is left as it is.
    """
    known = await at.ledger.read(partial(find_campaign, name=campaign.name))
    if known is not None and await report_stands(at, known):
        return
    with TemporaryDirectory(prefix="callsheet-report-") as folder:
        files = [Path(folder) / name for name in _files()]
        write = partial(_write_files, at=at, campaign=campaign, files=files)
        made_of = await at.ledger.read(write)
        written = [await _replace(at, campaign, file) for file in files]
    reported = " ".join((made_of, *written))
    await at.ledger.write(partial(note_report, campaign_id=campaign.id, reported=reported))


async def write_manifest(at: Context, campaign: Campaign) -> None:
    """Put `manifest.json` into the campaign's folder of the store.

    It says enough to rebuild a lost ledger from (`recovery`), so it is written before the first
    paid request of a run as well as at the end.
    """
    with TemporaryDirectory(prefix="callsheet-report-") as folder:
        file = Path(folder) / _files()[0]
        write = partial(_write_files, at=at, campaign=campaign, files=[file])
        await at.ledger.read(write)
        await _replace(at, campaign, file)


def _files() -> tuple[str, str]:
    from tasks.campaign import manifest

    return manifest.NAME, STATUS


async def _replace(at: Context, campaign: Campaign, file: Path) -> str:
    """Put a file into the campaign's folder of the store; return its digest."""
    kind = "text/csv" if file.suffix == ".csv" else "application/json"
    stored = await at.store.replace(f"{campaign.name}/{file.name}", file, content_type=kind)
    return stored.sha256


def _made_of(connection: Connection, name: str) -> str:
    """Return a digest of what a report would be made of now.

    Whatever changes a row on its way leaves an event, or an amount; what a sheet changes beside
    that is noted by `sync_sheet`.
    """
    campaign = find_campaign(connection, name)
    assert campaign is not None
    tally = tally_of(connection, campaign)
    asked = (campaign.sheet, campaign.sheet_digest, campaign.sandbox)
    last = last_event(connection, campaign.id)
    made_of = [REPORT, name, *asked, last, tally.as_json(), tally.credits_as_json()]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()


def _write_files(
    connection: Connection, at: Context, campaign: Campaign, files: Sequence[Path]
) -> str:
    """Write the manifest, and the status sheet where a second file is given; return what of.

    A page of rows is in memory at a time.
    """
    made_of = _made_of(connection, campaign.name)
    head, foot = _frame(connection, at, campaign)
    columns: dict[str, None] = {}
    with ExitStack() as stack:
        texts = [stack.enter_context(open_text(file)) for file in files]
        add: Callable[[Mapping[str, Any]], None] | None = None
        before = head
        for row, line, cells in _lines(connection, campaign.id):
            texts[0].write(f"{before}    {_JSON.encode({**line, **_identity(row)})}")
            before = ",\n"
            if len(files) > 1:
                status = status_line(row, line, cells)
                add = add or csv_writer(texts[1], list(status))
                add(status)
                columns.update(dict.fromkeys(status))
        texts[0].write(before + foot if before == head else foot)
    if len(files) > 1:
        _widen(connection, campaign, files[1], list(columns))
    return made_of


def _widen(connection: Connection, campaign: Campaign, file: Path, columns: list[str]) -> None:
    """Write the status sheet once more where rows have columns that its first one has not."""
    lines = (status_line(*found) for found in _lines(connection, campaign.id))
    first = next(lines, None)
    if first is None or len(first) < len(columns):
        with open_text(file) as out:
            write_csv(out, columns, chain([] if first is None else [first], lines))


def open_text(file: Path) -> IO[str]:
    """Open a file for text whose line ends are written as they are."""
    return file.open("w", encoding="utf-8", newline="")


_JSON = json.JSONEncoder(ensure_ascii=False)


def _frame(connection: Connection, at: Context, campaign: Campaign) -> tuple[str, str]:
    """Return what stands in a manifest before and after its rows."""
    from tasks.campaign import manifest

    tally = tally_of(connection, campaign)
    document = manifest.Manifest.model_validate(
        {
            "format": manifest.FORMAT,
            "campaign": campaign.name,
            "sandbox": campaign.sandbox,
            "sheet": {"address": campaign.sheet, "sha256": campaign.sheet_digest},
            "made_at": datetime.fromtimestamp(at.clock(), UTC).replace(microsecond=0),
            "credits": tally.credits_as_json(),
            "counts": tally.as_json(),
            "rows": [],
        }
    )
    head, _, foot = document.as_bytes().decode().rpartition("[]")
    return f"{head}[\n", f"\n  ]{foot}"


def _lines(
    connection: Connection, campaign_id: int
) -> Iterator[tuple[CampaignRow, dict[str, Any], Sequence[tuple[str, str]]]]:
    """Yield the rows of a campaign in sheet order, how each stands, and its cells."""
    for page in pages_of(numbers_of(connection, campaign_id)):
        show = row_documents(connection, campaign_id, numbers=page)
        cells = cells_of(connection, campaign_id, numbers=page)
        for row in rows_of(connection, campaign_id, numbers=page):
            yield row, show(row), cells.get(row.id, ())


def _identity(row: CampaignRow) -> dict[str, Any]:
    """Return what a row's key is made of, and when it was, or is about to be, sent."""
    take = row.take
    stands = take is not None and take.stands
    return {
        "operation": row.operation,
        "digest": take.digest if take else row.digest,
        "nth": take.nth if take else row.nth,
        "take_quoted": as_number(take.quoted) if take else None,
        "sent_at": take.intended_at if take and stands else None,
        "to_be_sent": row.state == "approved",
    }


def row_documents(
    connection: Connection,
    campaign_id: int,
    *,
    states: Collection[State] | None = None,
    numbers: Sequence[int] | None = None,
) -> Callable[[CampaignRow], dict[str, Any]]:
    """Return what says of a row of the campaign how it stands: `row_document`.

    With `states` or `numbers` only of the rows in these, or of these numbers in the ledger.
    """
    figures = figures_of(connection, campaign_id, states=states, numbers=numbers)
    films = films_of(connection, campaign_id, states=states, numbers=numbers)
    return lambda row: row_document(row, figures.get(row.id, Figures()), films.get(row.id))


def row_document(row: CampaignRow, figures: Figures, film: RowFilm | None) -> dict[str, Any]:
    """Return one row as JSON: a line of `rows --json` and of the manifest.

    Take, key and video are those of its present take; the figures are those of all its takes, and
    the files are of its newest film, which may be one of an earlier take (`film_take`).
    """
    take = row.take
    return {
        "row": row.row,
        "state": row.state,
        "reason": row.reason,
        "take": take.number if take else 0,
        "key": take.key if take and take.keyed else None,
        "video_id": take.video_id if take else None,
        **figures.as_json(),
        "film_take": film.take if film else None,
        "deliveries": [
            {"kind": f.kind, "uri": f.uri, "sha256": f.sha256, "bytes": f.bytes}
            for f in (film.files if film else ())
        ],
    }


def status_sheet(
    rows: Sequence[CampaignRow],
    lines: Sequence[Mapping[str, Any]],
    cells: Mapping[int, Sequence[tuple[str, str]]],
) -> bytes:
    """Return the input columns with `cs_` columns beside them, as CSV for a spreadsheet."""
    records = [
        status_line(row, line, cells.get(row.id, ())) for row, line in zip(rows, lines, strict=True)
    ]
    columns = list(dict.fromkeys(name for record in records for name in record))
    out = io.StringIO(newline="")
    write_csv(out, columns, records)
    return out.getvalue().encode()


def status_line(
    row: CampaignRow, line: Mapping[str, Any], cells: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Return one line of the status sheet: the cells of a row, and how it stands."""
    files = {file["kind"]: file for file in line["deliveries"]}
    film = files.get("mp4", {})
    return {
        **dict(cells),
        "cs_row": row.row,
        "cs_state": row.state,
        "cs_reason": line["reason"],
        "cs_take": line["take"],
        **{f"cs_{name}": line[name] for name in NAMES},
        "cs_video_id": line["video_id"],
        "cs_film_take": line["film_take"],
        "cs_film": film.get("uri"),
        "cs_sha256": film.get("sha256"),
        "cs_bytes": film.get("bytes"),
        "cs_srt": files.get("srt", {}).get("uri"),
        "cs_vtt": files.get("vtt", {}).get("uri"),
    }
