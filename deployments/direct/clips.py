"""The paid verbs that make a clip: animate, avatar, swap (specification, section 4, scope `ai`).

None of them takes an idempotency key and none is quoted: each is asked for, then sent once.
"""

from __future__ import annotations

from deployments.direct import body
from deployments.direct.approval import ask
from deployments.direct.once import pay_once
from deployments.direct.safe import safe
from deployments.direct.session import Document, Session
from deployments.direct.trace import Paid
from deployments.terminal import plain
from tasks.brief import Json, canonical_json
from tasks.service import Operation, bodies
from tasks.service import operations as ops


async def animate(at: Session) -> Document:
    """Animate one image into a clip of 5 or 10 seconds; it may speak."""
    args = at.args
    words = body.speech(args.narration, "--narration")
    request = bodies.image_to_video(args.image, seconds=args.seconds, narration=words)
    return await _make(at, ops.ANIMATE, request)


async def avatar(at: Session) -> Document:
    """Have a filmed clip speak a new script."""
    words = body.speech(at.args.script, "--script")
    return await _make(at, ops.AVATAR, bodies.talking_avatar(at.args.clip, words))


async def swap(at: Session) -> Document:
    """Put a character, or the person in photos, into a clip of 3 to 60 seconds."""
    args = at.args
    request = bodies.character_swap(
        args.clip, photos=args.photos, character_id=args.character, seconds=args.seconds
    )
    return await _make(at, ops.SWAP, request)


async def _make(at: Session, operation: Operation, request: dict[str, Json]) -> Document:
    args = at.args
    shared = body.given(
        title=args.title,
        topic=args.topic,
        aspect_ratio=args.aspect_ratio,
        language=args.language,
        voice_id=args.voice_id,
    )
    frozen = canonical_json(body.completed({**request, **shared}, args))
    at.console.print("the service gives no quote for this: what it will charge is not known")
    await ask(
        at,
        f"Spend credits on it without a quote ({operation.name})?",
        what=f"credits for {operation.name}, at a price the service did not say, are",
    )
    call = Paid(operation=operation, body=frozen)
    made = await pay_once(at, call, lambda: at.service.make(operation.name, frozen, key=None))
    at.console.print(f"{plain(made.video_id)}: {plain(made.status or 'accepted')}")
    at.console.print(f"callsheet video show {plain(made.video_id)} --wait")
    return {
        "video_id": made.video_id,
        "operation": operation.name,
        "status": made.status,
        "poll_after_seconds": made.poll_after,
        "quoted": None,
        "raw": safe(made.raw),
    }
