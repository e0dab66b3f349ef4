"""The paid verbs on a video that exists: generate, render, scene, voice.

None of them takes an idempotency key and none is quoted (specification, section 4): each is
asked for, then sent once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from deployments.direct import body
from deployments.direct.approval import ask
from deployments.direct.looks import look_before
from deployments.direct.once import pay_once
from deployments.direct.safe import safe, show_record
from deployments.direct.session import Document, Session
from deployments.direct.trace import Paid
from deployments.terminal import plain
from tasks.brief import Json, canonical_json
from tasks.errors import BadInput
from tasks.service import Operation, Started, bodies
from tasks.service import operations as ops


async def generate(at: Session) -> Document:
    """Render a draft, or render again after edits."""
    return await _start(at, ops.GENERATE, None, lambda: at.service.generate(at.args.id))


async def render(at: Session) -> Document:
    """Export again."""
    request = body.completed({}, at.args) or None
    return await _start(at, ops.RENDER, request, lambda: at.service.render(at.args.id, request))


async def scene(at: Session) -> Document:
    """Regenerate one scene; the others stay as they are."""
    number = at.args.number
    if number < 1:
        raise BadInput(f"there is no scene {number}: they are counted from 1")
    words = body.speech(at.args.narration, "--narration")
    request = body.completed(bodies.scene(words), at.args) or None
    return await _start(
        at,
        ops.SCENE,
        request,
        lambda: at.service.regenerate_scene(at.args.id, number, request),
    )


async def voice(at: Session) -> Document:
    """Regenerate the voiceover; without a voice, show how far the last one is."""
    video_id, voice_id = at.args.id, at.args.voice_id
    request = body.completed({} if voice_id is None else bodies.voice(voice_id), at.args)
    if not request:
        progress = await at.service.voice_progress(video_id)
        show_record(progress, at.console)
        return {"video_id": video_id, "progress": safe(progress)}
    return await _start(at, ops.VOICE, request, lambda: at.service.change_voice(video_id, request))


async def _start(
    at: Session, operation: Operation, request: Json, send: Callable[[], Awaitable[Started]]
) -> Document:
    """Ask, then send once; say what is known of the cost and invent nothing."""
    video_id = at.args.id
    await look_before(at, video_id)
    at.console.print("the service gives no quote for this: what it will charge is not known")
    await ask(
        at,
        f"Spend credits on it without a quote ({operation.name} {video_id})?",
        what=f"credits for {operation.name} {video_id}, at a price the service did not say, are",
    )
    frozen = b"" if request is None else canonical_json(request)
    call = Paid(operation=operation, body=frozen, video_id=video_id)
    started = await pay_once(at, call, send)
    at.console.print(f"{plain(video_id)}: {plain(started.status or 'begun')}")
    at.console.print(f"callsheet video show {plain(video_id)} --wait")
    return {
        "video_id": video_id,
        "operation": operation.name,
        "status": started.status,
        "poll_after_seconds": started.poll_after,
        "quoted": None,
        "raw": safe(started.raw),
    }
