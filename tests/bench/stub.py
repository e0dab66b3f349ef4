"""A video service that renders at once: what is left to measure is the caller.

`python -m tests.bench.stub VIDEO...` prints its base address and ends with its standard input. It
speaks the specification's shapes, creates once per key, and counts what it was asked. Of several
videos a video has always the same one. With STUB_LATENCY in its environment every answer takes so
many seconds longer.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

SRT = b"1\n00:00:00,000 --> 00:00:01,000\nA kettle that hums in tune.\n"
VTT = b"WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nA kettle that hums in tune.\n"
ROOT = "/api/v1/videos"
LARGE = 1024 * 1024
LATENCY = float(os.environ.get("STUB_LATENCY", "0"))


class Stub:
    """The service: a low-level handler without routes, which costs a third of one with them."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.base = ""
        self._files = files
        #: A small video is answered from memory, a large one straight from its file.
        self._small = {file: file.read_bytes() for file in files if file.stat().st_size < LARGE}
        self._videos: dict[str, str] = {}
        self._known: set[str] = set()
        self._calls: Counter[str] = Counter()
        #: When the first create came, on the clock that all processes share.
        self._began: float | None = None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if LATENCY:
            await asyncio.sleep(LATENCY)
        path = request.path
        if path == "/calls":
            calls = dict(self._calls) | {"charged": len(self._videos)}
            self._calls.clear()
            self._videos.clear()
            return web.json_response(calls)
        if path == "/began":
            began, self._began = self._began, None
            return web.json_response({"create": began})
        if path.startswith("/videos/"):
            self._calls["video"] += 1
            return self._video(self._files[zlib.crc32(path.encode()) % len(self._files)])
        if not request.headers.get("Authorization", "").startswith("Bearer mav_"):
            return _refusal(401, "the token is missing")
        if request.method == "POST":
            return await self._post(path, await request.read())
        return self._get(path, request.query_string)

    def _video(self, file: Path) -> web.StreamResponse:
        if file in self._small:
            return web.Response(body=self._small[file], content_type="video/mp4")
        return web.FileResponse(file, chunk_size=LARGE)

    async def _post(self, path: str, body: bytes) -> web.Response:
        asked = json.loads(body)
        if path == f"{ROOT}/estimate":
            self._calls["estimate"] += 1
            return _answer({"credits": 12})
        self._calls["create"] += 1
        self._began = self._began or time.monotonic()
        key = asked["idempotency_key"]
        video = self._videos.setdefault(key, f"vid_{key[-40:].replace(':', '_')}")
        self._known.add(video)
        return _answer({"id": video, "status": "generating", "poll_after_seconds": 0}, 202)

    def _get(self, path: str, query: str) -> web.Response:
        video, _, what = path.removeprefix(f"{ROOT}/").partition("/")
        if video not in self._known:
            return _refusal(404, "no such video")
        self._calls[what or "get"] += 1
        if what == "download":
            return _answer({"url": f"{self.base}/videos/{video}.mp4?signature=0a1b2c3d"})
        if what == "captions":
            text = VTT if query == "format=vtt" else SRT
            return web.Response(body=text, content_type="text/plain")
        return _answer({"id": video, "status": "completed", "credits_charged": 12})


def _answer(data: object, status: int = 200) -> web.Response:
    body = json.dumps({"data": data, "error": None, "meta": {}}).encode()
    return web.Response(body=body, status=status, content_type="application/json")


def _refusal(status: int, words: str) -> web.Response:
    error = {"message": words, "code": "refused", "retryable": False}
    body = json.dumps({"data": None, "error": error, "meta": {}}).encode()
    return web.Response(body=body, status=status, content_type="application/json")


async def main() -> None:
    """Serve on a free port until the parent is gone."""
    stub = Stub([Path(file) for file in sys.argv[1:]])
    runner = web.ServerRunner(web.Server(stub.handle, access_log=None))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    stub.base = f"http://{host}:{port}"
    print(stub.base, flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
