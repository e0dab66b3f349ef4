"""Owns what happens to the connection: closed, reset, silent, slow, or gone with the service."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace

from deployments.sandbox.faults.answer import Answer, begin
from deployments.sandbox.faults.call import Call
from deployments.sandbox.faults.connection import head

#: What a shell says of a process ended by SIGKILL.
KILLED = 137


async def _drop_before(call: Call) -> None:
    await call.connection.drop()


async def _drop_after(call: Call) -> None:
    await call.act()
    await call.connection.drop()


async def _reset_before(call: Call) -> None:
    await call.connection.reset()


async def _reset_after(call: Call) -> None:
    await call.act()
    await call.connection.reset()


async def _hang_before(call: Call) -> None:
    await call.connection.gone()


async def _hang(call: Call) -> None:
    await call.act()
    await call.connection.gone()


async def _crash_before(call: Call) -> None:
    os._exit(KILLED)


async def _crash_after(call: Call) -> None:
    await call.act()
    os._exit(KILLED)


async def _slow_before(call: Call) -> None:
    await asyncio.sleep(call.fault.seconds)
    await call.give(await call.act())


async def _slow(call: Call) -> None:
    answer = await call.act()
    await asyncio.sleep(call.fault.seconds)
    await call.give(answer)


async def _drip(call: Call) -> None:
    answer = await call.act()
    await begin(answer, call.send)
    async for drop in _drops(call, answer.body):
        await call.send({"type": "http.response.body", "body": drop, "more_body": True})
    await call.send({"type": "http.response.body", "body": b""})


async def _drip_headers(call: Call) -> None:
    answer = await call.act()
    whole = head(answer.status, answer.headers, clock=call.house.now()) + answer.body
    async for drop in _drops(call, whole):
        call.connection.write(drop)
    await call.connection.drop()


async def _drops(call: Call, body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), call.fault.bytes):
        if call.connection.closing:
            return
        yield body[at : at + call.fault.bytes]
        await asyncio.sleep(call.fault.seconds)


async def _close_idle(call: Call) -> None:
    await call.give(await call.act())
    await asyncio.sleep(call.fault.seconds)
    await call.connection.drop()


async def _cut_body(call: Call) -> None:
    answer = await call.act()
    if call.fault.framing == "close":
        await call.give(replace(answer, body=_half(answer)), "close")
        return
    if call.fault.framing == "chunked":
        answer = answer.labelled(**{"content-length": None})
    await _begin_half(call, answer)
    await call.connection.drop()


async def _reset_midway(call: Call) -> None:
    await _begin_half(call, await call.act())
    await call.connection.reset()


async def _begin_half(call: Call, answer: Answer) -> None:
    await begin(answer, call.send)
    await call.send({"type": "http.response.body", "body": _half(answer), "more_body": True})


def _half(answer: Answer) -> bytes:
    return answer.body[: len(answer.body) // 2]


STRIKES: Mapping[str, Callable[[Call], Awaitable[None]]] = {
    "drop-before": _drop_before,
    "drop-after": _drop_after,
    "reset-before": _reset_before,
    "reset-after": _reset_after,
    "hang-before": _hang_before,
    "hang": _hang,
    "crash-before": _crash_before,
    "crash-after": _crash_after,
    "slow-before": _slow_before,
    "slow": _slow,
    "drip": _drip,
    "drip-headers": _drip_headers,
    "close-idle": _close_idle,
    "cut-body": _cut_body,
    "reset-midway": _reset_midway,
}
