"""The paid verbs without a quote: generate, render, scene, voice; animate, avatar, swap.

None of them takes an idempotency key and none is quoted (specification, section 4): each is
asked for, then sent once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from callsheet.deployments.direct import request_body
from callsheet.deployments.direct.answer_view import show_record
from callsheet.deployments.direct.session import Document, Session
from callsheet.deployments.direct.unkeyed_call import UnkeyedCall, pay_once
from callsheet.deployments.direct.video_verbs import show_before
from callsheet.deployments.terminal import consent, plain
from callsheet.tasks.brief import Json, canonical_json
from callsheet.tasks.errors import BadInput
from callsheet.tasks.redact import redacted
from callsheet.tasks.requests import CharacterSwap, ImageToVideo, TalkingAvatar
from callsheet.tasks.service import Created, Operation, Started
from callsheet.tasks.service import operations as ops
from callsheet.tasks.service.bodies import RegenerateScene, RegenerateVoice, body_of
from callsheet.tasks.suggest import suggest


async def generate(at: Session) -> Document:
    """Render a draft, or render again after edits."""
    return await _change(at, ops.GENERATE, None, lambda: at.service.generate(at.args.id))


async def render(at: Session) -> Document:
    """Export again."""
    request = request_body.completed({}, at.args) or None
    return await _change(at, ops.RENDER, request, lambda: at.service.render(at.args.id, request))


async def scene(at: Session) -> Document:
    """Regenerate one scene; the others stay as they are."""
    video_id, number = at.args.id, at.args.number
    if number < 1:
        raise BadInput(f"there is no scene {number}: they are counted from 1")
    words = request_body.speech(at.args.narration, "--narration")
    request = request_body.completed(body_of(RegenerateScene, narration=words), at.args) or None
    return await _change(
        at, ops.SCENE, request, lambda: at.service.regenerate_scene(video_id, number, request)
    )


async def voice(at: Session) -> Document:
    """Regenerate the voiceover; without a voice, show how far the last one is."""
    video_id, voice_id = at.args.id, at.args.voice_id
    voice = {} if voice_id is None else body_of(RegenerateVoice, voice_id=voice_id)
    request = request_body.completed(voice, at.args)
    if not request:
        progress = await at.service.voice_progress(video_id)
        show_record(progress, at.console)
        return {"video_id": video_id, "progress": redacted(progress)}
    return await _change(at, ops.VOICE, request, lambda: at.service.change_voice(video_id, request))


async def animate(at: Session) -> Document:
    """Animate one image into a clip of 5 or 10 seconds; it may speak."""
    args = at.args
    words = request_body.speech(args.narration, "--narration")
    request = body_of(
        ImageToVideo, image=args.image, duration_seconds=args.seconds, narration=words
    )
    return await _make(at, ops.ANIMATE, request)


async def avatar(at: Session) -> Document:
    """Have a recorded clip speak a new script."""
    words = request_body.speech(at.args.script, "--script")
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
    shared = request_body.given(
        title=args.title,
        topic=args.topic,
        aspect_ratio=args.aspect_ratio,
        language=args.language,
        voice_id=args.voice_id,
    )
    frozen = canonical_json(request_body.completed({**request, **shared}, args))
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
