"""Paid verbs without a quote; each request is sent once."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from callsheet.deployments.direct import create
from callsheet.deployments.direct.session import Document, Session, Unsettled, show_record
from callsheet.deployments.direct.video_verbs import show_before
from callsheet.deployments.process import on_signal
from callsheet.deployments.terminal import consent, plain
from callsheet.tasks.engine.context import organisation_of
from callsheet.tasks.engine.evidence import (
    Baseline,
    Before,
    before,
    journaled,
    made_by,
    was_changed,
)
from callsheet.tasks.ledger.service_state import NEW
from callsheet.tasks.runtime.errors import BadInput, Forbidden, OutcomeUnknown, ServiceError
from callsheet.tasks.runtime.redact import redacted, say
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service import Created, Operation, Started
from callsheet.tasks.service import operations as ops
from callsheet.tasks.service.bodies import RegenerateScene, RegenerateVoice, body_of
from callsheet.tasks.values.briefs import Json, canonical_json
from callsheet.tasks.values.requests import CharacterSwap, ImageToVideo, TalkingAvatar

# The paid verbs without a quote: generate, render, scene, voice; animate, avatar, swap.
#
# None of them takes an idempotency key and none is quoted (specification, section 4): each is
# asked for, then sent once.


async def generate(at: Session) -> Document:
    """Render a draft, or render again after edits."""
    return await _change(at, ops.GENERATE, None, lambda: at.service.generate(at.args.id))


async def render(at: Session) -> Document:
    """Export again."""
    request = create.completed({}, at.args) or None
    return await _change(at, ops.RENDER, request, lambda: at.service.render(at.args.id, request))


async def scene(at: Session) -> Document:
    """Regenerate one scene; the others stay as they are."""
    video_id, number = at.args.id, at.args.number
    if number < 1:
        raise BadInput(f"there is no scene {number}: they are counted from 1")
    words = create.speech(at.args.narration, "--narration")
    request = create.completed(body_of(RegenerateScene, narration=words), at.args) or None
    return await _change(
        at, ops.SCENE, request, lambda: at.service.regenerate_scene(video_id, number, request)
    )


async def voice(at: Session) -> Document:
    """Regenerate the voiceover; without a voice, show how far the last one is."""
    video_id, voice_id = at.args.id, at.args.voice_id
    voice = {} if voice_id is None else body_of(RegenerateVoice, voice_id=voice_id)
    request = create.completed(voice, at.args)
    if not request:
        progress = await at.service.voice_progress(video_id)
        show_record(progress, at.console)
        return {"video_id": video_id, "progress": redacted(progress)}
    return await _change(at, ops.VOICE, request, lambda: at.service.change_voice(video_id, request))


async def animate(at: Session) -> Document:
    """Animate one image into a clip of 5 or 10 seconds; it may speak."""
    args = at.args
    words = create.speech(args.narration, "--narration")
    request = body_of(
        ImageToVideo, image=args.image, duration_seconds=args.seconds, narration=words
    )
    return await _make(at, ops.ANIMATE, request)


async def avatar(at: Session) -> Document:
    """Have a recorded clip speak a new script."""
    words = create.speech(at.args.script, "--script")
    return await _make(at, ops.AVATAR, body_of(TalkingAvatar, clip=at.args.clip, script=words))


async def swap(at: Session) -> Document:
    """Put a character, or the person in photos, into a clip of 3 to 60 seconds."""
    args = at.args
    request = body_of(
        CharacterSwap,
        clip=args.clip,
        photos=args.photos,
        character_id=args.character,
        duration_seconds=args.seconds,
    )
    return await _make(at, ops.SWAP, request)


async def _change(
    at: Session, operation: Operation, request: Json, send: Callable[[], Awaitable[Started]]
) -> Document:
    """Pay for a change of a video that exists."""
    video_id = at.args.id
    await show_before(at, video_id)
    frozen = b"" if request is None else canonical_json(request)
    call = UnkeyedCall(operation=operation, body=frozen, video_id=video_id)
    return await _pay(at, call, send)


async def _make(at: Session, operation: Operation, request: dict[str, Json]) -> Document:
    """Pay for a clip, which is a new video."""
    args = at.args
    shared = create.given(
        title=args.title,
        topic=args.topic,
        aspect_ratio=args.aspect_ratio,
        language=args.language,
        voice_id=args.voice_id,
    )
    frozen = canonical_json(create.completed({**request, **shared}, args))
    call = UnkeyedCall(operation=operation, body=frozen)
    return await _pay(at, call, lambda: at.service.make(operation.name, frozen, key=None))


async def _pay(
    at: Session, call: UnkeyedCall, send: Callable[[], Awaitable[Created | Started]]
) -> Document:
    """Ask, then send once; say what is known of the cost and invent nothing."""
    of = "" if call.video_id is None else f" {call.video_id}"
    at.console.print("the service gives no quote for this: what it will charge is not known")
    await consent(
        at.args,
        f"Spend credits on it without a quote ({call.operation.name}{of})?",
        what=f"credits for {call.operation.name}{of}, at an unknown price, are",
    )
    made = await pay_once(at, call, send)
    video_id, begun = call.video_id or made.video_id, "begun" if call.video_id else "accepted"
    at.console.print(f"{plain(video_id)}: {plain(made.status or begun)}")
    at.console.print(
        f"`{suggest('video show', str(plain(video_id)), '--wait')}` waits for its video"
    )
    return {
        "video_id": video_id,
        "operation": call.operation.name,
        "status": made.status,
        "poll_after_seconds": made.poll_after,
        "quoted": None,
        "raw": redacted(made.raw),
    }


# Sends what is sent once: a paid call without a key, or one that would leave a second thing.
#
# The one way out for every operation of class ONCE (specification, section 4: none of them takes
# an idempotency key). A paid one is in the ledger before it leaves, and stays there as unsettled
# until its outcome was told or a person has settled it: what nobody was told would be typed again.
# When its answer is lost, what has changed since before the call is looked for.


T = TypeVar("T")
#: Makes the error of an unknown outcome from what is known of it.
Doubt = Callable[[str], Unsettled]

#: How often the effect of a call is looked for, and how long apart, in seconds.
SEARCHES, APART = 5, 1.0


@dataclass(frozen=True, kw_only=True)
class UnkeyedCall:
    """One paid call: the operation, its body as it is sent, and the video it changes, if any."""

    operation: Operation
    body: bytes = b""
    video_id: str | None = None


async def pay_once(
    at: Session, call: UnkeyedCall, send: Callable[[], Awaitable[Created | Started]]
) -> Created | Started:
    """Return what `send` returns; it is called once, whatever becomes of it.

    When its answer is lost, what shows that it was carried out is looked for. Raises SpendRefused,
    and sends nothing, while an earlier such call is not settled; Unsettled when nobody knows
    whether this one was carried out; the client's own errors when it was not.
    """
    assert at.ledger is not None, "a verb that pays has a ledger"
    earlier = await _state_before(at, call)
    record = journaled(
        at.ledger,
        organisation=organisation_of(at.settings),
        operation=call.operation.name,
        body=call.body,
        clock=time.time,
        target=call.video_id or NEW,
    )
    entry = await at.until_told.enter_async_context(record)
    try:
        made = await send_once(call.operation, send, _doubt_about(call, entry.number))
    except Unsettled as lost:
        found = None
        if isinstance(lost.__cause__, OutcomeUnknown):
            found = await _search(at, call, earlier)
        if found is None:
            raise
        made = found
    entry.video_id = made.video_id
    return made


async def send_once(operation: Operation, send: Callable[[], Awaitable[T]], doubt: Doubt) -> T:
    """Return what `send` returns; raise what `doubt` makes of the words, should that be unknown.

    Somebody who stops waiting for the answer does not know the outcome either.
    """
    sending = asyncio.ensure_future(send())
    try:
        with _first_signal_waits(sending):
            return await sending
    except OutcomeUnknown as error:
        raise doubt(str(error).rstrip(".")) from error
    except asyncio.CancelledError:
        raise doubt(f"{operation.name}: sent, but its answer was not waited for") from None


def _doubt_about(call: UnkeyedCall, number: int) -> Doubt:
    look = "`callsheet video list` shows whether there is a new video"
    if call.video_id is not None:
        shows = suggest("video show", call.video_id), suggest("video renders", call.video_id)
        look = f"`{shows[0]}`, `{shows[1]}`"
    adopt = suggest("resolve", "--call", str(number), "--adopt", "ID")
    settle = f"`{adopt}`, or `{suggest('resolve', '--call', str(number), '--abandon')}`"
    return lambda words: Unsettled(
        f"{words}; it may have been processed and charged",
        remedy=f"look first: {look}; then settle it: {settle}. "
        "Doing it again may pay a second time",
    )


@contextmanager
def _first_signal_waits(sending: asyncio.Future[Any]) -> Iterator[None]:
    """Let a call under way end at the first signal, and be left at the second."""
    warned = False

    def stop() -> None:
        nonlocal warned
        if warned:
            sending.cancel()
            return
        warned = True
        words = "waiting for the answer of the call; press Ctrl-C again to leave it"
        say(words)

    with on_signal(stop):
        yield


@dataclass(frozen=True, kw_only=True)
class _StateBefore:
    """What is known from before a call: the video it changes, or every video that was there."""

    sent_at: float
    video: Before | None = None
    videos: Baseline | None = None


async def _state_before(at: Session, call: UnkeyedCall) -> _StateBefore:
    """Read how things stand; what cannot be read cannot be told apart later."""
    video: Before | None = None
    videos: Baseline | None = None
    # A key that may not read can still be told to write: then a lost answer stays lost.
    with suppress(Forbidden):
        if call.video_id is not None:
            video = await before(at.service, call.video_id)
        elif at.ledger is not None:
            known = Baseline(at.ledger, at.service, organisation_of(at.settings))
            await known.refresh(at=time.time())
            videos = known
    return _StateBefore(sent_at=time.time(), video=video, videos=videos)


async def _search(
    at: Session, call: UnkeyedCall, earlier: _StateBefore
) -> Created | Started | None:
    """Return what the call made or began, once that is certain; None when it is not."""
    say("the answer was lost: looking for what the call has done")
    for _ in range(SEARCHES):
        with suppress(ServiceError):
            found = await _effect_of(at, call, earlier)
            if found is not None:
                return found
        await asyncio.sleep(APART)
    return None


async def _effect_of(
    at: Session, call: UnkeyedCall, earlier: _StateBefore
) -> Created | Started | None:
    if call.video_id is not None and earlier.video is not None:
        if not await was_changed(at.service, call.video_id, earlier.video):
            return None
        video = await at.service.get(call.video_id)
        return Started(
            video_id=video.id, status=video.status, poll_after=video.poll_after, raw=video.raw
        )
    if earlier.videos is None:
        return None
    found, _ = await made_by(earlier.videos, json.loads(call.body), earlier.sent_at)
    if found is None:
        return None
    return Created(
        video_id=found.id, status=found.status, poll_after=found.poll_after, raw=found.raw
    )
