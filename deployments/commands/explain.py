"""`callsheet explain ROW`: everything the ledger knows of one row, and why it is where it is."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from functools import partial

from rich.console import Console

from callsheet.deployments.at import no_row
from callsheet.deployments.commands.reading import reading
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, say_moment, state_text
from callsheet.tasks.aftercare.explain import Explanation, explain, explanation_document
from callsheet.tasks.engine.policy.decision import Rules
from callsheet.tasks.ledger.row_history import ShownEvent
from callsheet.tasks.ledger.row_views import ShownTake
from callsheet.tasks.ledger.service_state import PaidCall
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.redact import redacted
from callsheet.tasks.values.amounts import CreditPrice, as_text, in_credits
from callsheet.tasks.values.briefs import Json

#: Characters of a field of the request that are shown; `--json` has all of it.
SHOWN = 120
#: Characters of a key or a digest that are shown; `-v` and `--json` have all of it.
MARK = 12


def main(args: Namespace) -> int:
    """Show what can be typed, why the row is where it is, its takes and history, then details."""
    found, price = run_command(_read(args))
    console = console_for(args)
    _show_row(found, console, price)
    for one in reversed(found.whole.takes):
        _show_take(found, one, console, price)
    console.print("\nhistory")
    for event in found.whole.events:
        console.print(_event_line(event))
    _show_details(found, console, whole=args.verbose)
    if args.json:
        print_json(redacted(explanation_document(found)))
    return 0


def _event_line(event: ShownEvent) -> str:
    words = plain(event.words or "")
    return f"  {say_moment(event.at)}  {_step(event)}  {words}".rstrip()


def _step(event: ShownEvent) -> str:
    if event.kind in ("review", "client"):
        said = {"keep": "kept", "reject": "rejected"}.get(event.new or "", "undecided")
        return said if event.kind == "review" else f"client: {said}"
    return f"{event.old} -> {event.new}" if event.new else event.kind


async def _read(args: Namespace) -> tuple[Explanation, CreditPrice | None]:
    async with reading(args) as at:
        campaign = await at.campaign(args.campaign)
        rules = Rules.of(at.settings)
        reader = partial(explain, campaign=campaign, row=args.row, now=time.time(), rules=rules)
        if (found := await at.read(reader)) is None:
            raise no_row(campaign, args.row)
        return found, at.settings.credit_price


def _show_row(found: Explanation, console: Console, price: CreditPrice | None) -> None:
    """Show what can be done, why, and what the row asks for."""
    row, campaign, comes = found.row, found.campaign, found.next
    console.print(f"[bold]{plain(row.row)}[/] of {plain(campaign.name)}: {state_text(row.state)}")
    console.print("\nwhat you can do")
    for command in found.commands:
        console.print(f"  {plain(command.line)}  [dim]{plain(command.does)}[/]")
    console.print("\nwhy")
    if row.reason:
        console.print(f"  {plain(row.reason)}")
    console.print(f"  {row.state} since {say_moment(row.since)}")
    if (review := found.whole.shown.review) is not None:
        console.print(f"  take {found.document['video_take']} was {plain(review.words)}")
    console.print(f"  next run, if its line of the sheet is unchanged: {comes.means}")
    if comes.why:
        console.print(f"  because: {plain(comes.why)}")
    if comes.lane:
        console.print(f"  it will {comes.lane_means}")
    console.print(f"\nwhat it asks for, line {row.line} of {plain(campaign.sheet)}")
    console.print(f"  quote {in_credits(row.quoted, price)}{_when(row)}; {_limits(row)}")
    for event in found.quotes[:-1]:
        console.print(f"    earlier, {say_moment(event.at)}: {plain(event.words)}")
    for name, value in sorted(row.asked().items()):
        console.print(f"    {plain(name)}: {plain(_short(value))}")


def _when(row: CampaignRow) -> str:
    return f", asked {say_moment(row.quoted_at)}" if row.quoted_at else ""


def _limits(row: CampaignRow) -> str:
    """Return what the sheet says besides the brief."""
    parts = [
        "enabled" if row.enabled else "switched off",
        f"captions {', '.join(row.captions) or 'none'}",
        f"priority {row.priority}" if row.priority else "",
        f"max_credits {as_text(row.max_credits)}" if row.max_credits is not None else "",
        f"cost center {plain(row.cost_center)}" if row.cost_center else "",
        f"tags {plain(', '.join(row.tags))}" if row.tags else "",
    ]
    return ", ".join(part for part in parts if part)


def _show_take(
    found: Explanation, one: ShownTake, console: Console, price: CreditPrice | None
) -> None:
    take = one.take
    present = "" if found.is_present(take) else " (an earlier one)"
    console.print(f"\ntake {take.number}{present}")
    if not take.nth:
        console.print(f"  told by a manifest: charged {in_credits(take.charged, price)}")
        return
    console.print(
        f"  intended {say_moment(take.intended_at)}, {in_credits(take.quoted, price)} quoted"
    )
    if changed := found.changed_in(take):
        console.print(f"  it asked for something else than the row now: {', '.join(changed)}")
    if take.refused_at:
        console.print(f"  refused {say_moment(take.refused_at)}: nothing was made or charged")
    if take.abandoned_at:
        console.print(f"  given up {say_moment(take.abandoned_at)} by a person")
    if take.accepted_at:
        console.print(f"  accepted {say_moment(take.accepted_at)} as {plain(take.video_id)}")
    if take.deletion:
        console.print(f"  {plain(take.deletion)}")
    if hinted_at := found.hinted.get(take.video_id or ""):
        console.print(f"  a webhook named it {say_moment(hinted_at)}")
    if take.charged is not None:
        console.print(f"  charged {in_credits(take.charged, price)}")
    elif take.reserved:
        console.print(f"  reserved {in_credits(take.reserved, price)}")
    for call in found.calls_of(take):
        console.print(f"  {plain(_call(call))}")
    for event in found.events_of(take):
        if event.words:
            console.print(_event_line(event))
    for file in one.video.files.values():
        console.print(f"  {file.kind} {plain(file.uri)} ({file.bytes} bytes)")


def _show_details(found: Explanation, console: Console, *, whole: bool) -> None:
    """Show keys and digests, which programs and support ask for; shortened unless `whole`."""

    def cut(text: str) -> str:
        return text if whole or len(text) <= MARK else f"{text[:MARK]}…"

    row = found.row
    console.print("\ndetails" + ("" if whole else " (-v shows them whole)"))
    console.print(f"  brief {cut(row.digest)}, attempt {row.nth} at it, by {plain(row.operation)}")
    for one in reversed(found.whole.takes):
        take = one.take
        key = f"key {cut(take.key)}" if take.keyed else "without a key: sent once"
        console.print(f"  take {take.number} {key}")
        for file in one.video.files.values():
            console.print(f"  take {take.number} {file.kind} sha256 {cut(file.sha256)}")


def _call(call: PaidCall) -> str:
    whose = "typed by hand" if call.take_id is None else "sent once"
    known = call.outcome or "open: under way, or cut off"
    settled = ", settled by a person" if call.resolved_at else ""
    return (
        f"call {call.id} {call.operation}, {whose} {say_moment(call.opened_at)}: {known}{settled}"
    )


def _short(value: Json) -> str:
    kept = redacted(value)
    text = kept if isinstance(kept, str) else json.dumps(kept, ensure_ascii=False)
    return " ".join(text.split())[:SHOWN]
