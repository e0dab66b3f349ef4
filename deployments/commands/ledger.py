"""`callsheet ledger`: keep a ledger safe and small: backup, restore, check, upgrade, vacuum.

Each prints what it did as a sentence, or as one JSON document.
"""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.terminal import console_for, plain, print_json, user_name
from callsheet.tasks.ledger.backup import back_up, restore
from callsheet.tasks.ledger.maintenance import (
    check_ledger,
    make_ledger,
    upgrade_ledger,
    vacuum_ledger,
)
from callsheet.tasks.ledger.schema import REVISION
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import redact, say
from callsheet.tasks.values.amounts import parse_duration, say_bytes

Document = dict[str, object]


def main(args: Namespace) -> int:
    """Execute one verb; `check` returns 1 for a ledger that is not sound."""
    return VERBS[args.verb](args, settings_of(args))


def _back_up(args: Namespace, settings: Settings) -> int:
    to = Path(args.file)
    if args.file.endswith(os.sep) and not to.is_dir():
        # Or the first night would make a file of that name, and all others find it there.
        raise BadInput(f"there is no folder {args.file}; nothing was written", remedy="make it")
    made = back_up(settings.ledger, to, by=user_name(), at=time.time())
    words = f"{made.path}: {made.lines:,} lines, {say_bytes(made.size)}, whole and proved"
    if not made.noted:
        words += "; the ledger is read-only, so it has no note of this backup"
    document = {"file": str(made.path), "bytes": made.size, "lines": made.lines}
    _tell(args, words, {**document, "noted": made.noted})
    return 0


def _restore(args: Namespace, settings: Settings) -> int:
    backup = Path(args.file)
    found = restore(settings.ledger, backup, by=user_name(), at=time.time(), instead=args.instead)
    words = f"the ledger is what {backup} says: {found.lines:,} lines, and one about this restore"
    before = None if found.before is None else str(found.before)
    if before:
        words += f"; the one before it is in {before}"
    _tell(args, words, {"lines": found.lines, "before": before})
    say(
        "what was paid for since that backup is not in it: run each sheet again, and its videos "
        "are found by their keys at no charge; `callsheet reconcile` shows what is left"
    )
    return 0


def _check(args: Namespace, settings: Settings) -> int:
    found = check_ledger(settings.ledger)
    document: Document = {
        "problems": [one.words for one in found.problems],
        "bytes": found.size,
        "lines": found.lines,
        "schema": REVISION,
        "backup_at": found.backup_at,
    }
    backup = "no backup was ever made of it"
    if found.backup_at is not None:
        days = (time.time() - found.backup_at) / 86_400
        backup = f"the last backup is {days:.1f} days old"
    sound = "sound" if not found.problems else "not sound"
    words = f"{sound}: {found.lines:,} lines, {say_bytes(found.size)}, schema {REVISION}"
    for one in found.problems:
        say(f"{one.words} ({one.remedy})")
    _tell(args, f"{words}; {backup}", document)
    return int(bool(found.problems))


def _upgrade(args: Namespace, settings: Settings) -> int:
    made = args.make and make_ledger(settings.ledger)
    old, kept = upgrade_ledger(settings.ledger, by=user_name(), at=time.time())
    words = f"the ledger has schema {REVISION} already"
    if made:
        words = f"the ledger was made, with schema {REVISION}"
    elif old != REVISION:
        words = f"the ledger has schema {REVISION}, it had {old}"
        words += f"; what it was is in {kept}" if kept else ""
    before = None if kept is None else str(kept)
    _tell(args, words, {"old": old, "new": REVISION, "before": before})
    return 0


def _vacuum(args: Namespace, settings: Settings) -> int:
    since = None if args.forget_events is None else parse_duration(args.forget_events)
    gone, before, after = vacuum_ledger(
        settings.ledger, at=time.time(), keep_events=since, anyway=args.anyway
    )
    words = f"{gone:,} lines that are no longer needed were deleted; "
    if after < before:
        words += f"{say_bytes(before)} became {say_bytes(after)}"
    else:
        # On PostgreSQL, or while another program reads the ledger, its files stay as large.
        words += f"the ledger takes {say_bytes(after)}: new lines go where room became free"
    _tell(args, words, {"gone": gone, "before": before, "after": after})
    return 0


VERBS: Mapping[str, Callable[[Namespace, Settings], int]] = {
    "backup": _back_up,
    "restore": _restore,
    "check": _check,
    "upgrade": _upgrade,
    "vacuum": _vacuum,
}


def _tell(args: Namespace, words: str, document: Document) -> None:
    if args.json:
        print_json({**document, "exit": int(bool(document.get("problems")))})
    else:
        console_for(args).print(plain(redact(words)))
