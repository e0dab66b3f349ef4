"""`callsheet review`: keep or reject the video of a row, or of many, with a reason."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from callsheet.deployments.at import At
from callsheet.deployments.commands.reading import campaign_and_words, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.aftercare import review as changes
from callsheet.tasks.aftercare.explain import service_of
from callsheet.tasks.aftercare.guests import check_sees, shown_to, side_of, within
from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.campaign.selection import rows_asked
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.reviews import (
    VERDICTS,
    Review,
    Reviewed,
    ReviewStands,
    Verdict,
    review_of,
)
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import video_of_take
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.answers import Moment

Reason = Annotated[
    str | None, Field(max_length=40, description="why, in a few words: picture, voice")
]
Note = Annotated[str | None, Field(max_length=2000)]
Take = Annotated[
    int | None, Field(ge=1, le=2**31 - 1, description="the take that was shown; else the newest")
]
InsteadOf = Annotated[
    Verdict | None, Field(description="the verdict that stands, which this one replaces")
]

UNDO = "undo"
_DONE = {"keep": "kept", "reject": "rejected"}
#: What `--json` tells of each row.
_MEMBERS = ("row", "video_take", "review", "review_reason", "review_note", "reviewed_by")


class TakeReview(BaseModel):
    """What someone said of the video of a take."""

    model_config = ConfigDict(from_attributes=True)

    verdict: Verdict
    reason: str | None
    note: str | None
    by: str
    at: Moment


class ReviewAnswer(BaseModel):
    """What stands of a take now; the members of `review` again, null where nothing stands."""

    row: str
    take: int
    verdict: Verdict | None
    reason: str | None
    note: str | None
    by: str | None
    review: TakeReview | None


async def review_row(
    at: At,
    campaign: str,
    row: str,
    verdict: Annotated[Verdict | None, Field(description="null takes `instead_of` back")],
    take: Take = None,
    reason: Reason = None,
    note: Note = None,
    instead_of: InsteadOf = None,
) -> ReviewAnswer:
    """Keep or reject the video of a take; 409 says who decided differently before."""
    said = await decide(
        at, campaign, row, verdict, take=take, reason=reason, note=note, instead_of=instead_of
    )
    if take is None:
        known = await at.campaign(campaign)
        (found,) = await at.read(rows_asked, campaign=known, named=[row], select=None)
        document = await at.read(row_documents, campaign_id=known.id, numbers=[found.id])
        take = document(found)["video_take"]
    line = TakeReview.model_validate(said) if said else None
    stands = {name: getattr(line, name, None) for name in ("verdict", "reason", "note", "by")}
    return ReviewAnswer(row=row, take=take or 0, **stands, review=line)


async def decide(
    at: At,
    campaign: str,
    row: str,
    verdict: Verdict | None,
    *,
    take: int | None = None,
    reason: str | None = None,
    note: str | None = None,
    instead_of: Verdict | None = None,
) -> Review | None:
    """Decide on the video of a take, by its number in its row; return what stands.

    A verdict of None takes back the one that `instead_of` names. The same verdict again may add a
    reason or a note; None leaves what there is. A guest decides for the client. Raises ReviewStands
    where someone of the same side decided otherwise, BadInput where there is no such video.
    """
    assert at.person is not None
    known, side = await at.campaign(campaign), side_of(at.person)
    await at.read(check_sees, person=at.person, campaign=known, row=row, take=take)
    number = await at.read(video_of_take, campaign_id=known.id, row=row, take=take)
    standing = None if number is None else await at.read(review_of, take_id=number, side=side)
    guest = at.person.guest
    if standing is not None and guest is not None and not guest.wrote(standing.by):
        # A guest does not see the words of others, and takes none of them away.
        reason, note = reason or None, note or None
        instead_of = None if instead_of == verdict else instead_of
    change = partial(changes.review_row, campaign=known, row=row, verdict=verdict, take=take)
    change = partial(change, reason=reason, note=note, by=at.by, at=at.clock(), side=side)
    try:
        return shown_to(at.person, await at.write(change, instead_of=instead_of))
    except ReviewStands as stands:
        raise ReviewStands(row, stands.take, shown_to(at.person, stands.standing)) from stands


async def decide_all(
    at: At,
    campaign: str,
    which: RowFilter | Sequence[str],
    verdict: Verdict,
    *,
    reason: str | None = None,
    note: str | None = None,
    until: float | None = None,
) -> Reviewed:
    """Decide on the videos of rows by their ids or a filter; what someone decided on stays.

    `until` is when the person was shown them (Unix seconds): videos that came later, which no one
    has looked at, are left out. Raises BadInput for a filter that lets every row through.
    """
    if isinstance(which, RowFilter):
        if which.is_empty:
            raise BadInput(
                "this would decide on every video of the campaign",
                remedy="choose the undecided ones, or name rows",
            )
        if until is not None:
            which &= RowFilter.of(until=repr(until))
        which = within(at.who, which)
    change = partial(changes.review_rows, campaign=await at.campaign(campaign), which=which)
    change = partial(change, verdict=verdict, reason=reason, note=note, side=side_of(at.who))
    return await at.write(change, by=at.by, at=at.clock())


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
    async with reading(args) as at:
        if args.by:
            at = replace(at, person=Person(id=0, name=args.by, role="admin"))
        campaign, named = await campaign_and_words(args, at)
        if not named and args.select is None:
            again = suggest("review", campaign.name, "ROW", word)
            raise BadInput("name the row", remedy=f"name it: `{again}`")
        rows = await at.read(rows_asked, campaign=campaign, named=named, select=args.select)
        several = bool(args.select) or len(named) > 1
        if several and (verdict is None or args.take or args.instead_of):
            raise BadInput("undo, --take and --instead-of are about one row; name one alone")
        names = [row.row for row in rows]
        said: dict[str, Any] = {"reason": args.because, "note": args.note}
        counts: dict[str, int] = {}
        if several and verdict is not None:
            done = await decide_all(at, campaign.name, names, verdict, **said)
            words, counts = _say_many(done, verdict), asdict(done)
        else:
            words = await _decide_on_one(args, at, campaign.name, names[0], verdict, said)
        numbers = [row.id for row in rows]
        document = await at.read(row_documents, campaign_id=campaign.id, numbers=numbers)
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
    args: Namespace,
    at: At,
    campaign: str,
    row: str,
    verdict: Verdict | None,
    said: dict[str, Any],
) -> str:
    instead_of = args.instead_of
    if verdict is None:
        instead_of = instead_of or await _verdict_of(at, campaign, row, args.take)
    deciding = partial(decide, at, campaign, row, verdict, take=args.take, **said)
    try:
        stands = await deciding(instead_of=instead_of)
    except ReviewStands as error:
        if error.standing is not None:
            more = (verdict or UNDO, "--instead-of", error.standing.verdict)
            again = suggest("review", campaign, row, *more)
            error.remedy = f"`{again}` replaces that, with --because and --note as you like"
        raise
    return f"{row} is {stands.words}" if stands else f"{row} is not reviewed now"


async def _verdict_of(at: At, campaign: str, row: str, take: int | None) -> Verdict | None:
    """Return the verdict that stands, which someone takes back."""
    known = await at.campaign(campaign)
    take_id = await at.read(video_of_take, campaign_id=known.id, row=row, take=take)
    stands = await at.read(review_of, take_id=take_id) if take_id else None
    return stands.verdict if stands else None


def _say_many(done: Reviewed, verdict: Verdict) -> str:
    words = f"{count(done.made, 'video')} {_DONE[verdict]} now"
    if done.same:
        words += f", {done.same} before"
    if done.stood:
        words += f"; {done.stood} keep another person's verdict: name them one by one"
    return words


def _say_retake(args: Namespace, campaign: Campaign, row: str, console: Console) -> None:
    """Say how a video that was rejected is made again."""
    if not (args.because or args.note):
        console.print("--because and --note say what to change in the brief")
    again = suggest("retake", campaign.name, row, *service_of(campaign))
    console.print(f"`{plain(again)}` makes another, at a price that is asked about")
