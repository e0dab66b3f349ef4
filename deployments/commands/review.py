"""`callsheet review`: keep or reject the video of a row, or of many, with a reason."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict
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
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count

UNDO = "undo"
_DONE = {"keep": "kept", "reject": "rejected"}
#: What the answer tells of each row.
_MEMBERS = ("row", "video_take", "review", "review_reason", "review_note", "reviewed_by")


def main(args: Namespace) -> int:
    """Decide, and say what stands now."""
    document = run_command(_main(args))
    if args.json:
        print_json(document)
    return 0


async def _main(args: Namespace) -> dict[str, Any]:
    word = _last_word(args)
    #: keep, reject; None takes back what stands.
    verdict = None if word == UNDO else cast(Verdict, word)
    async with reading(args) as ledger:
        campaign, named = await campaign_and_words(args, ledger)
        if not named and args.select is None:
            again = suggest("review", campaign.name, "ROW", word)
            raise BadInput("name the row", remedy=f"name it: `{again}`")
        choosing = partial(rows_asked, campaign=campaign, named=named, select=args.select)
        rows = await ledger.read(choosing)
        several = bool(args.select) or len(named) > 1
        if several and (verdict is None or args.take or args.instead_of):
            raise BadInput("undo, --take and --instead-of are about one row; name one alone")
        names = [row.row for row in rows]
        counts: dict[str, int] = {}
        if several and verdict is not None:
            words, counts = await _decide_on_many(args, ledger, campaign, names, verdict)
        else:
            words = await _decide_on_one(args, ledger, campaign, names[0], verdict)
        numbers = [row.id for row in rows]
        document = await ledger.read(row_documents, campaign_id=campaign.id, numbers=numbers)
    console = console_for(args)
    console.print(plain(words))
    if verdict == "reject":
        _say_retake(args, campaign, "ROW" if several else names[0], console)
    lines = [document(row) for row in rows]
    told = [{name: line[name] for name in _MEMBERS} for line in lines]
    return {"campaign": campaign.name, "rows": told, **counts, "exit": 0}


def _last_word(args: Namespace) -> str:
    """Take the verdict from behind the words that name rows; raise BadInput for none."""
    *words, verdict = args.words or [""]
    if verdict not in (*VERDICTS, UNDO):
        raise BadInput(
            "say keep, reject or undo behind the row",
            remedy="such as `callsheet review CAMPAIGN ROW reject`",
        )
    args.words = words
    return str(verdict)


async def _decide_on_one(
    args: Namespace, ledger: Ledger, campaign: Campaign, row: str, verdict: Verdict | None
) -> str:
    instead_of = args.instead_of
    if verdict is None:
        instead_of = instead_of or await _verdict_of(args, ledger, campaign, row)
    change = _said(args, review_row, campaign=campaign, row=row, take=args.take)
    try:
        stands: Review | None = await ledger.write(change, verdict=verdict, instead_of=instead_of)
    except ReviewStands as error:
        if error.standing is not None:
            more = (verdict or UNDO, "--instead-of", error.standing.verdict)
            again = suggest("review", campaign.name, row, *more)
            error.remedy = f"`{again}` replaces that, with --because and --note as you like"
        raise
    return f"{row} is {stands.words}" if stands else f"{row} is not reviewed now"


async def _verdict_of(
    args: Namespace, ledger: Ledger, campaign: Campaign, row: str
) -> Verdict | None:
    """Return the verdict that stands, which someone takes back."""
    find = partial(video_of_take, campaign_id=campaign.id, row=row, take=args.take)
    take_id = await ledger.read(find)
    stands = await ledger.read(review_of, take_id=take_id) if take_id else None
    return stands.verdict if stands else None


async def _decide_on_many(
    args: Namespace, ledger: Ledger, campaign: Campaign, names: Sequence[str], verdict: Verdict
) -> tuple[str, dict[str, int]]:
    change = _said(args, review_rows, campaign=campaign, which=names)
    done: Reviewed = await ledger.write(change, verdict=verdict)
    words = f"{count(done.made, 'video')} {_DONE[verdict]} now"
    if done.same:
        words += f", {done.same} before"
    if done.stood:
        words += f"; {done.stood} keep another person's verdict: name them one by one"
    return words, asdict(done)


def _said(args: Namespace, change: Callable[..., Any], **about: Any) -> Callable[..., Any]:
    by = args.by or user_name()
    return partial(change, reason=args.because, note=args.note, by=by, at=time.time(), **about)


def _say_retake(args: Namespace, campaign: Campaign, row: str, console: Console) -> None:
    """Say how a video that was rejected is made again."""
    if not (args.because or args.note):
        console.print("--because and --note say what to change in the brief")
    again = suggest("retake", campaign.name, row)
    console.print(f"`{plain(again)}` makes another, at a price that is asked about")
