"""`callsheet doctor`: is everything here as Callsheet needs it? It changes nothing."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from callsheet.deployments.diagnosis.diagnose import diagnose
from callsheet.deployments.diagnosis.finding import PlaceFinding
from callsheet.deployments.signals import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.redact import redact


def main(args: Namespace) -> int:
    """Show what is found; return 0, or 2 where something has to be mended."""
    console = console_for(args)
    found = run_command(diagnose(args.profile, Path.cwd()))
    code = 2 if any(one.verdict == "wrong" for one in found) else 0
    if args.json:
        print_json({"findings": [asdict(one) for one in found], "exit": code})
    else:
        for one in found:
            _show(one, console)
    return code


def _show(found: PlaceFinding, console: Console) -> None:
    console.print(plain(redact(f"{found.verdict:<6}{found.part:<10}{found.words}")))
    if found.remedy:
        console.print(plain(redact(f"{'':16}{found.remedy}")))
