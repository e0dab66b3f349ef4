"""`callsheet run`: plan, ask once, produce, report.

Starts what a run needs beside itself (a sandbox, a Prefect server) before anything heavy is
imported, and ends it afterwards, whatever happened.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from deployments.commands.options import ledger_note, settings_of
from deployments.signals import run_command
from tasks.duration import parse_duration
from tasks.home import make_home

if TYPE_CHECKING:
    from deployments.servers import PrefectServer


def main(args: Namespace) -> int:
    """Run a campaign from its sheet; the exit status is the outcome's."""
    max_wait = None if args.max_wait is None else parse_duration(args.max_wait)
    found = settings_of(args)
    home = found.home
    if make_home(home):
        print(f"made {home} for the ledger and what else a run keeps", file=sys.stderr)
    if note := ledger_note(found, args.sheet):
        print(note, file=sys.stderr)
    with ExitStack() as stack:
        server = None if args.without_prefect else _server(home, stack)
        overrides = None
        if args.sandbox:
            from deployments.servers import sandbox

            overrides = stack.enter_context(sandbox(home / "sandbox", time_scale=args.time_scale))
        settings = settings_of(args, overrides)
        settings.service()
        from deployments.terminal_run import run_here

        status = run_command(run_here(args, settings, server, max_wait=max_wait))
    if server is not None and server.gone:
        _leave(status)
    return status


def _leave(status: int) -> None:
    """End the process without Prefect, which would talk to its lost server for minutes yet."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _server(home: Path, stack: ExitStack) -> PrefectServer:
    from deployments.servers import find_or_start

    server = find_or_start(home)
    stack.callback(server.stop)
    return server
