"""The verbs of `callsheet webhooks` that are more than one request: create, ensure, status."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TextIO

from rich.console import Console

from callsheet.deployments.direct.body import body_from
from callsheet.deployments.direct.perform import send_once
from callsheet.deployments.direct.session import (
    Document,
    Session,
    document_of,
    show_list,
    show_webhook,
)
from callsheet.deployments.receiver.endpoint import name_of, split_address, who_is_there
from callsheet.deployments.terminal import plain
from callsheet.tasks.credentials import GIVEN
from callsheet.tasks.ledger.webhook_events import count_hints, last_heard
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError, NotFound
from callsheet.tasks.runtime.redact import redact, redacted, visible
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.briefs import Json
from callsheet.tasks.webhooks import (
    Subscriber,
    SubscriptionStatus,
    ensure_subscription,
    rotate_subscription,
)
from callsheet.tasks.webhooks.inventory import READY, OwnWebhook, WebhookInventory, take_inventory

#: What is said of a create whose answer was lost, and what to do about it.
_LOST = {
    "doubt": "there may be a subscription whose secret is lost",
    "remedy": "`callsheet webhooks list` shows it: delete it, then subscribe again",
}


async def create(at: Session) -> Document:
    """Subscribe, and show the secret this once, or write it to `--secret-file`.

    Sent once: a second subscription would sign with a secret that is lost.
    """
    args = at.args
    body = {"events": [READY], **body_from(args, ops.CREATE_WEBHOOK)}
    with _secret_file(args.secret_file) as file:
        send = partial(at.service.ask, ops.CREATE_WEBHOOK, body=body)
        made = await send_once(ops.CREATE_WEBHOOK, send, **_LOST)
        if file is not None and made.secret is not None:
            file.write(f"{made.secret}\n")
    show_webhook(made, at.console)
    document: Document = document_of(made)
    if made.secret is None:
        at.console.print("the service showed no secret: deliveries of it cannot be verified")
    elif args.secret_file:
        at.console.print(f"its secret is in {plain(args.secret_file)}, for your eyes only")
        document["secret_file"] = args.secret_file
    else:
        if args.json:
            at.console.print("its secret, which will not be shown again, is in the document")
        else:
            at.console.print("its secret, which will not be shown again:")
            # As it is: markup would take brackets out of it.
            print(visible(made.secret), file=at.console.file)
        document["secret"] = made.secret
    return document


@contextmanager
def _secret_file(path: str | None) -> Iterator[TextIO | None]:
    """Yield a new file that its owner alone can read, made before there is a secret.

    Without a path there is none; one that stays empty is removed.
    """
    if path is None:
        yield None
        return
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        file = os.fdopen(made, "w", encoding="utf-8")
    except OSError as error:
        there = isinstance(error, FileExistsError)
        why = "exists and was not changed" if there else f"cannot be made: {error.strerror}"
        raise BadInput(
            f"--secret-file {path} {why}", remedy="name a file that does not exist yet"
        ) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    finally:
        with suppress(OSError):
            if not Path(path).stat().st_size:
                Path(path).unlink()


# The verbs of `callsheet webhooks` for the subscription that runs learn of videos by.
#
# `ensure` and `rotate` do what `tasks.webhooks` does for a run; `status` shows service, ledger,
# secrets, inbox and receiver together.


DAY = 86400.0
_ENSURE = "`callsheet webhooks ensure`"
#: What is called `secret` is shown to no one, not even where it is.
_COLUMNS = ("webhook_id", "url", "active", "secret_is", "last_heard", "hints_in_24_h", "failed")


async def ensure(at: Session) -> Document:
    """Create or fix the subscription that runs use, and test it with a ping."""
    return await _tell(at, ensure_subscription)


async def rotate(at: Session) -> Document:
    """Replace our subscription by one with a new secret, without losing a delivery."""
    return await _tell(at, rotate_subscription)


async def status(session: Session) -> Document:
    """Show every subscription of Callsheet; `exit` in JSON is 3 when one needs attention."""
    at, receiver = _subscriber(session), await _receiver(session)
    found = await take_inventory(at)
    given = at.settings.webhook_secret
    shown = [await _shown(at, GIVEN, "CALLSHEET_WEBHOOK_SECRET")] if given else []
    here = bool(given) or bool(found.here) or not found.usable
    groups = ((found.here, "here"), (found.elsewhere, "elsewhere"), (found.useless, None))
    for webhooks, place in groups:
        kept = [own for own in webhooks if place or not own.has_moved]
        shown += [await _shown(at, own.secret.nonce, place, own) for own in kept]
    problems = [*_problems(found, shown), *(receiver if here else [])]
    _print(session.console, shown, problems)
    return {
        "webhook_url": redacted(at.settings.webhook_url),
        "receiver": {"address": at.settings.receiver, "answers": not receiver},
        "subscriptions": shown,
        "problems": problems,
        "exit": 3 if problems else 0,
    }


async def _tell(
    at: Session, verb: Callable[[Subscriber], Awaitable[SubscriptionStatus]]
) -> Document:
    status = await verb(_subscriber(at))
    if status.webhook_id is not None:
        where = plain(redact(status.url or "-"))
        at.console.print(f"[bold]{plain(status.webhook_id)}[/] {where}: {_words(status)}")
    document: Document = {**vars(status), "exit": 0}
    document["url"] = None if status.url is None else redact(status.url)
    if status.trouble is not None:
        told = [status.trouble, *([] if status.heard else await _receiver(at))]
        for line in told:
            at.console.print(plain(redact(line)))
        document |= {"trouble": redact("; ".join(told)), "exit": 3}
    return document


def _words(status: SubscriptionStatus) -> str:
    said = [word for word in ("made", "enabled") if getattr(status, word)]
    return ", ".join([*said, "a ping arrived" if status.heard else "no ping arrived"])


def _subscriber(at: Session) -> Subscriber:
    settings = at.settings
    if not settings.webhook_url and not settings.webhook_secret:
        raise ConfigurationError(
            "CALLSHEET_WEBHOOK_URL is not set, so the service does not know where to send webhooks",
            remedy="set it to the public https address that leads to `callsheet receive`",
        )
    assert at.ledger is not None, "a verb that subscribes has a ledger"
    return Subscriber(settings=settings, ledger=at.ledger, service=at.service)


async def _receiver(at: Session) -> list[str]:
    """Return what is wrong with the receiver of this machine; it may well be on another one."""
    address = at.settings.receiver
    there = await asyncio.to_thread(who_is_there, *split_address(address))
    assert at.ledger is not None, "a verb that subscribes has a ledger"
    if there is None:
        return [f"no receiver answers at {address}: start one with `callsheet receive`"]
    if there != name_of(at.ledger.address):
        return [f"the receiver at {address} works for another ledger: see CALLSHEET_LEDGER"]
    return []


async def _shown(
    at: Subscriber, nonce: str, secret: str | None, own: OwnWebhook | None = None
) -> Document:
    """Return a subscription as JSON; one that was made by hand (no `own`) is known by its nonce."""
    url, attempts = at.settings.webhook_url, []
    if own is not None:
        url = own.webhook.url or own.secret.url
        with suppress(NotFound):
            attempts = await at.service.ask(ops.DELIVERIES, own.webhook.id)
    last = await at.ledger.read(last_heard, nonce=nonce)
    return {
        "webhook_id": own and own.webhook.id,
        "url": redacted(url),
        "active": own and own.webhook.is_active,
        "secret": secret,
        "nonce": nonce,
        "last_heard": None if last is None else f"{datetime.fromtimestamp(last, UTC):%FT%TZ}",
        "hints_in_24_h": await at.ledger.read(count_hints, nonce=nonce, since=at.clock() - DAY),
        "failed": [redacted(one) for one in attempts if _has_failed(one)],
    }


def _problems(found: WebhookInventory, shown: list[Document]) -> list[str]:
    """Return what needs a person, a sentence each with what to do."""
    told = [
        f"{one['webhook_id']} is disabled: once a receiver is at work, {_ENSURE} enables it again"
        for one in shown
        if one["active"] is False and one["secret"]
    ]
    told += [
        f"{own.webhook.id} cannot be used, its secret is lost or it was replaced: "
        f"{_ENSURE} deletes it"
        for own in found.useless
        if not own.has_moved
    ]
    if not any(one["secret"] for one in shown):
        told.append(f"there is no webhook that can be used: {_ENSURE} makes one")
    return told


def _has_failed(attempt: Json) -> bool:
    """Guess from a record of unknown shape whether an attempt failed."""
    if not isinstance(attempt, dict):
        return False
    for name in ("success", "ok", "delivered"):
        if isinstance(attempt.get(name), bool):
            return not attempt[name]
    codes = [attempt.get(name) for name in ("status", "status_code", "response_status")]
    if any(isinstance(code, int) and code >= 300 for code in codes):
        return True
    return bool(attempt.get("error")) or attempt.get("outcome") in ("failed", "failure", "error")


def _print(console: Console, shown: list[Document], problems: list[str]) -> None:
    lines: list[Json] = [
        {
            **one,
            "secret_is": one["secret"] or "lost",
            "last_heard": one["last_heard"] or "never",
            "failed": len(one["failed"]),
        }
        for one in shown
    ]
    show_list("Subscriptions", lines, _COLUMNS, console)
    for one in shown:
        if one["failed"]:
            title = f"Failed for {one['webhook_id']}"
            show_list(title, one["failed"][:5], ops.DELIVERIES.columns, console)
    for problem in problems:
        console.print(plain(problem))
