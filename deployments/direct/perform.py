"""Executes one operation: all it does follows from its entry in the table.

A paid operation without a key (specification, section 4) has no quote either: it is asked for, then
sent once. It is in the ledger before it leaves, and stays there as unsettled until its outcome was
printed or a person has settled it. When its answer is lost, the change it made is looked for.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, TypeVar

from callsheet.deployments.direct.body import body_from
from callsheet.deployments.direct.session import (
    Document,
    Session,
    Unsettled,
    document_of,
    show_list,
    show_record,
    show_webhook,
)
from callsheet.deployments.direct.video_verbs import show_before
from callsheet.deployments.process import on_signal
from callsheet.deployments.terminal import consent, plain
from callsheet.tasks.engine.context import organisation_of
from callsheet.tasks.engine.evidence import (
    Baseline,
    before,
    journaled,
    made_by,
    was_changed,
)
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import NEW
from callsheet.tasks.runtime.errors import Forbidden, OutcomeUnknown, ServiceError
from callsheet.tasks.runtime.redact import say, visible
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service import (
    Created,
    Operation,
    ShareLink,
    Started,
    Video,
    Webhook,
)
from callsheet.tasks.service import operations as ops
from callsheet.tasks.service.request import target_of
from callsheet.tasks.values.briefs import Json, canonical_json


async def perform(at: Session, operation: Operation[Any]) -> Document:
    """Execute an operation: body, question, request, sentence, answer."""
    named, scene = getattr(at.args, "id", None), getattr(at.args, "number", None)
    target_of(operation, named, scene=scene)
    body = body_from(at.args, operation)
    if operation.pays:
        return await _pay(at, operation, body)
    if operation.asks:
        if named is not None and operation.about == "video":
            await show_before(at, named)
        question = operation.asks.format(id=named)
        await consent(at.args, question, what=f"to {operation.name} {named} is")
    answer = await at.service.ask(operation, named, body or None)
    changed = sorted(body) if operation.method == "PATCH" else []
    if operation.says:
        words = {"id": plain(named), "changed": plain(", ".join(changed))}
        at.console.print(operation.says.format(**words, again=_made_again(named, changed)))
    document: Document = {} if named is None else {f"{operation.about}_id": named}
    if operation.answer:
        document[operation.answer] = document_of(answer)
    else:
        document |= document_of(answer) or {"status": None, "raw": None}
    _show(at, operation, answer)
    return {**document, "changed": changed} if changed else document


def _made_again(video_id: str | None, changed: Collection[str]) -> str:
    """Return the command that makes a video show an edit: a new script or topic is rendered again,
    everything else is exported again.
    """
    named = str(plain(video_id))
    if {"script", "topic"}.isdisjoint(changed):
        return suggest("video render", named)
    return suggest("video generate", named)


async def voice(at: Session) -> Document:
    """Make a new voiceover; without a voice, show the progress of the last one."""
    asked = body_from(at.args, ops.VOICE)
    return await perform(at, ops.VOICE if asked else ops.VOICE_PROGRESS)


def _show(at: Session, operation: Operation[Any], answer: Any) -> None:
    """Show what the service said, unless it only said that it is done."""
    if operation.columns:
        title = operation.answer.capitalize()
        show_list(title, document_of(answer), operation.columns, at.console)
    elif isinstance(answer, Webhook):
        show_webhook(answer, at.console)
    elif isinstance(answer, ShareLink):
        # As it is: markup or a line break would make another address of it.
        print(visible(answer.url), file=at.console.file)
    elif operation.answer and answer is not True:
        show_record(answer, at.console)


async def _pay(at: Session, operation: Operation[Any], request: dict[str, Json]) -> Document:
    """Ask, then send once; say what is known of the cost and invent nothing."""
    video_id = getattr(at.args, "id", None)
    if video_id is not None:
        await show_before(at, video_id)
    of = "" if video_id is None else f" {video_id}"
    at.console.print("the service gives no quote for this: what it will charge is not known")
    await consent(
        at.args,
        f"Spend credits on it without a quote ({operation.name}{of})?",
        what=f"credits for {operation.name}{of}, at an unknown price, are",
    )
    body = canonical_json(request) if request else b""
    made = await _pay_once(at, operation, video_id, body)
    wait = suggest("video show", str(plain(made.video_id)), "--wait")
    document = tell_made(at, made, f"`{wait}` waits for its video")
    return {**document, "operation": operation.name, "quoted": None}


def tell_made(at: Session, made: Created | Started, words: str) -> Document:
    """Say what a paid call made or began, then `words`; return it as JSON."""
    status = made.status or ("accepted" if isinstance(made, Created) else "started")
    at.console.print(f"{plain(made.video_id)}: {plain(status)}")
    at.console.print(words)
    document: Document = document_of(made)
    return document


T = TypeVar("T")
#: Finds the video that a call made or changed, once that is certain.
Find = Callable[[], Awaitable[Video | None]]

#: How often the effect of a call is looked for, and how long apart, in seconds.
SEARCHES, APART = 5, 1.0


async def _pay_once(
    at: Session, operation: Operation[Any], video_id: str | None, body: bytes
) -> Created | Started:
    """Return what the service answers; it is asked once, whatever the outcome.

    When its answer is lost, what shows that it was executed is looked for. Raises SpendRefused,
    and sends nothing, while an earlier such call is not settled; Unsettled when it is
    not known whether this one was executed; the client's own errors when it was not.
    """
    assert at.ledger is not None, "a verb that pays has a ledger"
    find = await _watch(at, at.ledger, video_id, body)
    record = journaled(
        at.ledger,
        organisation=organisation_of(at.settings),
        operation=operation.name,
        body=body,
        clock=time.time,
        target=video_id or NEW,
    )
    entry = await at.until_told.enter_async_context(record)
    scene = getattr(at.args, "number", None)
    send = partial(at.service.ask, operation, video_id, body or None, scene=scene)
    made: Created | Started
    try:
        remedy = _how_to_settle(entry.number, video_id)
        doubt = "it may have been processed and charged"
        made = await send_once(operation, send, doubt=doubt, remedy=remedy)
    except Unsettled as lost:
        found = await _search(find) if find and isinstance(lost.__cause__, OutcomeUnknown) else None
        if found is None:
            raise
        made = Started(
            video_id=found.id, status=found.status, poll_after=found.poll_after, raw=found.raw
        )
    entry.video_id = made.video_id
    return made


async def send_once(
    operation: Operation[T], send: Callable[[], Awaitable[T]], *, doubt: str, remedy: str
) -> T:
    """Return what `send` returns; raise Unsettled with doubt and remedy if its outcome is unknown.

    A person who stops waiting for the answer does not know the outcome either.
    """
    sending = asyncio.ensure_future(send())
    try:
        with _first_signal_waits(sending):
            return await sending
    except OutcomeUnknown as error:
        raise Unsettled(f"{str(error).rstrip('.')}; {doubt}", remedy=remedy) from error
    except asyncio.CancelledError:
        words = f"{operation.name}: sent, but its answer was not waited for; {doubt}"
        raise Unsettled(words, remedy=remedy) from None


def _how_to_settle(number: int, video_id: str | None) -> str:
    """Return what a person does about a call, by its number in the ledger, with a lost answer."""
    look = "`callsheet video list` shows whether there is a new video"
    if video_id is not None:
        look = f"`{suggest('video show', video_id)}`, `{suggest('video renders', video_id)}`"
    adopt = suggest("resolve", "--call", str(number), "--adopt", "ID")
    abandon = suggest("resolve", "--call", str(number), "--abandon")
    return (
        f"look first: {look}; then settle it: `{adopt}`, or `{abandon}`. "
        "Doing it again may pay a second time"
    )


@contextmanager
def _first_signal_waits(sending: asyncio.Future[Any]) -> Iterator[None]:
    """Let a call under way end at the first signal, and be left at the second."""
    signals = count()

    def stop() -> None:
        if next(signals):
            sending.cancel()
        else:
            say("waiting for the answer of the call; press Ctrl-C again to leave it")

    with on_signal(stop):
        yield


async def _watch(at: Session, ledger: Ledger, video_id: str | None, body: bytes) -> Find | None:
    """Note how things stand; return what finds, later, the video that the call made or changed.

    What a key may not read cannot be told apart later: then a lost answer stays lost.
    """
    with suppress(Forbidden):
        if video_id is None:
            known = Baseline(ledger, at.service, organisation_of(at.settings))
            await known.refresh(at=time.time())
            sent_at = time.time()

            async def made() -> Video | None:
                return (await made_by(known, json.loads(body), sent_at))[0]

            return made
        earlier = await before(at.service, video_id)

        async def changed() -> Video | None:
            begun = await was_changed(at.service, video_id, earlier)
            return await at.service.get(video_id) if begun else None

        return changed
    return None


async def _search(find: Find) -> Video | None:
    """Return the video that the call made or changed, once that is certain; None otherwise."""
    say("the answer was lost: looking for what the call has done")
    for _ in range(SEARCHES):
        with suppress(ServiceError):
            if found := await find():
                return found
        await asyncio.sleep(APART)
    return None
