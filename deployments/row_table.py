"""The one table of a campaign's rows: how each stands, what it has cost, where its video is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from callsheet.deployments.listing import ListedLine, show_lines
from callsheet.deployments.terminal import COLOURS
from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.credits import as_text, parse_credits
from callsheet.tasks.ledger import CampaignRow
from callsheet.tasks.plural import count
from callsheet.tasks.suggest import suggest

if TYPE_CHECKING:
    # Whoever shows rows need not pay for what a run is made of.
    from callsheet.tasks.campaign.run import Run

COLUMNS = ("row", "state", "credits", "seconds", "video, or why there is none")
#: Rows that are shown at the end of a run; the others are counted.
SHOWN = 30
#: What says of a row how it stands: `tasks.campaign.report.row_document` as JSON.
Document = Callable[[CampaignRow], Mapping[str, Any]]


def show_rows(
    title: str,
    rows: Sequence[CampaignRow],
    document: Document,
    console: Console,
    *,
    more: int = 0,
    rest: str = "",
) -> None:
    """Show a line for every row; `more` rows are not among them, and `rest` says where they are."""
    lines = [_line(row, document(row)) for row in rows]
    folder = _shared_folder(lines, console)
    lines = [_below(folder, line) for line in lines]
    console.print(Text(title, style="italic"))
    show_lines(console, COLUMNS, lines, numbers=("credits", "seconds"))
    if any("(" in line.cells[2] for line in lines):
        console.print("(in brackets: reserved, not charged)")
    if folder:
        console.print(Text(f"videos are in {folder}"), soft_wrap=True)
    if more:
        console.print(f"... and {count(more, 'more row', 'more rows')}: {rest}")
    console.print()


async def show_urgent_rows(run: Run, console: Console) -> None:
    """Show the rows that matter most at the end of a run, and say where the rest are."""
    assert run.campaign is not None
    campaign = run.campaign
    rows, count = await run.urgent(SHOWN)
    numbers = [row.id for row in rows]
    stand = partial(row_documents, campaign_id=campaign.id, numbers=numbers)
    document = await run.at.ledger.read(stand)
    rest = f"`{suggest('rows', campaign.name)}` shows all"
    show_rows(campaign.name, rows, document, console, more=count - len(rows), rest=rest)


def _shared_folder(lines: Sequence[ListedLine], console: Console) -> str:
    """Return the folder of all videos, with its slash, where their paths are too long to show."""
    paths = [line.path for line in lines if line.path is not None]
    if not console.is_terminal or max(map(cell_len, paths), default=0) <= console.width - 4:
        return ""
    # Cut back to a slash; `commonpath` would make one of the two in s3:// .
    return commonprefix(paths).rpartition("/")[0] + "/" if len(paths) > 1 else ""  # noqa: RUF071


def _below(folder: str, line: ListedLine) -> ListedLine:
    if not folder or line.path is None:
        return line
    return replace(line, path=line.path.removeprefix(folder), folder=folder)


def _line(row: CampaignRow, document: Mapping[str, Any]) -> ListedLine:
    video = next((f["uri"] for f in document["deliveries"] if f["kind"] == "mp4"), None)
    if video is not None:
        # Below the current folder, as people would type it.
        video = str(video).removeprefix(f"{Path.cwd()}/")
    words = row.reason or ""
    if row.state == "delivered" and video:
        words = ""
    elif video:
        words = "; ".join(
            filter(None, (words, f"the video of take {document['video_take']} stays"))
        )
    colour = COLOURS.get(row.state)
    return ListedLine(
        (row.row, row.state, _credits(document), _seconds(row)),
        words or ("" if video else "-"),
        video,
        ((1, colour),) if colour else (),
    )


def _credits(document: Mapping[str, Any]) -> str:
    """Return what the row has cost over all its takes, and what is set aside for it."""
    charged, reserved = document["charged"], document["reserved"]
    parts = [] if charged is None else [as_text(parse_credits(charged))]
    parts += [f"({as_text(parse_credits(reserved))})"] if reserved else []
    return " ".join(parts) or "-"


def _seconds(row: CampaignRow) -> str:
    """Return how long the present take took, from intent to delivery."""
    take = row.take
    if take is None or take.delivered_at is None:
        return "-"
    return f"{take.delivered_at - take.intended_at:.1f}"
