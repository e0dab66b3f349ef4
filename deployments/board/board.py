"""What every request to the board shares, and how a route gets it.

Knows no SQL: what is in the ledger is asked for with the functions of `tasks.ledger`, by way of
`Board.read` and `Board.write`.
"""

from __future__ import annotations

import asyncio
import secrets
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Annotated, TypeVar
from urllib.parse import urlsplit

from fastapi import Depends, Request

from callsheet.deployments.board.hosts import is_loopback
from callsheet.deployments.board.permission import Permission
from callsheet.deployments.board.sheet_reading import SheetReader
from callsheet.tasks.ledger import Ledger
from callsheet.tasks.ledger.ledger import Change
from callsheet.tasks.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Board:
    """The board that is open: its ledger and settings, and the world as arguments."""

    settings: Settings
    ledger: Ledger
    #: As a browser reaches it, without a slash at the end: `http://127.0.0.1:8788`.
    origin: str
    #: Whether somebody said what the origin is (`--url`), and it is no guess by the socket.
    is_named: bool = False
    #: Whether the service is a sandbox, and whether the board brought it along.
    sandbox: bool = False
    brings_sandbox: bool = False
    #: Whether a proxy in front of it says who calls and how (`--behind-proxy`).
    behind_proxy: bool = False
    #: The profile that its settings are from: a flow run of Prefect's reads it, too.
    profile: str | None = None
    #: Set when something is to be done in the background: a plan to be quoted, a run to be started.
    attention: asyncio.Event = field(default_factory=asyncio.Event)
    #: Starts the process of a run, which reads settings and writes into a file; None: a Python.
    begin: Callable[[str, IO[bytes]], subprocess.Popen[bytes]] | None = None
    clock: Callable[[], float] = time.time
    #: Makes what nobody can guess: ids, tokens, nonces.
    token: Callable[[], str] = lambda: secrets.token_urlsafe(24)
    #: Held while a sheet is stored, so that its size counts before the next one is looked at.
    uploads: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: Reads uploaded sheets within limits of time, memory and sheets at once.
    reader: SheetReader = field(default_factory=SheetReader)
    #: Of the request that it was given to: who has to be allowed each change; None: Callsheet.
    permission: Permission | None = None

    @property
    def is_here_only(self) -> bool:
        """Whether its addresses open in a browser of this machine, and in no other."""
        return is_loopback(urlsplit(self.origin).hostname or "")

    @property
    def folder(self) -> Path:
        """Where it keeps what is no business of the ledger's: handed-in sheets, logs of runs."""
        return self.settings.home / "board"

    async def read(self, query: Change[T]) -> T:
        """Ask the ledger."""
        return await self.ledger.read(query)

    async def write(self, change: Change[T]) -> T:
        """Change the ledger, and return once that is committed.

        For a request, the person is checked in the same transaction (ProblemDetails 401, 403).
        """
        if self.permission is not None:
            change = self.permission.guarding(change)
        return await self.ledger.write(change)


async def board_of(request: Request) -> Board:
    """Return the board as a request has it: its address, and whose changes it makes."""
    board: Board = request.app.state.board
    origin: str = request.state.visit.origin
    return replace(board, origin=origin, permission=getattr(request.state, "permission", None))


TheBoard = Annotated[Board, Depends(board_of)]
