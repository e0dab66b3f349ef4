"""DBOS: a workflow a row with four steps, in DBOS's own SQLite file.

`python -m tests.bench.peers.dbos_workflow BASE_URL ROWS AT_ONCE FOLDER`. Workflows are started
directly, so many at once: on one of its queues they take longer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from dbos import DBOS, DBOSConfig
from httpx_aiohttp import AiohttpTransport

from tests.bench.bare import KEY, brief

_, base, count, width, place = sys.argv
videos = Path(place)
http = httpx.AsyncClient(transport=AiohttpTransport(), headers=KEY)


async def send(method: str, address: str, body: Any = None) -> bytes:
    answer = await http.request(method, address, json=body)
    answer.raise_for_status()
    return answer.content


async def ask(method: str, address: str, body: Any = None) -> Any:
    return json.loads(await send(method, address, body))["data"]


@DBOS.step()
async def quote(n: int) -> int:
    return int((await ask("POST", f"{base}/videos/estimate", brief(n)))["credits"])


@DBOS.step()
async def create(n: int) -> str:
    key = f"peer:{videos.name}:{n:05}"
    body = {**brief(n), "start_generation": True, "idempotency_key": key}
    return str((await ask("POST", f"{base}/videos", body))["id"])


@DBOS.step()
async def poll(video: str) -> str:
    assert (await ask("GET", f"{base}/videos/{video}"))["status"] == "completed"
    return str((await ask("GET", f"{base}/videos/{video}/download"))["url"])


@DBOS.step()
async def deliver(n: int, address: str) -> int:
    folder = videos / f"r{n:03}"
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / f"r{n:03}-take1.mp4").write_bytes(await send("GET", address))


@DBOS.workflow()
async def produce(n: int) -> int:
    await quote(n)
    return await deliver(n, await poll(await create(n)))


async def work(numbers: Any) -> None:
    for n in numbers:
        handle = await DBOS.start_workflow_async(produce, n)
        await handle.get_result()


async def main() -> float:
    config: DBOSConfig = {
        "name": "videos",
        "system_database_url": f"sqlite:///{place}.sqlite",
        "log_level": "WARNING",
    }
    DBOS(config=config)
    DBOS.launch()
    started = time.perf_counter()
    numbers = iter(range(1, int(count) + 1))
    await asyncio.gather(*(work(numbers) for _ in range(int(width))))
    seconds = time.perf_counter() - started
    await http.aclose()
    return seconds


if __name__ == "__main__":
    print(asyncio.run(main()), flush=True)
    DBOS.destroy()
