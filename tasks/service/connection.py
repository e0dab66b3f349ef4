"""What every operation of the client stands on: one address, one key, one gate, one way to ask.

Knows no operation; the groups of operations build on it.
"""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import Callable
from typing import Self, TypeVar
from urllib.parse import quote

import httpx

from tasks.brief import Json
from tasks.clock import Clock, Random, Sleep, utc_now
from tasks.errors import BadInput
from tasks.service.answer import Answer
from tasks.service.call import Call
from tasks.service.calls import Calls
from tasks.service.gate import Gate
from tasks.service.operations import Operation
from tasks.service.sending import LONGEST, Sender
from tasks.service.shapes import Shapes
from tasks.service.telling import Teller
from tasks.service.values import Attempt
from tasks.service.wire import Wire

T = TypeVar("T")
_SHAPES = Shapes()


class Connection:
    """One service, one key. Use it as `async with`; share `gate` with all clients of the key.

    `on_attempt` is called after every request and must not raise. One request may take `longest`
    seconds, however it trickles.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        transport: httpx.AsyncBaseTransport | None = None,
        gate: Gate | None = None,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
        concurrency: int = 64,
        on_attempt: Callable[[Attempt], None] | None = None,
        shapes: Shapes = _SHAPES,
        longest: float = LONGEST,
    ) -> None:
        self.gate = gate or Gate(clock=clock, sleep=sleep, random=random)
        self._shapes = shapes
        self._wire = Wire(
            base_url=base_url, api_key=api_key, transport=transport, limit=concurrency + 8
        )
        sender = Sender(
            self._wire,
            self.gate,
            Teller(on_attempt),
            clock=clock,
            random=random,
            concurrency=concurrency,
            longest=longest,
        )
        self._calls = Calls(sender, clock=clock, sleep=sleep, random=random)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    async def _ask(
        self,
        operation: Operation,
        read: Callable[[Json, Shapes], T],
        *,
        video_id: str | None = None,
        webhook_id: str | None = None,
        scene: int | None = None,
        query: str = "",
        body: bytes | None = None,
        key: str | None = None,
    ) -> T:
        def parse(answer: Answer) -> T:
            return read(answer.json(), self._shapes)

        return await self._call(
            operation,
            parse,
            video_id=video_id,
            webhook_id=webhook_id,
            scene=scene,
            query=query,
            body=body,
            key=key,
        )

    async def _call(
        self,
        operation: Operation,
        read: Callable[[Answer], T],
        *,
        video_id: str | None = None,
        webhook_id: str | None = None,
        scene: int | None = None,
        query: str = "",
        body: bytes | None = None,
        key: str | None = None,
    ) -> T:
        target = _target(operation, video_id, webhook_id, scene) + query
        return await self._calls.make(
            Call(operation=operation, target=target, read=read, body=body, key=key)
        )


def _target(
    operation: Operation, video_id: str | None, webhook_id: str | None, scene: int | None
) -> str:
    target = operation.path
    for kind, named in (("video", video_id), ("webhook", webhook_id)):
        if named is not None:
            if not named.strip(". /"):
                raise BadInput(f'"{named}" is not the id of a {kind}')
            target = target.replace("{id}", quote(named, safe=""))
    if scene is not None:
        if scene < 1:
            raise BadInput(f"there is no scene {scene}: they are counted from 1")
        target = target.replace("{n}", str(scene))
    return target
