"""What is said at the end of a run: its outcome, and how each row stands.

A row is said in three ways: as JSON for programs, as a line of the manifest, and as a line of the
status sheet, which is the input with `cs_` columns beside it. How their files come into the store
is in `report_files`.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.credits import as_number
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger import (
    NEEDS_PERSON,
    UNDER_WAY,
    Campaign,
    CampaignRow,
    RowVideo,
    State,
    tally_of,
    videos_of,
)
from callsheet.tasks.ledger.figures import NAMES, Figures, figures_of
from callsheet.tasks.spreadsheet import write_csv

if TYPE_CHECKING:
    # Whoever reads rows need not pay for the service's client.
    from callsheet.tasks.campaign.crews import Crews
    from callsheet.tasks.engine.context import Context
    from callsheet.tasks.engine.engine import Engine

log = logging.getLogger("callsheet.campaign")


async def outcome_of(
    at: Context,
    campaign: Campaign,
    states: Collection[State],
    engine: Engine | Crews | None,
    *,
    charged_before: Decimal | None,
) -> RunOutcome:
    """Return how a run ended: `states` are those of the rows that it was asked to make.

    `charged_before` is what runs with this ledger had been charged when the run began; None: the
    same.
    """
    tally = await at.ledger.read(partial(tally_of, campaign=campaign))
    parked = engine.parked_until if engine else None
    words = engine.parked_because if engine else None
    return RunOutcome(
        campaign=campaign.name,
        tally=tally,
        charged_this_run=tally.paid_here
        - (tally.paid_here if charged_before is None else charged_before),
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


def manifest_line(
    row: CampaignRow, line: Mapping[str, Any], *, before_sending: bool
) -> dict[str, Any]:
    """Return one line of the manifest: how a row stands (its `row_document`), what its key is made
    of, and when it was, or with `before_sending` is about to be, sent."""
    take = row.take
    stands = take is not None and take.stands
    to_be_sent = before_sending and row.state == "approved"
    other = take is not None and (take.digest, take.nth) != (row.digest, row.nth)
    return {
        **line,
        "operation": row.operation,
        "digest": take.digest if take else row.digest,
        "nth": take.nth if take else row.nth,
        "take_quoted": as_number(take.quoted) if take else None,
        "sent_at": take.intended_at if take and stands else None,
        "to_be_sent": to_be_sent,
        **({"next_digest": row.digest, "next_nth": row.nth} if to_be_sent and other else {}),
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
    videos = videos_of(connection, campaign_id, states=states, numbers=numbers)
    return lambda row: row_document(row, figures.get(row.id, Figures()), videos.get(row.id))


def row_document(row: CampaignRow, figures: Figures, video: RowVideo | None) -> dict[str, Any]:
    """Return one row as JSON: a line of `rows --json` and of the manifest.

    Take, key and video are those of its present take; the figures are those of all its takes, and
    files, `review` and `checks` are of its newest video, which may be one of an earlier take
    (`video_take`).
    """
    take, said = row.take, video.review if video else None
    return {
        "row": row.row,
        "state": row.state,
        "reason": row.reason,
        "take": take.number if take else 0,
        "key": take.key if take and take.keyed else None,
        "video_id": take.video_id if take else None,
        **figures.as_json(),
        "video_take": video.take if video else None,
        "deliveries": [
            {"kind": f.kind, "uri": f.uri, "sha256": f.sha256, "bytes": f.bytes}
            for f in (video.files if video else ())
        ],
        "review": said.verdict if said else None,
        "review_reason": said.reason if said else None,
        "review_note": said.note if said else None,
        "reviewed_by": said.by if said else None,
        "checks": dict(video.checks) if video else {},
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
    video = files.get("mp4", {})
    return {
        **dict(cells),
        "cs_row": row.row,
        "cs_state": row.state,
        "cs_reason": line["reason"],
        "cs_take": line["take"],
        **{f"cs_{name}": line[name] for name in NAMES},
        "cs_video_id": line["video_id"],
        "cs_video_take": line["video_take"],
        "cs_video": video.get("uri"),
        "cs_sha256": video.get("sha256"),
        "cs_bytes": video.get("bytes"),
        "cs_srt": files.get("srt", {}).get("uri"),
        "cs_vtt": files.get("vtt", {}).get("uri"),
        **{f"cs_{name}": line[name] for name in ("review", "review_reason", "review_note")},
        "cs_checks": "; ".join(
            f"{name}: {words}" for name, words in line["checks"].items() if words != "ok"
        ),
    }
