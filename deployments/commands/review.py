"""`callsheet review`: keep or reject the video of a row, or of many, with a reason."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from rich.console import Console

from callsheet.deployments.commands.reading import campaign_and_words, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, user_name
from callsheet.tasks.aftercare.review import review_row, review_rows
from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.campaign.selection import rows_asked
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.reviews import (
    VERDICTS,
    Review,
    Reviewed,
    ReviewStands,
    Verdict,
    review_of,
)
from callsheet.tasks.ledger.row_pages import video_of_take
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count

UNDO = "undo"
_DONE = {"keep": "kept", "reject": "rejected"}


@dataclass(frozen=True)
class ToReview:
    """The rows that someone decides on; one that is named, or many."""

    campaign: Campaign
    rows: Sequence[CampaignRow]
    several: bool
    #: keep, reject; None takes back what stands.
    verdict: Verdict | None


def main(args: Namespace) -> int:
    """Decide, and say what stands now."""
    document = run_command(_main(args))
    if args.json:
        print_json(document)
    return 0


async def _main(args: Namespace) -> dict[str, Any]:
    console = console_for(args)
    async with reading(args) as ledger:
        wanted = await _wanted(args, ledger)
        decide = _decide_on_many if wanted.several else _decide_on_one
        words, counts = await decide(args, ledger, wanted)
        numbers = [row.id for row in wanted.rows]
        document = await ledger.read(row_documents, campaign_id=wanted.campaign.id, numbers=numbers)
    _tell(args, wanted, words, console)
    members = ("row", "video_take", "review", "review_reason", "review_note", "reviewed_by")
    lines = [document(row) for row in wanted.rows]
    return {
        "campaign": wanted.campaign.name,
        "rows": [{name: line[name] for name in members} for line in lines],
        **counts,
        "exit": 0,
    }


async def _wanted(args: Namespace, ledger: Ledger) -> ToReview:
    verdict = args.words[-1] if args.words else None
    if verdict not in (*VERDICTS, UNDO):
        raise BadInput(
            "say keep, reject or undo behind the row",
            remedy="such as `callsheet review CAMPAIGN ROW reject`",
        )
    args.words = args.words[:-1]
    campaign, named = await campaign_and_words(args, ledger)
    if not named and args.select is None:
        raise BadInput(
            "name the row", remedy=f"name it: `{suggest('review', campaign.name, 'ROW', verdict)}`"
        )
    choosing = partial(rows_asked, campaign=campaign, named=named, select=args.select)
    rows = await ledger.read(choosing)
    several = bool(args.select) or len(named) > 1
    if several and (verdict == UNDO or args.take or args.instead_of):
        raise BadInput("undo, --take and --instead-of are about one row; name one alone")
    said = None if verdict == UNDO else cast(Verdict, verdict)
    return ToReview(campaign, rows, several=several, verdict=said)


async def _decide_on_one(
    args: Namespace, ledger: Ledger, wanted: ToReview
) -> tuple[str, dict[str, int]]:
    campaign, row = wanted.campaign, wanted.rows[0].row
    instead_of = args.instead_of
    if wanted.verdict is None:
        instead_of = instead_of or await _verdict_of(args, ledger, wanted)
    change = _said(args, review_row, campaign=campaign, row=row, take=args.take)
    try:
        stands: Review | None = await ledger.write(
            change, verdict=wanted.verdict, instead_of=instead_of
        )
    except ReviewStands as error:
        if error.standing is not None:
            more = (wanted.verdict or UNDO, "--instead-of", error.standing.verdict)
            again = suggest("review", campaign.name, row, *more)
            error.remedy = f"`{again}` replaces that, with --because and --note as you like"
        raise
    words = f"{row} is {stands.words}" if stands else f"{row} is not reviewed now"
    return words, {}


async def _verdict_of(args: Namespace, ledger: Ledger, wanted: ToReview) -> Verdict | None:
    """Return the verdict that stands, which someone takes back."""
    find = partial(video_of_take, campaign_id=wanted.campaign.id, row=wanted.rows[0].row)
    take_id = await ledger.read(find, take=args.take)
    stands = await ledger.read(review_of, take_id=take_id) if take_id else None
    return stands.verdict if stands else None


async def _decide_on_many(
    args: Namespace, ledger: Ledger, wanted: ToReview
) -> tuple[str, dict[str, int]]:
    names = [row.row for row in wanted.rows]
    change = _said(args, review_rows, campaign=wanted.campaign, which=names)
    done: Reviewed = await ledger.write(change, verdict=wanted.verdict)
    said = _DONE[wanted.verdict or ""]
    words = f"{count(done.made, 'video')} {said} now"
    if done.same:
        words += f", {done.same} before"
    if done.stood:
        words += f"; {done.stood} keep another person's verdict: name them one by one"
    return words, {"made": done.made, "same": done.same, "stood": done.stood}


def _said(args: Namespace, change: Callable[..., Any], **about: Any) -> Callable[..., Any]:
    by = args.by or user_name()
    return partial(change, reason=args.because, note=args.note, by=by, at=time.time(), **about)


def _tell(args: Namespace, wanted: ToReview, words: str, console: Console) -> None:
    console.print(plain(words))
    if wanted.verdict == "reject":
        if not (args.because or args.note):
            console.print("--because and --note say what to change in the brief")
        named = [row.row for row in wanted.rows] if not wanted.several else []
        again = suggest("retake", wanted.campaign.name, *(named or ["ROW"]))
        console.print(f"`{plain(again)}` makes another, at a price that is asked about")
