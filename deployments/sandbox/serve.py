"""The sandbox's application and its server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec

import uvicorn
from starlette.types import ASGIApp

# Each declares its operations.
from callsheet.deployments.sandbox.auth import pages, programs  # noqa: F401
from callsheet.deployments.sandbox.auth.keys import SCOPES
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.dialect import Dialect
from callsheet.deployments.sandbox.faults.layer import FaultLayer
from callsheet.deployments.sandbox.faults.planned import FaultRefused, read_script
from callsheet.deployments.sandbox.faults.struck import ShowingProtocol
from callsheet.deployments.sandbox.operations import OPERATIONS, Operations
from callsheet.deployments.sandbox.options import OptionRefused, Options
from callsheet.deployments.sandbox.routes import (  # noqa: F401
    catalog,
    control,
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
        server = _SandboxServer(app, container)
        if options.exit_with_parent:
            threading.Thread(target=server.stop_with_parent, daemon=True).start()
        server.run(sockets=[listening])
    return 0


class _SandboxServer(uvicorn.Server):
    def __init__(self, app: ASGIApp, container: Container) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=ShowingProtocol,
                log_level="critical",
                access_log=False,
                lifespan="off",
                loop="asyncio",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=1,
                timeout_keep_alive=60,
                backlog=2048,
            )
        )
        self._container = container

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self._container.open()
        await super().startup(sockets=sockets)
        if not self.should_exit:
            _announce(self._container)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets=sockets)
        await self._container.close()

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
    keys, origin = container.keyring.fixed, container.origin
    if container.options.json_:
        said = {
            "base_url": f"{origin}/api/v1",
            "auth_url": origin,
            "mcp_url": f"{origin}/mcp",
            "api_key": keys["all"],
            "keys": {scope: keys[scope] for scope in SCOPES},
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
        f"export CALLSHEET_API_KEY={keys['all']}",
        "",
        f"Programs are let in at {origin}/device.",
        sep="\n",
        flush=True,
    )


def create_app(container: Container) -> ASGIApp:
    """Put the service together around one container."""
    operations = Operations(container, OPERATIONS)
    container.faults.operations = operations.names
    app: ASGIApp = operations
    # The last layer is the outermost: faults strike whatever way of answering was chosen.
    if container.options.answers != "enveloped":
        app = Dialect(app, container.options.answers, operations)
    return FaultLayer(app, container, operations)
