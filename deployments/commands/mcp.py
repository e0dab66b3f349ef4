"""`callsheet mcp`: serve agents over stdin and stdout, until they close it."""

from __future__ import annotations

from argparse import Namespace
from contextlib import aclosing
from functools import partial
from pathlib import Path

import httpx

from callsheet.deployments.board.board import LEDGER_MARK, Board
from callsheet.deployments.board.run_monitor import monitoring
from callsheet.deployments.board.services.videos import Videos
from callsheet.deployments.commands.allow import allow_agent
from callsheet.deployments.commands.board import open_board
from callsheet.deployments.commands.options import sandbox_for
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for
from callsheet.tasks.ledger.audit_log import ledger_mark
from callsheet.tasks.runtime.errors import ConfigurationError


def main(args: Namespace) -> int:
    """Serve; return 0 at the end of stdin. Raises ConfigurationError without the extra `mcp`."""
    # stdout is the protocol's; what is logged goes to stderr without secrets.
    console_for(args)
    with sandbox_for(args):
        run_command(_serve(args))
    return 0


async def is_at(board: Board) -> bool:
    """Whether a board of the same ledger answers at a board's address, by the mark it shows."""
    mark = await board.read(ledger_mark)
    try:
        async with httpx.AsyncClient(timeout=2) as client:
            found = await client.get(f"{board.origin}/live")
    except (httpx.HTTPError, ValueError):
        return False
    return mark is not None and found.headers.get(LEDGER_MARK) == mark


async def _serve(args: Namespace) -> None:
    try:
        from callsheet.deployments.mcp.caller import Desk
        from callsheet.deployments.mcp.server import make_server
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"agents need a library that is not installed ({error.name})",
            remedy="install the extra: pip install 'callsheet[mcp]'",
        ) from error
    async with open_board(args, create=True) as board:
        agent = await allow_agent(board, args.agent)
        desk = Desk(
            board=board,
            videos=Videos(board),
            agent=agent.name,
            folder=Path.cwd(),
            asks=not args.never_ask,
            board_answers=partial(is_at, board),
        )
        async with aclosing(board.beside), monitoring(board):
            await make_server(desk).run_stdio_async()
