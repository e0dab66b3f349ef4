"""What is found of the ledger: its schema, whether it adds up, how large it is, its last backup."""

from __future__ import annotations

import time
from collections.abc import Iterator

from deployments.diagnosis.finding import PlaceFinding, note, ok, wrong, wrong_by
from tasks.errors import CallsheetError
from tasks.ledger.backup import schema_of
from tasks.ledger.maintenance import check_ledger, size_of_ledger
from tasks.ledger.migrate import MAKE_ONE
from tasks.ledger.schema import REVISION
from tasks.plural import say_bytes

#: A ledger that is larger, in bytes, takes a while to be looked through.
LARGE = 200 * 10**6
#: A backup that is older is worth a word, in seconds.
OLD = 7 * 86_400.0


def ledger(address: str) -> Iterator[PlaceFinding]:
    """Look through the ledger; one of an older schema is left as it is."""
    try:
        if (old := schema_of(address)) < REVISION:
            words = f"it has schema {old}; the next command brings it to {REVISION}"
            yield note("ledger", words, "stop what runs, then `callsheet ledger upgrade`")
            return
        size = size_of_ledger(address)
        found = check_ledger(address, thorough=size <= LARGE)
    except CallsheetError as error:
        none_yet = error.remedy == MAKE_ONE
        yield note("ledger", str(error), MAKE_ONE) if none_yet else wrong_by("ledger", error)
        return
    for problem in found.problems:
        yield wrong("ledger", problem.words, "restore a backup: docs/operations.md")
    if not found.problems:
        looked = "it adds up" if found.thorough else "`callsheet ledger check` looks through it"
        words = f"it is {found.address}: {say_bytes(found.size)}, schema {found.schema}; {looked}"
        yield ok("ledger", words)
    if found.lines and (found.backup_at is None or found.backup_at < time.time() - OLD):
        words = "it was never backed up" if found.backup_at is None else "its backup is a week old"
        yield note("ledger", words, "`callsheet ledger backup FILE`")
