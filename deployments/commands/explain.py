"""`callsheet explain ROW`: everything the ledger knows of one row, and why it is where it is."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from rich.console import Console

from deployments.commands.ledger import campaign_of, reading
from deployments.terminal import console_for, plain, print_json, state_text
from tasks.credits import as_number, as_text
from tasks.errors import BadInput
from tasks.ledger import (
    Campaign,
    CampaignRow,
    Delivered,
    Event,
    Take,
    deliveries_of,
    events_of,
    rows_of,
    takes_of,
)
from tasks.production.report import row_document

History = tuple[Campaign, CampaignRow, list[Take], dict[int, list[Delivered]], list[Event]]


def main(args: Namespace) -> int:
    """Show the row, its takes with their keys and charges, its files and its history."""
    campaign, row, takes, files, events = asyncio.run(_read(args))
    console = console_for(args)
    _show_row(campaign, row, console)
    for take in takes:
        _show_take(take, files.get(take.id, []), console)
    console.print("\nhistory")
    for event in events:
        step = f"{event.old} -> {event.new}" if event.new else event.kind
        console.print(f"  {_moment(event.at)}  {step}  {plain(event.words or '')}".rstrip())
    if args.json:
        print_json(_document(campaign, row, takes, files, events))
    return 0


async def _read(args: Namespace) -> History:
    async with reading(args) as ledger:
        campaign = await campaign_of(ledger, args.campaign)
        query = partial(rows_of, campaign_id=campaign.id, row=args.row)
        rows = await ledger.read(query)
        if not rows:
            raise BadInput(
                f'campaign {campaign.name} has no row "{args.row}"',
                remedy=f"`callsheet rows {campaign.name}` lists them",
            )
        row = rows[0]
        takes = await ledger.read(partial(takes_of, campaign_id=campaign.id))
        files = await ledger.read(partial(deliveries_of, campaign_id=campaign.id))
        events = await ledger.read(partial(events_of, row_id=row.id))
    mine = [take for row_id, take in takes if row_id == row.id]
    return campaign, row, mine, dict(files), events


def _show_row(campaign: Campaign, row: CampaignRow, console: Console) -> None:
    console.print(f"[bold]{plain(row.row)}[/] of {plain(campaign.name)}: {state_text(row.state)}")
    if row.reason:
        console.print(f"  {plain(row.reason)}")
    console.print(f"  since {_moment(row.since)}, line {row.line} of {plain(campaign.sheet)}")
    console.print(f"  brief {row.digest}")
    console.print(f"  quote {as_text(row.quoted)} credits")
    for name, value in sorted(row.asked().items()):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        console.print(f"    {name}: {plain(' '.join(text.split())[:120])}")


def _show_take(take: Take, files: list[Delivered], console: Console) -> None:
    key = f"key {take.key}" if take.keyed else "without a key: sent once"
    console.print(f"\ntake {take.number}  {key}")
    console.print(f"  intended {_moment(take.intended_at)}, {as_text(take.quoted)} credits quoted")
    if take.refused_at:
        console.print(f"  refused {_moment(take.refused_at)}: nothing was made or charged")
    if take.abandoned_at:
        console.print(f"  given up {_moment(take.abandoned_at)} by a person")
    if take.accepted_at:
        console.print(f"  accepted {_moment(take.accepted_at)} as {plain(take.video_id)}")
    if take.charged is not None:
        console.print(f"  charged {as_text(take.charged)} credits")
    elif take.reserved:
        console.print(f"  reserved {as_text(take.reserved)} credits")
    for file in files:
        console.print(f"  {file.kind} {plain(file.uri)} ({file.bytes} bytes, sha256 {file.sha256})")


def _document(
    campaign: Campaign,
    row: CampaignRow,
    takes: list[Take],
    files: dict[int, list[Delivered]],
    events: list[Event],
) -> dict[str, Any]:
    return {
        "campaign": campaign.name,
        **row_document(row, files),
        "digest": row.digest,
        "request": row.asked(),
        "takes": [
            {
                "take": take.number,
                "key": take.key if take.keyed else None,
                "video_id": take.video_id,
                "quoted": as_number(take.quoted),
                "reserved": as_number(take.reserved),
                "charged": as_number(take.charged),
                "intended_at": _moment(take.intended_at),
                "body_bytes": len(take.body),
            }
            for take in takes
        ],
        "history": [
            {
                "at": _moment(event.at),
                "kind": event.kind,
                "old": event.old,
                "new": event.new,
                "words": event.words,
            }
            for event in events
        ],
    }


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
