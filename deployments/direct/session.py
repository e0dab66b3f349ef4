"""One direct command: the client it opens, how it ends, and how answers are shown.

Opens the client behind the organisation's one gate, which the ledger remembers, so that a moment
named by the service holds for direct commands and runs alike. When the service does not do as it
is told: a definite refusal is 2, nothing was spent. What may work later is 5, with the moment.
What may or may not have been processed is 3: a person has to look.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.options import settings_for
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, plain, print_json, table
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.engine.free_calls import LATER, before_spending
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.ledger.deletions import deletion_of
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.runtime.errors import (
    BadInput,
    CallsheetError,
    NotFound,
    NotSent,
    OutcomeUnknown,
    Parked,
    ServiceError,
    StoreError,
    VideoError,
    shorten,
)
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import redacted
from callsheet.tasks.service import (
    OPERATIONS,
    Created,
    Money,
    ShareLink,
    Started,
    Video,
    VideoService,
    Webhook,
)
from callsheet.tasks.values.briefs import Json

Document = dict[str, Any]

_BY_NAME = {operation.name: operation for operation in OPERATIONS}
#: What to do after an unknown outcome, where repeating costs nothing.
_REPEAT = {
    Money.KEYED: "run the same command again: it has the same key and is paid for once",
    Money.GENTLE: "look at what it was about, or run the same command again: it charges nothing",
}


@dataclass(frozen=True, kw_only=True)
class Session:
    """What a verb works with; the ledger is None where there is none and nothing is paid for.

    What is put on `until_told` ends once the outcome was printed, whole.
    """

    args: Namespace
    console: Console
    settings: Settings
    service: VideoService
    ledger: Ledger | None
    until_told: AsyncExitStack


#: Speaks to people on the session's console and returns the document for `--json`.
Verb = Callable[[Session], Awaitable[Document]]


def execute(args: Namespace, verb: Verb, *, pays: bool) -> int:
    """Execute one verb and return its exit status; `pays` makes a ledger if there is none.

    What the service refuses, or leaves unanswered, is raised as what it means to a person.
    """
    with settings_for(args) as settings:
        document = run_command(_execute(args, settings, verb, pays=pays))
    return int(document["exit"])


async def _execute(args: Namespace, settings: Settings, verb: Verb, *, pays: bool) -> Document:
    console = console_for(args)
    settings.service()
    try:
        async with AsyncExitStack() as stack:
            ledger = await _open_ledger(settings, make=pays)
            if ledger is not None:
                await stack.enter_async_context(ledger)
            service = await open_service(settings, ledger, time.time)
            await stack.enter_async_context(service)
            session = Session(
                args=args,
                console=console,
                settings=settings,
                service=service,
                ledger=ledger,
                until_told=stack,
            )
            try:
                document = await verb(session)
            except NotFound as error:
                raise await _explained(session, error) from error
            document.setdefault("exit", 0)
            if args.json:
                print_json(document)
                # A process that is killed now has told it.
                sys.stdout.flush()
            return document
    except (ServiceError, VideoError, StoreError) as error:
        raise ending(error, time.time()) from error


async def _explained(at: Session, error: NotFound) -> CallsheetError:
    """Return the error for a video that is not there: what the ledger knows, or as it is."""
    video_id = getattr(at.args, "id", None)
    if at.ledger is None or video_id is None:
        return error
    words = await at.ledger.read(deletion_of, video_id=video_id)
    return error if words is None else BadInput(f"{video_id} was {words}; nothing was spent")


async def _open_ledger(settings: Settings, *, make: bool) -> Ledger | None:
    file = ledger_file(ledger_url(settings.ledger))
    # What only reads makes nothing, not even an empty ledger.
    if not make and file is not None and not file.exists():
        return None
    if make:
        prepare_ledger(settings)
    return await open_ledger(settings.ledger, create=make)


class Unsettled(CallsheetError):
    """The outcome is unknown: look before you do it again."""

    exit_status = 3


def ending(error: CallsheetError, now: float) -> CallsheetError:
    """Return what a failed call, download or write means to the person who asked for it."""
    if isinstance(error, ServiceError):
        return _ending_of_call(error, now)
    if isinstance(error, StoreError) and error.permanent:
        return BadInput(str(error), remedy=error.remedy)
    # A video that is not whole, a disk that is full: the video itself is still there.
    words = str(error) if isinstance(error, StoreError) else f"{error}; nothing was written"
    return Parked(words, until=_later(now), remedy=error.remedy)


def _ending_of_call(error: ServiceError, now: float) -> CallsheetError:
    words = str(error).rstrip(".")
    if isinstance(error, OutcomeUnknown):
        known = "may have been processed"
        doubtful = words if known in words else f"{words}; it {known}"
        remedy = _REPEAT.get(_BY_NAME[error.operation].money, error.remedy)
        return Unsettled(doubtful, remedy=remedy)
    if isinstance(error, NotSent) and not error.permanent:
        return Parked(f"{words}; nothing was spent", until=_later(now), remedy=error.remedy)
    return before_spending(error, now)


def _later(now: float) -> datetime:
    return datetime.fromtimestamp(now + LATER, UTC)


# What the service said, for people and for JSON: whole, but for its secrets.


_WIDEST = 120
_STARTED = {"video_id": "video_id", "status": "status", "poll_after_seconds": "poll_after"}
#: The JSON members of an answer, each with the attribute that it shows, besides `raw`.
_MEMBERS: Mapping[type, Mapping[str, str]] = {
    Created: _STARTED,
    Started: _STARTED,
    Video: {"status": "status"},
    Webhook: {"webhook_id": "id", "url": "url", "events": "events", "name": "name"}
    | {"active": "is_active"},
}


def document_of(answer: Any) -> Any:
    """Return an answer of the service as JSON."""
    if isinstance(answer, list):
        return [document_of(one) for one in answer]
    if isinstance(answer, ShareLink):
        # The link itself is what was asked for, with all that signs it.
        return {"url": answer.url, "raw": redacted(answer.raw)}
    members = _MEMBERS.get(type(answer))
    if members is None:
        return redacted(answer)
    shown = {name: getattr(answer, of) for name, of in members.items()}
    return redacted({**shown, "raw": answer.raw})


def show_webhook(webhook: Webhook, console: Console) -> None:
    """Show a subscription, but for its secret."""
    state = {True: "active", False: "disabled", None: "-"}[webhook.is_active]
    console.print(f"[bold]{plain(webhook.id)}[/]: {state}")
    show_record(webhook.raw, console, told=("id", "is_active"))


def show_list(title: str, found: Json, likely: Sequence[str], console: Console) -> None:
    """Show a list, or the one list that is in an object."""
    records = found
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        records = lists[0] if len(lists) == 1 else [found]
    if not records:
        console.print(f"{title}: none")
        return
    show_records(title, records if isinstance(records, list) else [records], likely, console)


def show_record(record: Json, console: Console, *, told: Sequence[str] = ()) -> None:
    """Show the members of a record that say something, but for those already `told`."""
    if not isinstance(record, dict):
        console.print(plain(cell(record)))
        return
    for name, value in sorted(record.items()):
        if name not in told and value not in (None, "", [], {}):
            console.print(f"  {plain(name)}: {plain(cell(value, name))}")


def show_records(
    title: str, records: Sequence[Json], likely: Sequence[str], console: Console
) -> None:
    """Show records of an unknown shape: those of the `likely` members that are there."""
    known = [record for record in records if isinstance(record, dict)]
    columns = [name for name in likely if any(record.get(name) is not None for record in known)]
    made = table(title, columns or ["what the service says"])
    for record in records:
        if columns and isinstance(record, dict):
            made.add_row(*(plain(cell(record.get(name), name)) for name in columns))
        else:
            made.add_row(plain(cell(record)))
    console.print(made)


def cell(value: Json, name: str = "") -> str:
    """Return a value on one line, without secrets and never long."""
    if value is None:
        return "-"
    kept = redacted({name: value})[name]
    if isinstance(kept, bool):
        return "yes" if kept else "no"
    if isinstance(kept, list):
        names = [one.get("name") if isinstance(one, dict) else one for one in kept]
        kept = ", ".join(map(str, names)) if all(isinstance(one, str) for one in names) else kept
    return shorten(kept if isinstance(kept, str) else json.dumps(kept, ensure_ascii=False), _WIDEST)
