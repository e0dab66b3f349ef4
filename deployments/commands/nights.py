"""`callsheet nights`: list them, pause and resume them, have them started, see what they tell."""

from __future__ import annotations

import importlib
from argparse import Namespace

from callsheet.deployments.signals import run_command

#: Where a verb is: a pause pays for no mail, a list for no schedule of others.
VERBS = {
    "list": ("overview", "show"),
    "pause": ("pausing", "pause_nights"),
    "resume": ("pausing", "resume_nights"),
    "install": ("install", "install"),
    "test": ("notifying", "send_samples"),
    "digest": ("notifying", "send_digests"),
}


def main(args: Namespace) -> int:
    """Carry out a verb."""
    file, name = VERBS[args.verb]
    verb = getattr(importlib.import_module(f"callsheet.deployments.nights.{file}"), name)
    status: int = run_command(verb(args))
    return status
