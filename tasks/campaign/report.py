"""What is said at the end of a run: its outcome, the manifest and the status sheet.

The manifest is exact and for machines; the status sheet is the input with `cs_` columns beside
it, safe to open in a spreadsheet. Both are in the store, where the films are.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from tasks.campaign.values import RunOutcome
from tasks.credits import as_number
from tasks.errors import CallsheetError
from tasks.ledger import (
    NEEDS_PERSON,
    UNDER_WAY,
    Campaign,
    CampaignRow,
    RowFilm,
    State,
    cells_of,
    films_of,
    rows_of,
    tally_of,
)
from tasks.ledger.figures import NAMES, Figures, figures_of
from tasks.spreadsheet import write_csv

if TYPE_CHECKING:
    # Whoever reads rows need not pay for the service's client.
    from tasks.engine.context import Context
    from tasks.engine.engine import Engine

log = logging.getLogger("callsheet.campaign")


async def outcome_of(
    at: Context,
    campaign: Campaign,
    rows: Sequence[CampaignRow],
    engine: Engine | None,
    *,
    charged_before: Decimal,
) -> RunOutcome:
    """Return how a run ended for the rows it was asked to do.

    `charged_before` is what the campaign had been charged when the run began.
    """
    tally = await at.ledger.read(partial(tally_of, campaign=campaign))
    parked = engine.parked_until if engine else None
    words = engine.parked_because if engine else None
    return RunOutcome(
        campaign=campaign.name,
        tally=tally,
        charged_this_run=tally.charged - charged_before,
        exit_status=exit_status(rows),
        parked_until=parked,
        words=words,
    )


def unreported(outcome: RunOutcome, error: CallsheetError) -> RunOutcome:
    """Return an outcome whose manifest could not be written: a run that is not done yet."""
    words = f"manifest and status sheet could not be written: {error}"
    log.warning("%s", words)
    return replace(outcome, exit_status=outcome.exit_status or 5, words=outcome.words or words)


def exit_status(rows: Sequence[CampaignRow]) -> int:
    """Return 5 when rows can go on by themselves later, 3 when some need a person, else 0.

    A row that is quoted at the end of a run has become dearer since its approval.
    """
    wanted = [row for row in rows if row.enabled]
    if any(row.state in UNDER_WAY or row.state == "approved" for row in wanted):
        return 5
    return 3 if any(row.state in NEEDS_PERSON or row.state == "quoted" for row in wanted) else 0


async def write_report(at: Context, campaign: Campaign) -> None:
    """Put `manifest.json` and `status.csv` into the campaign's folder of the store."""
    rows, lines = await write_manifest(at, campaign)
    cells = await at.ledger.read(partial(cells_of, campaign_id=campaign.id))
    sheet = await asyncio.to_thread(status_sheet, rows, lines, cells)
    await at.store.replace(f"{campaign.name}/status.csv", sheet, content_type="text/csv")


async def write_manifest(
    at: Context, campaign: Campaign
) -> tuple[list[CampaignRow], list[dict[str, Any]]]:
    """Put `manifest.json` into the campaign's folder of the store; return its rows and lines.

    It says enough to rebuild a lost ledger from (`recovery`), so it is written before the first
    paid request of a run as well as at the end.
    """
    from tasks.campaign import manifest

    rows = await at.ledger.read(partial(rows_of, campaign_id=campaign.id))
    tally = await at.ledger.read(partial(tally_of, campaign=campaign))
    show = await at.ledger.read(partial(row_documents, campaign_id=campaign.id))
    lines = [show(row) for row in rows]
    document = manifest.Manifest.model_validate(
        {
            "format": manifest.FORMAT,
            "campaign": campaign.name,
            "sandbox": campaign.sandbox,
            "sheet": {"address": campaign.sheet, "sha256": campaign.sheet_digest},
            "made_at": datetime.fromtimestamp(at.clock(), UTC).replace(microsecond=0),
            "credits": tally.credits_as_json(),
            "counts": tally.as_json(),
            "rows": [{**line, **_identity(row)} for row, line in zip(rows, lines, strict=True)],
        }
    )
    await at.store.replace(
        f"{campaign.name}/{manifest.NAME}", document.as_bytes(), content_type="application/json"
    )
    return rows, lines


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
    connection: Connection, campaign_id: int, *, states: Collection[State] | None = None
) -> Callable[[CampaignRow], dict[str, Any]]:
    """Return what says of a row of the campaign (in `states`) how it stands: `row_document`."""
    figures = figures_of(connection, campaign_id, states=states)
    films = films_of(connection, campaign_id, states=states)
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
    records: list[dict[str, Any]] = []
    for row, line in zip(rows, lines, strict=True):
        files = {file["kind"]: file for file in line["deliveries"]}
        film = files.get("mp4", {})
        records.append(
            {
                **dict(cells.get(row.id, ())),
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
        )
    columns = list(dict.fromkeys(name for record in records for name in record))
    out = io.StringIO(newline="")
    write_csv(out, columns, records)
    return out.getvalue().encode()
