"""`callsheet nights test` and `digest`: what people are told, sent from the command line."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.nights.named_inboxes import named_inboxes
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.errors import BadInput
from callsheet.tasks.ledger import open_ledger
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices import Sending, digest, send_sample


async def send_samples(args: Namespace) -> int:
    """Send a sample to every address; exit 1 where one was not reached."""
    inboxes = _with_addresses(named_inboxes(args, settings_of(args), args.inboxes))
    sent = [one for inbox in inboxes for one in await send_sample(inbox, clock=time.time)]
    _show(args, sent)
    return 1 if any(one.failed for one in sent) else 0


async def send_digests(args: Namespace) -> int:
    """Send what is due and was not sent yet; what fails is tried again the next time."""
    settings = settings_of(args)
    inboxes = _with_addresses(named_inboxes(args, settings, args.inboxes))
    async with await open_ledger(settings.ledger) as ledger:
        sent = await digest(ledger, settings, inboxes, clock=time.time)
    _show(args, sent)
    return 1 if any(one.failed for one in sent) else 0


def _with_addresses(inboxes: Sequence[Inbox]) -> list[Inbox]:
    found = [inbox for inbox in inboxes if inbox.notify or inbox.notify_of]
    if not found:
        named = ", ".join(inbox.name for inbox in inboxes)
        raise BadInput(
            f"there is no one to notify: {named} has no addresses",
            remedy='write them in nights.toml: notify = ["env:NIGHT_MAIL"]',
        )
    return found


def _show(args: Namespace, sent: Sequence[Sending]) -> None:
    if args.json:
        print_json({"sent": [_document(one) for one in sent]})
    console = console_for(args)
    for one in sent:
        how = "sent" if one.failed is None else f"not sent: {one.failed}"
        console.print(plain(f"{one.inbox}, {one.kind} to {one.address}: {how} ({one.subject})"))
    if not sent:
        console.print("nothing is due")


def _document(one: Sending) -> dict[str, object]:
    return {
        "inbox": one.inbox,
        "kind": one.kind,
        "address": one.address,
        "subject": one.subject,
        "sent": one.failed is None,
        "error": one.failed,
    }
