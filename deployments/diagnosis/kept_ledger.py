"""What is found of the ledger: its schema, whether it adds up, how large it is, its last backup."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

from callsheet.deployments.diagnosis.finding import RUNBOOK, PlaceFinding, note, ok, wrong, wrong_by
from callsheet.deployments.diagnosis.video_store import manifests
from callsheet.tasks.errors import CallsheetError, LedgerNewer, shorten
from callsheet.tasks.ledger import all_campaigns
from callsheet.tasks.ledger.maintenance import LedgerCheck, check_ledger, size_of_ledger
from callsheet.tasks.ledger.migrate import MAKE_ONE, contracts
from callsheet.tasks.ledger.opened import check_file_system, check_writable, opened, schema_of
from callsheet.tasks.ledger.productions import left_held
from callsheet.tasks.ledger.schema import REVISION
from callsheet.tasks.ledger.schema_version import SchemaVersion, works_until
from callsheet.tasks.plural import count, say_bytes
from callsheet.tasks.settings import Settings

#: A ledger that is larger, in bytes, takes a while to be looked through.
LARGE = 200 * 10**6
#: One that is larger, in bytes, is worth a word: about a million rows and their history.
HUGE = 10 * 10**9
#: A backup that is older is worth a word, in seconds.
OLD = 7 * 86_400.0
#: How many problems of one ledger are listed.
LISTED = 5
_DAMAGE = "stop what runs, then `callsheet ledger restore FILE --instead`: docs/operations.md"


def ledger(address: str, *, huge: int = HUGE) -> Iterator[PlaceFinding]:
    """Look through the ledger; one of another schema is left as it is."""
    try:
        check_file_system(address)
        version = schema_of(address)
        if version.is_older:
            yield _older(version)
            return
        version.check()
        check_writable(address)
        size = size_of_ledger(address)
        found = check_ledger(address, thorough=size <= LARGE)
        with opened(address, writes=False) as engine, engine.connect() as connection:
            held = left_held(connection)
    except LedgerNewer as error:
        yield wrong("ledger", str(error), "install the Callsheet that the other machines have")
        return
    except CallsheetError as error:
        none_yet = error.remedy == MAKE_ONE
        yield note("ledger", str(error), MAKE_ONE) if none_yet else wrong_by("ledger", error)
        return
    yield from _soundness(found)
    if version.is_newer:
        words = f"it has schema {version.number}, {works_until(version)}"
        yield note("ledger", words, "install the Callsheet that made it here as well")
    if size > huge:
        words = f"it is {say_bytes(size)}: backups and checks take their time"
        yield note("ledger", words, "`callsheet ledger vacuum --forget-events 400d`")
    if found.lines and (found.backup_at is None or found.backup_at < time.time() - OLD):
        words = "it was never backed up" if found.backup_at is None else "its backup is a week old"
        yield note("ledger", words, "`callsheet ledger backup FILE`")
    for campaign, rows in held:
        words = f"{count(rows, 'row')} of {campaign} are those of crews that are gone"
        remedy = "`callsheet run SHEET` looks for what is under way, and makes nothing twice"
        yield note("ledger", words, remedy)


def _older(version: SchemaVersion) -> PlaceFinding:
    words = f"it has schema {version.number}, older than this Callsheet's ({REVISION})"
    if contracts(version):
        return note("ledger", words, "stop all runs, then `callsheet ledger upgrade`")
    return note("ledger", words, "`callsheet ledger upgrade`; runs go on meanwhile")


def _soundness(found: LedgerCheck) -> Iterator[PlaceFinding]:
    for problem in found.problems[:LISTED]:
        yield wrong("ledger", problem.words, _DAMAGE if problem.is_damage else RUNBOOK)
    if (more := len(found.problems) - LISTED) > 0:
        yield wrong("ledger", f"and {count(more, 'problem')} more", "`callsheet ledger check`")
    if not found.problems:
        looked = "it adds up" if found.thorough else "`callsheet ledger check` looks through it"
        words = f"it is {found.address}: {say_bytes(found.size)}, schema {found.schema.number}"
        yield ok("ledger", f"{words}; {looked}")


async def lost(settings: Settings) -> AsyncIterator[PlaceFinding]:
    """Say so where the store has campaigns, and the ledger, which made them, is not there."""
    if await asyncio.to_thread(_knows_campaigns, settings.ledger):
        return
    if names := await manifests(settings):
        words = (
            f"it has no campaign, but the store {settings.store} has the manifest of "
            f"{shorten(', '.join(names))}: this is not the ledger that those videos were made with"
        )
        remedy = (
            "set CALLSHEET_LEDGER to that ledger, or `callsheet ledger restore FILE`; a run with "
            "this one takes in what the manifest and the service's list still show"
        )
        yield wrong("ledger", words, remedy)


def _knows_campaigns(address: str) -> bool:
    try:
        if schema_of(address).is_older:
            return True
        with opened(address, writes=False, upgrades=False) as engine, engine.connect() as reading:
            return bool(all_campaigns(reading))
    except CallsheetError as error:
        # What else keeps it from being read has been said.
        return error.remedy != MAKE_ONE
