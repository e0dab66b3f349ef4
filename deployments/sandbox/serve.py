"""The sandbox's application and its server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

import uvicorn
from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.dialect import Dialect
from callsheet.deployments.sandbox.envelope import Refusal, RefusedCall, describe
from callsheet.deployments.sandbox.faults.layer import FaultLayer, Operations
from callsheet.deployments.sandbox.faults.planned import FaultRefused, read_script
from callsheet.deployments.sandbox.faults.struck import ShowingProtocol
from callsheet.deployments.sandbox.options import OptionRefused, Options
from callsheet.deployments.sandbox.routes import (
    account,
    catalog,
    control,
    programs,
    video_files,
    videos,
)

#: An installation that only ever works with a real service has no use for it.
NO_ENCODER = (
    "The encoder that the sandbox makes videos with is not installed: pip install "
    "'callsheet[sandbox]' brings it, as `make install` does."
)


def serve(options: Options) -> int:
    """Run the sandbox until it is told to stop; give the exit status."""
    try:
        if find_spec("imageio_ffmpeg") is None:
            raise OptionRefused(NO_ENCODER)
        listening = _listen(options)
    except OptionRefused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    with listening:
        try:
            container = Container(options)
            app = create_app(container)
            if options.script is not None:
                container.faults.plan(read_script(options.script), source=f"{options.script}, ")
        except (OptionRefused, FaultRefused) as refusal:
            print(refusal, file=sys.stderr)
            return 2
        container.origin = options.origin or _origin(listening)
        server = _SandboxServer(app, ready=lambda: _announce(container))
        if options.exit_with_parent:
            threading.Thread(target=server.stop_with_parent, daemon=True).start()
        server.run(sockets=[listening])
    return 0


class _SandboxServer(uvicorn.Server):
    def __init__(self, app: FastAPI, *, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=ShowingProtocol,
                log_level="critical",
                access_log=False,
                lifespan="on",
                loop="asyncio",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=1,
                timeout_keep_alive=60,
                backlog=2048,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if not self.should_exit:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, and leave it at that: a clean stop is not a failure."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kept = {one: signal.signal(one, self._stop) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in kept.items():
                signal.signal(one, handler)

    def stop_with_parent(self) -> None:
        """Wait until stdin ends, as it does when the parent is gone however it went, and stop."""
        # Not sys.stdin: a thread waiting in its buffer would hold its lock at exit.
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        self.should_exit = True

    def _stop(self, number: int, frame: object) -> None:
        self.should_exit = True


def _listen(options: Options) -> socket.socket:
    if options.fd is not None:
        return socket.socket(fileno=options.fd)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # The protocol is named because asyncio turns off Nagle's delay, 40 ms an answer, only then.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((options.host, options.port))
        listening.listen(2048)
        return listening
    except OSError as error:
        listening.close()
        msg = (
            f"The sandbox cannot listen on {options.host}:{options.port}: {error.strerror}. "
            "Is one at work there already? --port 0 takes a port that is free."
        )
        raise OptionRefused(msg) from error


def _origin(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _announce(container: Container) -> None:
    keys, origin = container.keyring, container.origin
    if container.options.json:
        said = {
            "base_url": f"{origin}/api/v1",
            "auth_url": origin,
            "mcp_url": f"{origin}/mcp",
            "api_key": keys.all_scopes,
            "keys": keys.by_scope,
        }
        print(json.dumps(said), flush=True)
        return
    scale = container.options.time_scale
    speed = "a video takes minutes, as at a real service"
    if container.options.render == "instant":
        speed = "videos are ready at once"
    elif scale != 1:
        speed = f"videos are made {scale:g} times as fast as at a real service"
    print(
        f"The video service is on this machine now; {speed}.",
        f"It keeps itself in {container.options.state}. Stop it with Ctrl+C. In another terminal:",
        "",
        f"export CALLSHEET_BASE_URL={origin}/api/v1",
        f"export CALLSHEET_AUTH_URL={origin}",
        f"export CALLSHEET_API_KEY={keys.all_scopes}",
        "",
        f"Programs are let in at {origin}/device; every key is at {origin}/settings/api-keys.",
        sep="\n",
        flush=True,
    )


# Owns the application: every route in its place, and every refusal in the envelope.


METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
CODES = {404: "not_found", 405: "method_not_allowed"}


def create_app(container: Container) -> FastAPI:
    """Put the service together around one container; the application closes it in the end."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await container.keyring.open(container.database)
        container.webhooks.start()
        await container.render_pool.reopen()
        yield
        await container.close()

    app = FastAPI(
        title="Video Generation Service",
        version="1.0.0",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        exception_handlers={
            RefusedCall: _refused,
            HTTPException: _http_exception,
            Exception: _fault,
        },
    )
    service = (
        videos.router,
        video_files.remakes_router,
        video_files.router,
        catalog.webhooks_router,
        catalog.router,
    )
    parts = (*service, control.router, programs.router, account.router, account.consent_router)
    routers = [part(container) for part in parts]
    for router in routers:
        app.include_router(router)
    describe(app)
    operations = Operations(routers, container.names)
    container.faults.operations = operations.names
    # The last one added is the outermost: faults strike whatever way of answering was chosen.
    if container.options.answers != "enveloped":
        app.add_middleware(Dialect, answers=container.options.answers, operations=operations)
    app.add_middleware(FaultLayer, container=container, operations=operations)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedCall)
    return error.answer()


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "invalid_request")
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods_at(request))
    return Refusal(error.status_code, code, str(error.detail), headers=headers).answer()


def _methods_at(request: Request) -> list[str]:
    """Give every method of a path; each has a route of its own, which knows but its own."""
    routes = request.app.router.routes
    tried = ({**request.scope, "method": method} for method in METHODS)
    return [
        scope["method"]
        for scope in tried
        if any(route.matches(scope)[0] is Match.FULL for route in routes)
    ]


async def _fault(_: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    message = "The sandbox has a fault of its own; where it was started, it says which."
    return Refusal(500, "internal_error", message, retryable=True).answer()
