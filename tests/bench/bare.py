"""The same calls without Callsheet: a script that remembers nothing and checks nothing.

`python -m tests.bench.bare httpx|aiohttp BASE_URL ROWS AT_ONCE FOLDER` makes the calls that
Callsheet makes for each row and writes the files plainly. No ledger, no fsync, no digest, no
look at the video, no retry: what is killed is lost, and paid again.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

KEY = {"Authorization": "Bearer mav_bench"}
#: Sends method, address and JSON; returns the body.
Send = Callable[[str, str, Any], Awaitable[bytes]]


def brief(n: int) -> dict[str, Any]:
    """Return what row `n` of the sheet asks of the service."""
    return {
        "tool": "product-launch",
        "fields": {"product": f"Kettle {n}"},
        "title": f"Video {n}",
        "duration_seconds": 5,
        "aspect_ratio": "9:16",
    }


async def quote(send: Send, base: str, n: int) -> None:
    """Ask what one row costs."""
    json.loads(await send("POST", f"{base}/videos/estimate", brief(n)))


async def produce(send: Send, base: str, n: int, folder: Path) -> None:
    """Make one video and write it with its captions."""
    body = {**brief(n), "start_generation": True, "idempotency_key": f"bare:{folder.name}:{n:05}"}
    made = json.loads(await send("POST", f"{base}/videos", body))["data"]
    video = f"{base}/videos/{made['id']}"
    assert json.loads(await send("GET", video, None))["data"]["status"] == "completed"
    address = json.loads(await send("GET", f"{video}/download", None))["data"]["url"]
    place = folder / f"r{n:03}"
    place.mkdir(parents=True)
    (place / f"r{n:03}-take1.mp4").write_bytes(await send("GET", address, None))
    for kind in ("srt", "vtt"):
        text = await send("GET", f"{video}/captions?format={kind}", None)
        (place / f"r{n:03}-take1.{kind}").write_bytes(text)


async def all_of(calls: Iterable[Awaitable[None]], *, at_once: int) -> float:
    """Await everything, so many at once; return the seconds it took."""
    started, waiting = time.perf_counter(), iter(calls)

    async def work() -> None:
        for call in waiting:
            await call

    await asyncio.gather(*(work() for _ in range(at_once)))
    return time.perf_counter() - started


async def with_httpx(base: str, rows: int, at_once: int, folder: Path) -> float:
    """Use httpx over aiohttp."""
    import httpx
    from httpx_aiohttp import AiohttpTransport

    async with httpx.AsyncClient(transport=AiohttpTransport(), headers=KEY) as client:

        async def send(method: str, address: str, body: Any) -> bytes:
            answer = await client.request(method, address, json=body)
            answer.raise_for_status()
            return answer.content

        return await _both(send, base, rows, at_once, folder)


async def with_aiohttp(base: str, rows: int, at_once: int, folder: Path) -> float:
    """Use aiohttp itself: the most that asyncio gives."""
    import aiohttp

    async with aiohttp.ClientSession(headers=KEY, raise_for_status=True) as session:

        async def send(method: str, address: str, body: Any) -> bytes:
            async with session.request(method, address, json=body) as answer:
                return await answer.read()

        return await _both(send, base, rows, at_once, folder)


async def _both(send: Send, base: str, rows: int, at_once: int, folder: Path) -> float:
    numbers = range(1, rows + 1)
    await all_of((quote(send, base, n) for n in numbers), at_once=at_once)
    return await all_of((produce(send, base, n, folder) for n in numbers), at_once=at_once)


if __name__ == "__main__":
    _, kind, url, count, width, place = sys.argv
    run = {"httpx": with_httpx, "aiohttp": with_aiohttp}[kind]
    print(asyncio.run(run(url, int(count), int(width), Path(place))))
