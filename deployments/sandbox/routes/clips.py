"""Owns the helper operations that make a clip from the caller's own picture or footage."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from fastapi import APIRouter, Depends, Request, Response

from deployments.sandbox.bodies import body_of
from deployments.sandbox.clip_bodies import CharacterSwap, ClipBody, ImageToVideo, TalkingAvatar
from deployments.sandbox.clips import KINDS, create_clip, pictures_in
from deployments.sandbox.envelope import success
from deployments.sandbox.house import House
from deployments.sandbox.pictures import keep_picture
from deployments.sandbox.records import VideoCreated
from deployments.sandbox.routes.operation import PAID, add, call_of
from deployments.sandbox.routes.videos import new_video_id

IMAGE = Depends(body_of(ImageToVideo))
AVATAR = Depends(body_of(TalkingAvatar))
SWAP = Depends(body_of(CharacterSwap))


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/videos", tags=["Videos"])
    ops = Clips(house)
    op = partial(add, routes, house, "POST", scope="ai", status=202, answer=VideoCreated,
                 refusals=[400, *PAID])  # fmt: skip
    op("/image-to-video", ops.image_to_video, name="image-to-video", body=ImageToVideo)
    op("/talking-avatar", ops.talking_avatar, name="talking-avatar", body=TalkingAvatar)
    op("/character-swap", ops.character_swap, name="character-swap", body=CharacterSwap)
    return routes


class Clips:
    """The operations themselves. None takes an idempotency key."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def image_to_video(self, request: Request, asked: ImageToVideo = IMAGE) -> Response:
        """Animate one image into a clip of 5 or 10 seconds."""
        return await self._create(request, asked)

    async def talking_avatar(self, request: Request, asked: TalkingAvatar = AVATAR) -> Response:
        """Let the caller's own filmed clip speak a new script."""
        return await self._create(request, asked)

    async def character_swap(self, request: Request, asked: CharacterSwap = SWAP) -> Response:
        """Swap the person in a clip, for 3 to 60 seconds."""
        return await self._create(request, asked)

    async def _create(self, request: Request, asked: ClipBody) -> Response:
        house, video_id = self._house, new_video_id()
        call = call_of(house, request, KINDS[type(asked)])
        file = f"{video_id}-picture.jpg"
        kept = await asyncio.to_thread(_keep_first, asked, house.films / file)
        try:
            made = await house.database.run(
                lambda db: create_clip(
                    db, asked, video_id=video_id, picture=file if kept else None, call=call
                )
            )
        except Exception:
            house.studio.discard(video_id)
            raise
        house.studio.begin(made)
        return success(made.created(call.now), status=202)


def _keep_first(asked: ClipBody, path: Path) -> bool:
    """Keep the first picture that came with a request; False when none did."""
    return any(keep_picture(address, path) for address in pictures_in(asked))
