"""`callsheet resolve`: a person settles a paid call whose outcome no one knows."""

from __future__ import annotations

import time
from argparse import Namespace
from functools import partial
from typing import Any

from callsheet.deployments.commands.options import budget_of, sandbox_for, settings_of
from callsheet.deployments.commands.reading import campaign_of, no_row, reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, say_moment, table
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import PaidCall, resolve_call, unsettled_calls
from callsheet.tasks.ledger.takes import adopt_video, give_up
from callsheet.tasks.ledger.values import CampaignRow, Take, rows_of
from callsheet.tasks.ledger.webhook_events import tracked_videos
from callsheet.tasks.runtime.errors import BadInput, NotFound
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import in_credits


def main(args: Namespace) -> int:
    """List what is unsettled, or settle one row or call; nothing is sent that could be charged."""
    if args.row is None:
        # One word alone is the row, in the newest campaign.
        args.campaign, args.row = None, args.campaign
    chosen = [word for word in ("adopt", "resend", "abandon") if getattr(args, word)]
    named = args.row is not None or args.call is not None
    if not chosen and not named:
        return run_command(_list(args))
    if len(chosen) != 1 or not named:
        raise BadInput(
            "say which row, and one of --adopt ID, --resend and --abandon",
            remedy="`callsheet resolve` alone lists what is unsettled",
        )
    with sandbox_for(args):
        settle = _resolve_row if args.call is None else _resolve_call
        document = run_command(settle(args))
    console_for(args).print(plain(document["words"]))
    if args.json:
        print_json({**document, "exit": 0})
    return 0


async def _list(args: Namespace) -> int:
    async with reading(args) as ledger:
        found = await ledger.read(unsettled_calls)
    made = table("Paid calls without a key that are not settled", _COLUMNS, numbers=("call",))
    for call in found:
        made.add_row(*(plain(cell) for cell in _cells(call)))
    console_for(args).print(made if found else "every paid call is settled")
    if args.json:
        documents = [dict(zip(_COLUMNS, _cells(call), strict=True)) for call in found]
        print_json({"unsettled": documents, "exit": 0})
    return 0


async def _resolve_row(args: Namespace) -> dict[str, Any]:
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
        row = next(iter(await ledger.read(rows_of, campaign_id=campaign.id, row=args.row)), None)
        if row is None:
            raise no_row(campaign, args.row)
        if row.state != "uncertain" or row.take is None:
            raise BadInput(
                f"{row.row} is {row.state}, and only an uncertain row is resolved",
                remedy=f"`{suggest('explain', campaign.name, row.row)}` says what it waits for",
            )
        if args.adopt:
            sandbox = args.sandbox or settings_of(args).sandbox
            check_same_money(campaign, sandbox=sandbox)
            words = await _adopt(args, ledger, row, row.take)
        else:
            words = await _give_up(args, ledger, row, row.take)
    return {"campaign": campaign.name, "row": row.row, "words": words}


async def _adopt(args: Namespace, ledger: Ledger, row: CampaignRow, take: Take) -> str:
    await _check_video(args, ledger, args.adopt)
    change = partial(adopt_video, row=row, take=take, video_id=args.adopt, at=time.time())
    if not await ledger.write(change):
        raise _changed(row)
    return f"{row.row} is rendering as {args.adopt}: run the sheet again, its video costs no more"


async def _give_up(args: Namespace, ledger: Ledger, row: CampaignRow, take: Take) -> str:
    # What the take is taken to have cost: what was reserved, unless a person knows.
    amount = budget_of(args, "charged")
    charged = take.reserved if amount is None else amount
    change = partial(give_up, row=row, take=take, charged=charged, again=args.resend)
    if not await ledger.write(change, at=time.time()):
        raise _changed(row)
    spent = f"{in_credits(charged)} counted as spent on it"
    if args.resend:
        return (
            f"{row.row} is planned again; {spent}. The next run makes another take, at a price "
            "that is shown and approved like any other"
        )
    return f"{row.row} is cancelled; {spent}"


def _changed(row: CampaignRow) -> BadInput:
    return BadInput(f"{row.row} changed meanwhile; check it again")


async def _resolve_call(args: Namespace) -> dict[str, Any]:
    if args.resend:
        raise BadInput("a call typed by hand is typed again: settle it with --abandon first")
    async with reading(args) as ledger:
        if args.adopt:
            await _check_video(args, ledger, args.adopt)
        if not await ledger.write(
            resolve_call, call_id=args.call, video_id=args.adopt, at=time.time()
        ):
            raise BadInput(
                f"there is no unsettled call {args.call}",
                remedy="`callsheet resolve` alone lists them",
            )
    words = f"call {args.call} made {args.adopt}" if args.adopt else f"call {args.call} is settled"
    return {"call": args.call, "words": words}


async def _check_video(args: Namespace, ledger: Ledger, video_id: str) -> None:
    """Raise BadInput for a video that another row has, or that the service does not know."""
    for known in await ledger.read(tracked_videos, videos=[video_id]):
        raise BadInput(f"{video_id} belongs to row {known.row} of {known.campaign} already")
    async with await open_service(settings_of(args), ledger, time.time) as service:
        try:
            await service.get(video_id)
        except NotFound as error:
            raise BadInput(f"the service knows no video {video_id}") from error


_COLUMNS = ("call", "operation", "whose", "sent", "what is known")


def _cells(call: PaidCall) -> tuple[str, ...]:
    whose = f"{call.campaign} {call.row}" if call.row else call.target or "typed by hand"
    sent = say_moment(call.opened_at)
    known = "the answer was lost" if call.outcome else "open: under way, or cut off"
    return str(call.id), call.operation, whose, sent, known
