"""Owns what happens to the connection: closed, reset, silent, slow, or gone with the service."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial

from callsheet.deployments.sandbox.faults.answer import Answer, begin
from callsheet.deployments.sandbox.faults.struck import ClientConnection, StruckCall, head

#: What a shell says of a process ended by SIGKILL.
KILLED = 137
How = Callable[[ClientConnection], Awaitable[None]]


async def _end(call: StruckCall, how: How, *, acts: bool = False) -> None:
    if acts:
        await call.act()
    await how(call.connection)


async def _crash(call: StruckCall, *, acts: bool) -> None:
    if acts:
        await call.act()
    os._exit(KILLED)


async def _slow_before(call: StruckCall) -> None:
    await asyncio.sleep(call.fault.seconds)
    await call.give(await call.act())


async def _slow(call: StruckCall) -> None:
    answer = await call.act()
    await asyncio.sleep(call.fault.seconds)
    await call.give(answer)


async def _drip(call: StruckCall) -> None:
    answer = await call.act()
    await begin(answer, call.send)
    async for drop in _drops(call, answer.body):
        await call.send({"type": "http.response.body", "body": drop, "more_body": True})
    await call.send({"type": "http.response.body", "body": b""})


async def _drip_headers(call: StruckCall) -> None:
    answer = await call.act()
    whole = head(answer.status, answer.headers, clock=call.container.now()) + answer.body
    async for drop in _drops(call, whole):
        call.connection.write(drop)
    await call.connection.drop()


async def _drops(call: StruckCall, body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), call.fault.bytes):
        if call.connection.closing:
            return
        yield body[at : at + call.fault.bytes]
        await asyncio.sleep(call.fault.seconds)


async def _close_idle(call: StruckCall) -> None:
    await call.give(await call.act())
    await asyncio.sleep(call.fault.seconds)
    await call.connection.drop()


async def _cut_body(call: StruckCall) -> None:
    answer = await call.act()
    if call.fault.framing == "close":
        await call.give(replace(answer, body=_half(answer)), "close")
        return
    if call.fault.framing == "chunked":
        answer = answer.labelled(**{"content-length": None})
    await _begin_half(call, answer)
    await call.connection.drop()


async def _reset_midway(call: StruckCall) -> None:
    await _begin_half(call, await call.act())
    await call.connection.reset()


async def _begin_half(call: StruckCall, answer: Answer) -> None:
    await begin(answer, call.send)
    await call.send({"type": "http.response.body", "body": _half(answer), "more_body": True})


def _half(answer: Answer) -> bytes:
    return answer.body[: len(answer.body) // 2]


BREAKS: Mapping[str, Callable[[StruckCall], Awaitable[None]]] = {
    "drop-before": partial(_end, how=ClientConnection.drop),
    "drop-after": partial(_end, how=ClientConnection.drop, acts=True),
    "reset-before": partial(_end, how=ClientConnection.reset),
    "reset-after": partial(_end, how=ClientConnection.reset, acts=True),
    "hang-before": partial(_end, how=ClientConnection.gone),
    "hang": partial(_end, how=ClientConnection.gone, acts=True),
    "crash-before": partial(_crash, acts=False),
    "crash-after": partial(_crash, acts=True),
    "slow-before": _slow_before,
    "slow": _slow,
    "drip": _drip,
    "drip-headers": _drip_headers,
    "close-idle": _close_idle,
    "cut-body": _cut_body,
    "reset-midway": _reset_midway,
}
