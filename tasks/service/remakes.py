"""The paid operations on a video that exists. None takes an idempotency key: each is sent once.

Their bodies are not in the specification, so they are passed through; `bodies.py` has what is
likely.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tasks.brief import Json, canonical_json
from tasks.service import operations as ops
from tasks.service import records
from tasks.service.connection import Connection
from tasks.service.operations import Operation
from tasks.service.values import Started


class Remakes(Connection):
    """Remakes: a new film of an old video, whole or in part."""

    async def generate(self, video_id: str) -> Started:
        """Start or re-run generation; raise Conflict when it is already generating."""
        return await self._start(ops.GENERATE, video_id)

    async def render(self, video_id: str, request: Mapping[str, Json] | None = None) -> Started:
        """Export again, after edits."""
        return await self._start(ops.RENDER, video_id, request)

    async def regenerate_scene(
        self, video_id: str, scene: int, request: Mapping[str, Json] | None = None
    ) -> Started:
        """Regenerate one scene, 1-based; the others stay as they are."""
        return await self._start(ops.SCENE, video_id, request, scene=scene)

    async def change_voice(self, video_id: str, request: Mapping[str, Json]) -> Started:
        """Regenerate the voiceover with another voice."""
        return await self._start(ops.VOICE, video_id, request)

    async def voice_progress(self, video_id: str) -> Json:
        """Return how far the new voiceover is, in whatever shape."""
        return await self._call(ops.VOICE_PROGRESS, records.opaque, video_id=video_id)

    async def _start(
        self,
        operation: Operation,
        video_id: str,
        request: Mapping[str, Json] | None = None,
        *,
        scene: int | None = None,
    ) -> Started:
        body = None if request is None else canonical_json(request)
        read = partial(records.started, shapes=self._shapes, asked=video_id)
        return await self._call(operation, read, video_id=video_id, scene=scene, body=body)
