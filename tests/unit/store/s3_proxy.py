"""A proxy in front of a real S3 server that makes the trouble a test asks for."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

from tests.stores import S3Server

Forward = Callable[[], Awaitable[web.Response]]
#: Returns the answer to send; None hangs up without one.
Trouble = Callable[[web.Request, bytes, Forward], Awaitable[web.Response | None]]


@dataclass
class S3Proxy:
    """`server` is the way through the proxy; `trouble` may be changed at any time."""

    server: S3Server
    trouble: Trouble | None = None
    seen: list[tuple[str, str]] = field(default_factory=list)

    def count(self, method: str) -> int:
        return sum(1 for seen, _ in self.seen if seen == method)


@asynccontextmanager
async def s3_proxy(behind: S3Server, trouble: Trouble | None = None) -> AsyncIterator[S3Proxy]:
    """Put a proxy in front of `behind`."""
    proxy = S3Proxy(behind, trouble)
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            proxy.seen.append((request.method, request.path))

            async def forward() -> web.Response:
                url = behind.endpoint + request.raw_path
                async with session.request(
                    request.method, url, headers=request.headers, data=body or None
                ) as answer:
                    skip = {"transfer-encoding", "connection", "date", "server"}
                    kept = [(k, v) for k, v in answer.headers.items() if k.lower() not in skip]
                    return web.Response(
                        status=answer.status, headers=kept, body=await answer.read()
                    )

            done = await (proxy.trouble(request, body, forward) if proxy.trouble else forward())
            if done is None:
                request.transport.abort()
                return web.Response()
            return done

        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        proxy.server = behind.through(f"http://127.0.0.1:{port}")
        try:
            yield proxy
        finally:
            await runner.cleanup()


def refusal(status: int, code: str) -> web.Response:
    """An error as S3 writes it, with words that must not reach people."""
    words = "<Message>canary AWSAccessKeyId=canary</Message>"
    text = f"<Error><Code>{code}</Code>{words}<RequestId>r</RequestId></Error>"
    return web.Response(status=status, text=text, content_type="application/xml")


async def checking(request: web.Request, body: bytes, forward: Forward) -> web.Response | None:
    """Behave as Amazon does with SHA-256: refuse what does not fit, tell what does."""
    said = request.headers.get("x-amz-checksum-sha256")
    if said and said != base64.b64encode(hashlib.sha256(body).digest()).decode():
        return refusal(400, "BadDigest")
    answer = await forward()
    if said and answer.status == 200:
        answer.headers["x-amz-checksum-sha256"] = said
    if request.headers.get("x-amz-checksum-mode") == "ENABLED" and answer.status == 200:
        label = answer.headers.get("x-amz-meta-callsheet-sha256")
        if label:
            raw = base64.b64encode(bytes.fromhex(label)).decode()
            answer.headers["x-amz-checksum-sha256"] = raw
    return answer
