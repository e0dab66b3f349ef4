"""What `callsheet webhooks status` shows: service, ledger, secrets, inbox and receiver together."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from rich.console import Console

from deployments.direct.safe import safe, show_records
from deployments.direct.session import Document
from deployments.terminal import plain, table
from tasks.brief import Json
from tasks.credentials import GIVEN
from tasks.errors import NotFound
from tasks.ledger import count_hints, last_heard
from tasks.redact import redact
from tasks.webhooks import Subscriber
from tasks.webhooks.inventory import OwnWebhook, WebhookInventory, take_inventory

DAY = 86400.0
#: What a delivery is likely to say of itself; its shape is not shown.
DELIVERY = (
    "created_at", "started_at", "sent_at", "time", "event", "kind", "type", "event_id",
    "attempt", "status", "status_code", "response_status", "success", "ok", "error", "outcome",
)  # fmt: skip
_ENSURE = "`callsheet webhooks ensure`"
_COLUMNS = ("webhook", "address", "active", "secret", "last heard", "hints in 24 h", "failed")


async def status_of(at: Subscriber, console: Console, *, receiver: list[str]) -> Document:
    """Show every subscription; `receiver` is what is wrong with the one of this machine.

    The document's `exit` is 3 when something needs a person.
    """
    found = await take_inventory(at)
    given = [await _given(at)] if at.settings.webhook_secret else []
    shown = [*given]
    for own, secret in _all(found, at):
        shown.append(await _shown(at, own, secret))
    here = bool(given) or bool(found.here) or not found.elsewhere
    problems = [*_problems(found, shown), *(receiver if here else [])]
    _print(console, shown, problems)
    return {
        "webhook_url": at.settings.webhook_url,
        "receiver": {"address": at.settings.receiver, "answers": not receiver},
        "subscriptions": shown,
        "problems": problems,
        "exit": 3 if problems else 0,
    }


def _all(found: WebhookInventory, at: Subscriber) -> list[tuple[OwnWebhook, str | None]]:
    """Return every webhook of own, and where its secret is."""
    return [
        *((own, at.place) for own in found.here),
        *((own, own.entry.place) for own in found.elsewhere),
        *((own, None) for own in found.useless),
    ]


async def _shown(at: Subscriber, own: OwnWebhook, secret: str | None) -> Document:
    webhook = own.webhook
    try:
        attempts = await at.service.deliveries(webhook.id)
    except NotFound:
        attempts = []
    return {
        "webhook_id": webhook.id,
        "url": redact(webhook.url or own.entry.url),
        "active": webhook.is_active,
        "secret": "here" if secret == at.place else secret,
        **await _heard(at, own.entry.nonce),
        "failed": [safe(one) for one in attempts if _has_failed(one)],
    }


async def _given(at: Subscriber) -> Document:
    heard = await _heard(at, GIVEN)
    return {
        "webhook_id": None,
        "url": at.settings.webhook_url,
        "active": None,
        "secret": "CALLSHEET_WEBHOOK_SECRET",
        **heard,
        "failed": [],
    }


async def _heard(at: Subscriber, nonce: str) -> Document:
    last = await at.ledger.read(partial(last_heard, nonce=nonce))
    since = at.clock() - DAY
    return {
        "nonce": nonce,
        "last_heard": None if last is None else f"{datetime.fromtimestamp(last, UTC):%FT%TZ}",
        "hints_in_24_h": await at.ledger.read(partial(count_hints, nonce=nonce, since=since)),
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
    made = table("Subscriptions", _COLUMNS, numbers=("hints in 24 h", "failed"))
    for one in shown:
        cells = (
            one["webhook_id"] or "-",
            one["url"] or "-",
            {True: "active", False: "disabled", None: "-"}[one["active"]],
            one["secret"] or "lost",
            one["last_heard"] or "never",
            one["hints_in_24_h"],
            len(one["failed"]),
        )
        made.add_row(*(plain(cell) for cell in cells))
    console.print(made)
    for one in shown:
        if one["failed"]:
            show_records(f"Failed for {one['webhook_id']}", one["failed"][:5], DELIVERY, console)
    for problem in problems:
        console.print(plain(problem))
