"""`callsheet resolve`: a person settles a paid call whose outcome no one knows."""

from __future__ import annotations

from argparse import Namespace
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, Field
from rich.console import Console

from callsheet.deployments.at import At, no_row
from callsheet.deployments.commands.options import budget_of, sandbox_for
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import plain, say_moment, table, tell
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.ledger.decisions import adopt_video, give_up
from callsheet.tasks.ledger.service_state import PaidCall, resolve_call, unsettled_calls
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.ledger.webhook_events import tracked_videos
from callsheet.tasks.runtime.errors import BadInput, NotFound, WrongState
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import in_credits

Video = Annotated[
    str | None, Field(min_length=1, max_length=200, description="the call made this video")
]
Abandon = Annotated[bool, Field(description="give up this take and cancel the row")]
_COLUMNS = ("call", "operation", "whose", "sent", "what is known")


class Resolved(BaseModel):
    """What was settled, in words."""

    campaign: str
    row: str
    words: str
    exit: int = 0


class ResolvedCall(BaseModel):
    """Which call was settled, in words."""

    call: int
    words: str
    exit: int = 0


class UnsettledCalls(BaseModel):
    """Paid calls without a key whose outcome no one knows."""

    unsettled: list[dict[str, str]]
    exit: int = 0


async def list_unsettled_calls(at: At) -> UnsettledCalls:
    """List paid calls without a key that are not settled."""
    found = [_cells(call) for call in await at.read(unsettled_calls)]
    return UnsettledCalls(unsettled=[dict(zip(_COLUMNS, one, strict=True)) for one in found])


async def resolve_row(
    at: At,
    campaign: str | None,
    row: str,
    adopt: Video = None,
    resend: Annotated[bool, Field(description="give up this take and make a new one")] = False,
    abandon: Abandon = False,
    charged: Annotated[
        Decimal | None, Field(ge=0, le=10**9, description="credits it cost; all reserved if null")
    ] = None,
) -> Resolved:
    """Settle an uncertain row in one of three ways; giving up counts its take as paid for."""
    _check_one(adopt is not None, resend, abandon)
    known = await at.campaign(campaign)
    found = next(iter(await at.read(rows_of, campaign_id=known.id, row=row)), None)
    if found is None:
        raise no_row(known, row)
    if found.state != "uncertain" or found.take is None:
        raise WrongState(
            f"{row} is {found.state}, and only an uncertain row is resolved",
            remedy=f"`{suggest('explain', known.name, row)}` says what it waits for",
        )
    take, now = found.take, at.clock()
    if adopt is not None:
        check_same_money(known, sandbox=at.sandbox)
        await _check_video(at, adopt)
        done = await at.write(adopt_video, row=found, take=take, video_id=adopt, at=now)
        words = f"{row} is rendering as {adopt}: run the sheet again, its video costs no more"
    else:
        # What the take is taken to have cost: what was reserved, unless a person knows.
        cost = take.reserved if charged is None else charged
        done = await at.write(give_up, row=found, take=take, charged=cost, again=resend, at=now)
        words = _given_up(row, cost, resend=resend)
    if not done:
        raise WrongState(f"{row} changed meanwhile; check it again")
    return Resolved(campaign=known.name, row=row, words=words)


def _given_up(row: str, cost: Decimal, *, resend: bool) -> str:
    spent = f"{in_credits(cost)} counted as spent on it"
    if not resend:
        return f"{row} is cancelled; {spent}"
    return (
        f"{row} is planned again; {spent}. The next run makes another take, at a price "
        "that is shown and approved like any other"
    )


async def resolve_paid_call(
    at: At, call: int, adopt: Video = None, abandon: Abandon = False
) -> ResolvedCall:
    """Settle a call that was typed by hand: it made a video, or nobody looks for it any more."""
    _check_one(adopt is not None, abandon)
    if adopt is not None:
        await _check_video(at, adopt)
    if not await at.write(resolve_call, call_id=call, video_id=adopt, at=at.clock()):
        raise BadInput(
            f"there is no unsettled call {call}", remedy="`callsheet resolve` alone lists them"
        )
    words = f"call {call} made {adopt}" if adopt else f"call {call} is settled"
    return ResolvedCall(call=call, words=words)


def _check_one(*said: bool) -> None:
    """Raise BadInput unless exactly one way of settling is said: each of them is about money."""
    if sum(said) != 1:
        raise BadInput("say one of adopt (the video), resend and abandon; nothing was changed")


async def _check_video(at: At, video_id: str) -> None:
    """Raise BadInput for a video that another row has, or that the service does not know."""
    for known in await at.read(tracked_videos, videos=[video_id]):
        raise BadInput(f"{video_id} belongs to row {known.row} of {known.campaign} already")
    async with at.service() as service:
        try:
            await service.get(video_id)
        except NotFound as error:
            raise BadInput(f"the service knows no video {video_id}") from error


def _cells(call: PaidCall) -> tuple[str, ...]:
    whose = f"{call.campaign} {call.row}" if call.row else call.target or "typed by hand"
    known = "the answer was lost" if call.outcome else "open: under way, or cut off"
    return str(call.id), call.operation, whose, say_moment(call.opened_at), known


def main(args: Namespace) -> int:
    """List what is unsettled, or settle one row or call; nothing is sent that could be charged."""
    if args.row is None:
        # One word alone is the row, in the newest campaign.
        args.campaign, args.row = None, args.campaign
    chosen = [word for word in ("adopt", "resend", "abandon") if getattr(args, word)]
    named = args.row is not None or args.call is not None
    if not chosen and not named:
        return tell(args, run_command(_list(args)), _show_calls)
    if len(chosen) != 1 or not named:
        raise BadInput(
            "say which row, and one of --adopt ID, --resend and --abandon",
            remedy="`callsheet resolve` alone lists what is unsettled",
        )
    if args.call is not None and args.resend:
        raise BadInput("a call typed by hand is typed again: settle it with --abandon first")
    with sandbox_for(args):
        return tell(args, run_command(_settle(args)), _show)


async def _list(args: Namespace) -> UnsettledCalls:
    async with reading(args) as at:
        return await list_unsettled_calls(at)


async def _settle(args: Namespace) -> Resolved | ResolvedCall:
    async with reading(args) as at:
        if args.call is not None:
            return await resolve_paid_call(at, args.call, args.adopt, args.abandon)
        charged = budget_of(args, "charged")
        ways = (args.adopt, args.resend, args.abandon)
        return await resolve_row(at, args.campaign, args.row, *ways, charged)


def _show(done: Resolved | ResolvedCall, console: Console) -> None:
    console.print(plain(done.words))


def _show_calls(found: UnsettledCalls, console: Console) -> None:
    made = table("Paid calls without a key that are not settled", _COLUMNS, numbers=("call",))
    for call in found.unsettled:
        made.add_row(*(plain(cell) for cell in call.values()))
    console.print(made if found.unsettled else "every paid call is settled")
