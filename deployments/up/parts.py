"""The parts of one `callsheet up` and their ports."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from callsheet.deployments.prefect_address import PrefectAddress, prefect_address
from callsheet.deployments.process import listen_on, origin_of
from callsheet.deployments.receiver.endpoint import name_of, split_address, who_is_there
from callsheet.deployments.servers import BACKLOG, TIME_SCALE, sandbox_settings
from callsheet.deployments.up import programs
from callsheet.deployments.up.programs import UpContext
from callsheet.deployments.up.supervisor import Supervisor
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.known_settings import Settings

#: Optional parts and their default ports.
PARTS = ("prefect", "deployments", "worker", "board", "receiver")
#: Board hosts for which local links use the loopback address.
HERE = ("127.0.0.1", "localhost")
BOARD_PORT, PREFECT_PORT, SANDBOX_PORT = 8788, 4200, 8791


@dataclass(frozen=True, kw_only=True)
class WantedParts:
    """The parts and ports; None is the default port, or a free one if that is in use."""

    parts: frozenset[str] = frozenset(PARTS)
    host: str = "127.0.0.1"
    port: int | None = None
    prefect_port: int | None = None
    #: The public address of the board, and whether to trust the headers of a proxy.
    url: str | None = None
    behind_proxy: bool = False
    #: Time scale of the sandbox; None for no sandbox.
    sandbox: str | None = None
    profile: str | None = None


class Parts:
    """Starts the parts in order, each with the addresses of the earlier ones."""

    def __init__(
        self,
        wanted: WantedParts,
        settings: Settings,
        watch: Supervisor,
        explain: Callable[[str], None],
    ) -> None:
        self._wanted = wanted
        self._settings = settings
        self._watch = watch
        self._around = UpContext(
            settings=settings,
            folder=Path(watch.now.folder),
            mark=watch.now.mark,
            profile=wanted.profile,
            is_trial=wanted.sandbox is not None,
        )
        #: Prints messages about ports in use and parts that already run.
        self._explain = explain

    async def start(self, *, on_board: Callable[[], None]) -> bool:
        """Start all parts and wait until they are up; return False if stopped before that.

        Call `on_board` once the board is up, before the other parts are. Raise CallsheetError for a
        part that keeps crashing, ConfigurationError for a port.
        """
        parts = self._wanted.parts
        if "prefect" in parts:
            self._start_prefect()
        elif self._around.is_trial:
            self._check_no_server()
        if self._wanted.sandbox is not None and not await self._start_sandbox():
            return False
        if "receiver" in parts:
            await self._start_receiver()
        if "board" in parts:
            self._start_board()
        if (at := self._prefect()) is not None:
            self._watch.change(pool=self._around.pool)
            if "deployments" in parts:
                self._watch.keep(programs.deployments(self._around))
            if "worker" in parts:
                # Another server may not have the work pool yet.
                needs = ("prefect",) if self._around.api else ("deployments",)
                self._watch.keep(programs.worker(self._around, at, needs=needs))
        if "board" in parts:
            if not await self._watch.are_up("board"):
                return False
            on_board()
        return await self._watch.are_up()

    async def _start_sandbox(self) -> bool:
        """Start the sandbox and point the following parts to it."""
        listening = self._listen("127.0.0.1", None, SANDBOX_PORT, "the sandbox")
        scale = self._wanted.sandbox or TIME_SCALE
        self._watch.keep(programs.sandbox(self._around, listening, time_scale=scale))
        if not await self._watch.are_up("sandbox"):
            return False
        settings = sandbox_settings(self._watch.said("sandbox"))
        self._watch.change(sandbox=settings)
        # A key in a file is for the real service and would take precedence.
        self._learn(**settings, api_key_file="")
        return True

    def _check_no_server(self) -> None:
        """Raise ConfigurationError if a sandbox is used with an external Prefect server.

        The sandbox would run its schedules, and its Prefect workers would pay for sandbox runs.
        """
        theirs = sorted({"deployments", "worker"} & self._wanted.parts)
        if theirs and (at := prefect_address()) is not None:
            leave = " ".join(f"--without {part}" for part in theirs)
            raise ConfigurationError(
                f"{' and '.join(theirs)} of a sandbox cannot use the Prefect server at "
                f"{at.url}, whose flow runs may cost; nothing was started",
                remedy="without `--without prefect` the sandbox has a server of its own; or add "
                f"`{leave}`",
            )

    def _start_prefect(self) -> None:
        asked = self._wanted.prefect_port
        listening = self._listen("127.0.0.1", asked, PREFECT_PORT, "Prefect")
        self._around = replace(self._around, api=f"{origin_of(listening)}/api")
        self._watch.keep(programs.prefect_server(self._around, listening))

    def _prefect(self) -> PrefectAddress | None:
        """Return the server of this `up`, or the configured one."""
        if self._around.api is None:
            return prefect_address()
        auth = programs.auth_string()
        return PrefectAddress(url=self._around.api, stands_in="`callsheet up`", auth_string=auth)

    async def _start_receiver(self) -> None:
        """Start the receiver, unless one is already running for the same ledger."""
        host, port = split_address(self._settings.receiver)
        there = await asyncio.to_thread(who_is_there, host, port)
        if there == name_of(self._settings.ledger):
            self._explain(f"a receiver is at work at {self._settings.receiver}: it keeps receiving")
            return
        listening = self._listen(host, None, port, "the receiver")
        port = listening.getsockname()[1]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._learn(receiver=address)
        webhooks = self._settings.webhook_url
        if self._wanted.sandbox is not None and not webhooks:
            # The sandbox is on this machine and may call the receiver.
            webhooks = f"http://{address}"
            self._learn(webhook_url=webhooks)
        tells = bool(webhooks and self._around.api)
        self._watch.keep(programs.receiver(self._around, listening, tells_prefect=tells))

    def _start_board(self) -> None:
        wanted = self._wanted
        listening = self._listen(wanted.host, wanted.port, BOARD_PORT, "the board")
        port = listening.getsockname()[1]
        more = [*(["--url", wanted.url] if wanted.url else [])]
        more += ["--behind-proxy"] if wanted.behind_proxy else []
        # Without a receiver it would receive webhooks itself.
        found = programs.board(self._around, wanted.host, listening, more=tuple(more))
        self._watch.keep(replace(found, needs=("receiver",)))
        address = wanted.url or (f"http://{wanted.host}:{port}" if wanted.host in HERE else "")
        if address and self._settings.board_url is None:
            self._learn(board_url=address)

    def _learn(self, **settings: str) -> None:
        """Use these settings for every following part."""
        more = {f"CALLSHEET_{name.upper()}": value for name, value in settings.items()}
        self._around = replace(self._around, more={**self._around.more, **more})

    def _listen(self, host: str, asked: int | None, usual: int, who: str) -> socket.socket:
        """Listen on the requested port, else the default one or, if that is in use, another.

        Raise ConfigurationError if that fails.
        """
        wanted = usual if asked is None else asked
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            return listen_on(family, (host, wanted), backlog=BACKLOG)
        except OverflowError:
            raise ConfigurationError(f"there is no port {wanted}") from None
        except OSError as error:
            refusal = error
        if asked is not None:
            raise ConfigurationError(
                f"{who} cannot listen on {host}:{asked}: {_why(refusal)}",
                remedy="0 takes a port that is free",
            ) from refusal
        try:
            listening = listen_on(family, (host, 0), backlog=BACKLOG)
        except OSError as error:
            words = f"nothing can listen on {host}: {error.strerror}"
            raise ConfigurationError(words) from error
        port = listening.getsockname()[1]
        self._explain(f"port {usual} is taken by another program, so {who} is at port {port}")
        return listening


def _why(refusal: OSError) -> str:
    taken = refusal.errno == errno.EADDRINUSE
    return "another program has that port" if taken else str(refusal.strerror)
