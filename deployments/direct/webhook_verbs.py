"""The verbs of `callsheet webhooks` on any subscription, as the service has them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from callsheet.deployments.direct import request_body
from callsheet.deployments.direct.answer_view import show_record, show_records
from callsheet.deployments.direct.session import Document, Session, Unsettled
from callsheet.deployments.direct.subscription_verbs import DELIVERY
from callsheet.deployments.direct.unkeyed_call import send_once
from callsheet.deployments.terminal import consent, plain, table
from callsheet.tasks.brief import Json
from callsheet.tasks.errors import BadInput
from callsheet.tasks.redact import redact, redacted
from callsheet.tasks.service import Webhook
from callsheet.tasks.service import operations as ops
from callsheet.tasks.visible import visible
from callsheet.tasks.webhooks.inventory import READY


async def list_webhooks(at: Session) -> Document:
    """List the subscriptions."""
    found = await at.service.list_webhooks()
    made = table("Webhooks", ("id", "url", "events", "active"))
    for webhook in found:
        cells = (
            webhook.id,
            redact(webhook.url or "-"),
            ", ".join(webhook.events),
            _active(webhook),
        )
        made.add_row(*(plain(cell) for cell in cells))
    at.console.print(made)
    return {"webhooks": [_document(webhook) for webhook in found]}


async def create(at: Session) -> Document:
    """Subscribe, and show the secret this once, or write it to `--secret-file`.

    Sent once: a second subscription would sign with a secret that nobody kept.
    """
    args = at.args
    events = args.event or [READY]
    more = request_body.completed(request_body.given(name=args.name), args)
    with _secret_file(args.secret_file) as keep:
        made = await send_once(
            ops.CREATE_WEBHOOK,
            lambda: at.service.create_webhook(args.url, events, more or None),
            _lost,
        )
        keep(made.secret)
    _show(at, made)
    document = _document(made)
    if made.secret is None:
        at.console.print("the service showed no secret: deliveries of it cannot be verified")
    elif args.secret_file:
        at.console.print(f"its secret is in {plain(args.secret_file)}, for your eyes only")
        document["secret_file"] = args.secret_file
    else:
        _say_secret(at, made.secret)
        document["secret"] = made.secret
    return document


async def show(at: Session) -> Document:
    """Show one subscription."""
    webhook = await at.service.get_webhook(at.args.id)
    _show(at, webhook)
    return _document(webhook)


async def edit(at: Session) -> Document:
    """Change a subscription, or switch it on or off."""
    args = at.args
    changes = request_body.given(url=args.url, events=args.event, name=args.name)
    if args.enable or args.disable:
        changes["is_active"] = bool(args.enable)
    changes = request_body.completed(changes, args)
    if not changes:
        raise BadInput(
            "nothing to change",
            remedy="give --url URL, --event KIND, --name TEXT, --enable or --disable",
        )
    webhook = await at.service.edit_webhook(args.id, changes)
    _show(at, webhook)
    return {**_document(webhook), "changed": sorted(changes)}


async def delete(at: Session) -> Document:
    """End a subscription, once that was agreed to."""
    webhook_id = at.args.id
    question = f"Delete {webhook_id}? Its secret is lost with it."
    await consent(at.args, question, what=f"to delete {webhook_id} is")
    await at.service.delete_webhook(webhook_id)
    at.console.print(f"{plain(webhook_id)}: deleted")
    return {"webhook_id": webhook_id, "deleted": True}


async def test(at: Session) -> Document:
    """Have a signed ping sent, whose payload has `data.test` = true."""
    result = await at.service.test_webhook(at.args.id)
    at.console.print(f"{plain(at.args.id)}: a ping was asked for; the service says")
    show_record(result, at.console)
    return {"webhook_id": at.args.id, "result": redacted(result)}


async def deliveries(at: Session) -> Document:
    """Show the last 50 attempts at delivery, in whatever shape they come."""
    found = await at.service.deliveries(at.args.id)
    if found:
        show_records("Deliveries", found, DELIVERY, at.console)
    else:
        at.console.print("no delivery was attempted yet")
    return {"webhook_id": at.args.id, "deliveries": redacted(found)}


@contextmanager
def _secret_file(path: str | None) -> Iterator[Callable[[str | None], None]]:
    """Make a file for its owner alone before there is a secret; yield what keeps one in it.

    Left without a secret there is no file; without a path nothing is kept.
    """
    if path is None:
        yield lambda _: None
        return
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise BadInput(
            f"--secret-file {path} exists and was not changed",
            remedy="name a file that is not there yet",
        ) from error
    except OSError as error:
        raise BadInput(f"--secret-file {path} cannot be made: {error.strerror}") from error
    kept = False

    def keep(secret: str | None) -> None:
        nonlocal kept
        if secret is not None:
            os.write(handle, f"{secret}\n".encode())
            os.fsync(handle)
            kept = True

    try:
        yield keep
    finally:
        os.close(handle)
        if not kept:
            with suppress(OSError):
                Path(path).unlink()


def _lost(words: str) -> Unsettled:
    return Unsettled(
        f"{words}; there may be a subscription whose secret is lost",
        remedy="`callsheet webhooks list` shows it: delete it, then subscribe again",
    )


def _show(at: Session, webhook: Webhook) -> None:
    at.console.print(f"[bold]{plain(webhook.id)}[/]: {_active(webhook)}")
    show_record(webhook.raw, at.console, told=("id", "is_active"))


def _say_secret(at: Session, secret: str) -> None:
    at.console.print("its secret, which will not be shown again:")
    # As it is: markup would take brackets out of it. With --json it is in the document alone.
    if not at.args.json:
        print(visible(secret), file=at.console.file)


def _active(webhook: Webhook) -> str:
    return {True: "active", False: "disabled", None: "-"}[webhook.is_active]


def _document(webhook: Webhook) -> Document:
    raw: Json = redacted(webhook.raw)
    return {
        "webhook_id": webhook.id,
        "url": None if webhook.url is None else redact(webhook.url),
        "events": list(webhook.events),
        "name": webhook.name,
        "active": webhook.is_active,
        "raw": raw,
    }
