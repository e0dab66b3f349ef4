"""Which inboxes a verb is about: those named, else all that `nights.toml` lists."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from callsheet.tasks.errors import BadInput
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.nights_file import find_inboxes, listed_inboxes
from callsheet.tasks.settings import Settings


def file_of(args: Namespace, settings: Settings) -> Path | None:
    """Return the file of inboxes that was named; None where it is to be looked for."""
    named = args.nights or settings.nights
    return None if named is None else Path(named)


def named_inboxes(args: Namespace, settings: Settings, named: Sequence[str]) -> list[Inbox]:
    """Return the inboxes of these names, or all; raise BadInput where there are none."""
    file = file_of(args, settings)
    if named:
        found = [one for name in named for one in find_inboxes(name, folder=Path.cwd(), file=file)]
        return list({inbox.name: inbox for inbox in found}.values())
    listed = listed_inboxes(Path.cwd(), file)
    if not listed:
        raise BadInput(
            "no inboxes are listed: there is no nights.toml here, or nothing in it",
            remedy="name one (a folder, or s3://bucket/prefix), or list them in nights.toml",
        )
    return list(listed)
