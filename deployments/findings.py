"""What is found on this machine, in the ledger, the store and at the service, and what helps.

The checks of `callsheet doctor` and of the board's page of health.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

import httpx

from callsheet.deployments.campaign_status import resume_command, say_left
from callsheet.tasks.engine.owner import is_dead
from callsheet.tasks.ledger.board_settings import board_settings
from callsheet.tasks.ledger.campaigns import all_campaigns
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.ledger.maintenance import LedgerCheck, check_ledger, size_of_ledger
from callsheet.tasks.ledger.migrate import MAKE_ONE, check_file_system, check_writable, opened
from callsheet.tasks.ledger.runs import left_under_way
from callsheet.tasks.ledger.schema import REVISION
from callsheet.tasks.nights.inboxes import Inbox, listed_inboxes
from callsheet.tasks.runtime.errors import CallsheetError, LedgerNewer, shorten
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.settings import credentials_folder
from callsheet.tasks.service.login import key_status, owner_of
from callsheet.tasks.store import open_store
from callsheet.tasks.store.spool import RESERVE
from callsheet.tasks.values.amounts import count, say_bytes
from callsheet.tasks.values.locations import folder_at
from callsheet.tasks.webhooks.listener import check_address

#: What is said of an error that brings no words of its own on what helps.
RUNBOOK = "docs/operations.md says what to do, by symptom"
#: What one part may meet that is no reason not to look at the others.
TROUBLE = (CallsheetError, OSError, ValueError)


@dataclass(frozen=True, kw_only=True)
class PlaceFinding:
    """One thing that was found: fine, worth a note, or wrong, and then what helps."""

    part: str
    verdict: Literal["ok", "note", "wrong"]
    words: str
    remedy: str | None = None


def ok(part: str, words: str) -> PlaceFinding:
    """Say that a part is as it has to be."""
    return PlaceFinding(part=part, verdict="ok", words=words)


def note(part: str, words: str, remedy: str) -> PlaceFinding:
    """Say what is worth knowing, and keeps no one from working."""
    return PlaceFinding(part=part, verdict="note", words=words, remedy=remedy)


def wrong(part: str, words: str, remedy: str) -> PlaceFinding:
    """Say what has to be fixed."""
    return PlaceFinding(part=part, verdict="wrong", words=words, remedy=remedy)


def wrong_by(part: str, error: Exception) -> PlaceFinding:
    """Say what an error says that kept a part from working, or from being looked at."""
    if isinstance(error, CallsheetError):
        return wrong(part, str(error), error.remedy or RUNBOOK)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({shorten(str(error.filename), 80)})" if error.filename else ""
        words = f"it cannot be checked: {error.strerror.lower()}{where}"
        return wrong(part, words, "see that the path is the right one, and that you may enter it")
    return wrong(part, f"it cannot be checked: {shorten(str(error))}", RUNBOOK)


def each_of(part: str, look: Callable[[], Iterable[PlaceFinding]]) -> list[PlaceFinding]:
    """Return what is found of a part; what keeps it from being looked at is a finding, too."""
    found: list[PlaceFinding] = []
    try:
        found.extend(look())
    except TROUBLE as error:
        found.append(wrong_by(part, error))
    return found


async def all_of(part: str, findings: AsyncIterator[PlaceFinding]) -> list[PlaceFinding]:
    """Do the same where looking takes waiting."""
    found: list[PlaceFinding] = []
    try:
        async for one in findings:
            found.append(one)
    except TROUBLE as error:
        found.append(wrong_by(part, error))
    return found


# What is found about the place: versions, settings, files that others can read, room.


#: Less room than this, in bytes, is worth a word; less than that stops a run before long.
SCARCE, TOO_LITTLE = 5 * 10**9, 5 * 10**8


def versions() -> Iterator[PlaceFinding]:
    """Say whether the libraries are those that work together."""
    # Prefect needs it as well; only this command pays for it.
    from packaging.requirements import Requirement

    together = True
    for line in requires("callsheet") or ():
        needed = Requirement(line)
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        try:
            there = version(needed.name)
        except PackageNotFoundError:
            there = None
        if there is None or not needed.specifier.contains(there, prereleases=True):
            together = False
            words = f"{needed.name} is {there or 'missing'}, and has to be {needed.specifier}"
            yield wrong("versions", words, "install Callsheet with its constraints.txt")
    if together:
        words = f"Python {sys.version.split()[0]}, Prefect {version('prefect')}, Callsheet "
        yield ok("versions", words + own_version())


def remarks(settings: Settings) -> Iterator[PlaceFinding]:
    """Say what is odd about the settings: misspelt names, keys that everybody can read."""
    for remark in settings.remarks:
        yield note("settings", remark, "fix it where it is set; docs/settings.md has every name")


def nights(settings: Settings, folder: Path) -> Iterator[PlaceFinding]:
    """Say which inboxes are listed, where any are."""
    if inboxes := inboxes_of(settings, folder):
        names = ", ".join(inbox.name for inbox in inboxes)
        yield ok("nights", f"{count(len(inboxes), 'inbox', 'inboxes')}: {shorten(names)}")


def inboxes_of(settings: Settings, folder: Path) -> tuple[Inbox, ...]:
    """Return the inboxes that are listed; raise ConfigurationError for a mistake in them."""
    return listed_inboxes(folder, None if settings.nights is None else Path(settings.nights))


def files(settings: Settings) -> Iterator[PlaceFinding]:
    """Say which of our files others on this machine can read: scripts, ids, logins are in them."""
    open_to_others = [path for path in _private(settings) if path.stat().st_mode & 0o077]
    for path in open_to_others:
        words = f"{path} can be read or written by others on this machine"
        yield note("files", words, f"chmod go-rwx {path}")
    if not open_to_others:
        yield ok("files", "the ledger and what is secret are for their owner alone")


def room(
    settings: Settings, *, scarce: int = SCARCE, too_little: int = TOO_LITTLE
) -> Iterator[PlaceFinding]:
    """Say how much room the disks have that a run writes to; what is little, in bytes."""
    for name, path in _written(settings).items():
        there = next(one for one in (path, *path.parents) if one.exists())
        free = shutil.disk_usage(there).free
        words = f"{say_bytes(free)} are free for {name}, at {path}"
        if "downloads" in name:
            words += f"; a download begins only if it leaves {say_bytes(RESERVE)} of them"
        if free < too_little:
            yield wrong("disk", words, "make room: a run stops when the disk is full")
        elif free < scarce:
            yield note("disk", words, "make room before the next large campaign")
        else:
            yield ok("disk", words)
    yield from _one_disk(settings)


def _one_disk(settings: Settings) -> Iterator[PlaceFinding]:
    """Say so where the loss of one disk takes the ledger and all that it could be rebuilt from."""
    file, videos = _ledger_file(settings), folder_at(settings.store)
    if file is None or videos is None:
        return
    places = (file.absolute(), videos)
    there = [next(one for one in (path, *path.parents) if one.exists()) for path in places]
    if there[0].stat().st_dev == there[1].stat().st_dev:
        yield note(
            "disk",
            "the ledger and the videos are on the same disk: if you lose it, a new ledger finds "
            "paid videos only where the service still lists them",
            "back the ledger up to another disk (`callsheet ledger backup FOLDER`), or use a "
            "bucket or PostgreSQL",
        )


def _private(settings: Settings) -> Iterator[Path]:
    file = _ledger_file(settings)
    found = [] if file is None else [file]
    found += [settings.home / "board" / "token"]
    if (credentials := credentials_folder()) is not None and credentials.is_dir():
        found += [credentials, *credentials.iterdir()]
    return (path for path in found if path.exists())


def _written(settings: Settings) -> dict[str, Path]:
    """Return the folders that a run writes to; those on one disk are one."""
    found = {"downloads": settings.spool}
    if (videos := folder_at(settings.store)) is not None:
        found["videos"] = videos
    if (file := _ledger_file(settings)) is not None:
        found["the ledger"] = file.absolute()
    disks: dict[int, dict[str, Path]] = {}
    for name, path in found.items():
        there = next(one for one in (path, *path.parents) if one.exists())
        disks.setdefault(there.stat().st_dev, {})[name] = path
    return {" and ".join(on_it): next(iter(on_it.values())) for on_it in disks.values()}


def _ledger_file(settings: Settings) -> Path | None:
    with suppress(CallsheetError):
        return ledger_file(ledger_url(settings.ledger))
    # What is wrong with its address is told of the ledger.
    return None


# What is found of the ledger: its schema, whether it adds up, how large it is, its last backup.


#: A ledger that is larger, in bytes, takes a while to be looked through.
LARGE = 200 * 10**6
#: One that is larger, in bytes, is worth a word: about a million rows and their history.
HUGE = 10 * 10**9
#: A backup that is older is worth a word, in seconds.
OLD = 7 * 86_400.0
#: How many problems of one ledger are listed.
LISTED = 5


def ledger(address: str, *, huge: int = HUGE) -> Iterator[PlaceFinding]:
    """Look through the ledger; one of another schema is left as it is."""
    try:
        check_file_system(address)
        check_writable(address)
        size = size_of_ledger(address)
        found = check_ledger(address, thorough=size <= LARGE)
        with opened(address, writes=False) as engine, engine.connect() as connection:
            left = left_under_way(connection, is_dead=is_dead)
            told = board_settings(connection).values()
    except LedgerNewer as error:
        yield wrong("ledger", str(error), "install the Callsheet that the other machines have")
        return
    except CallsheetError as error:
        none_yet = error.remedy == MAKE_ONE
        yield _ledger_to_be_made(address, error) if none_yet else wrong_by("ledger", error)
        return
    yield from _soundness(found)
    if size > huge:
        words = f"it is {say_bytes(size)}: backups and checks take their time"
        yield note("ledger", words, "`callsheet ledger vacuum --forget-events 400d`")
    if found.lines and (found.backup_at is None or found.backup_at < time.time() - OLD):
        words = "it was never backed up" if found.backup_at is None else "its backup is a week old"
        yield note("ledger", words, "`callsheet ledger backup FILE`")
    for setting in told:
        words = f"{setting.name} is set on the board by {setting.by}: {shorten(setting.value)}"
        yield ok("settings", f"{words} (environment and profile win)")
    for one in left:
        words = f"{one.campaign.name}: {say_left(one)}"
        yield note("runs", words, f"{resume_command(one)}; nothing is paid twice")


def _ledger_to_be_made(address: str, error: CallsheetError) -> PlaceFinding:
    file = ledger_file(ledger_url(address))
    if file is None or (closed := _closed_above(file.absolute())) is None:
        return note("ledger", str(error), MAKE_ONE)
    words = f"the ledger {file} cannot be made: nothing can be written to {closed}"
    return wrong("ledger", words, "set CALLSHEET_LEDGER to a place you may write to")


def _soundness(found: LedgerCheck) -> Iterator[PlaceFinding]:
    for problem in found.problems[:LISTED]:
        yield wrong("ledger", problem.words, problem.remedy)
    if (more := len(found.problems) - LISTED) > 0:
        yield wrong("ledger", f"and {count(more, 'problem')} more", "`callsheet ledger check`")
    if not found.problems:
        looked = "it adds up" if found.thorough else "`callsheet ledger check` looks through it"
        words = f"it is {found.address}: {say_bytes(found.size)}, schema {REVISION}"
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
        with opened(address, writes=False) as engine, engine.connect() as reading:
            return bool(all_campaigns(reading))
    except CallsheetError as error:
        # What else keeps it from being read has been said.
        return error.remedy != MAKE_ONE


# What is found of the store: can videos be written to it and read back, and what does it lack?


_NO_HASTE = (
    "it works; a store that knows If-None-Match and checks digests spares a look or a read for "
    "each video, and lets several machines write to one prefix"
)


async def store(settings: Settings) -> AsyncIterator[PlaceFinding]:
    """Write, read and remove one small file; a folder that is not there is not made for that."""
    address = settings.store
    if (folder := folder_at(address)) is not None and not folder.exists():
        yield _to_be_made(folder)
        return
    opened = open_store(address)
    try:
        lacks = await opened.check()
    finally:
        await opened.aclose()
    yield ok("store", f"videos can be written to {address} and read back")
    for words in lacks:
        yield note("store", words, _NO_HASTE)


async def manifests(settings: Settings) -> list[str]:
    """Return the campaigns that the store has a manifest of; raises StoreError where no one can."""
    store = open_store(settings.store)
    try:
        found = await store.below(store.address)
    finally:
        await store.aclose()
    return sorted(one.uri.split("/")[-2] for one in found if one.uri.endswith("/manifest.json"))


def _to_be_made(folder: Path) -> PlaceFinding:
    if (closed := _closed_above(folder)) is None:
        return ok("store", f"{folder} is made by the first run")
    words = f"videos cannot be written to {folder}: nothing can be made in {closed}"
    return wrong("store", words, "name another folder, or make this one writable")


def _closed_above(path: Path) -> Path | None:
    """Return what is there above a path that is not; None where it can be made in that."""
    there = next(one for one in path.parents if one.exists())
    return None if there.is_dir() and os.access(there, os.W_OK | os.X_OK) else there


# What is found of the service: does it take the key, what may that do, do the clocks agree?


#: Seconds by which clocks may differ; signatures of webhooks are refused beyond minutes.
SKEW = 30.0


async def service(settings: Settings) -> AsyncIterator[PlaceFinding]:
    """Ask the service with free reads alone."""
    try:
        address, key = settings.service()
    except CallsheetError as error:
        yield wrong_by("service", error)
        return
    before = time.time()
    status = await key_status(address, key)
    if status.accepted is None:
        remedy = "check CALLSHEET_BASE_URL, and the way to it from this machine"
        yield wrong("service", f"{address}: {status.words}", remedy)
        return
    if not status.accepted:
        yield wrong("service", f"{address}: {status.words}", "`callsheet login`")
        return
    owner = await owner_of(address, key)
    yield _scopes(f"{address} takes the key", owner.scopes, may_read=status.may_read is not False)
    if status.clock is not None:
        apart = status.clock - (before + time.time()) / 2
        if abs(apart) > SKEW:
            where = "ahead of" if apart > 0 else "behind"
            words = f"the service's clock is {abs(apart):.0f} s {where} this machine's"
            yield wrong("clock", words, "have this machine's clock set by NTP")
        else:
            yield ok("clock", "the clocks of this machine and of the service agree")


def _scopes(words: str, scopes: Sequence[str] | None, *, may_read: bool) -> PlaceFinding:
    """Say what a key may do, and what cannot be done with it."""
    if not may_read:
        words += ", which may not read: nothing can be planned, quoted or downloaded with it"
        return wrong("service", words, "`callsheet login`, or a key that has the scope read")
    if not scopes or not set(scopes) & {"read", "write"}:
        return ok("service", f"{words} (what it may do, the service does not say)")
    held = ", ".join(scopes)
    if "write" not in scopes:
        words += f", which has the scope {held} alone: it can plan, quote and download videos that "
        words += "are under way, and can neither make nor edit nor cancel any"
        remedy = "`callsheet login`, or a key that has the scope write, where videos are to be made"
        return note("service", words, remedy)
    lacks = "" if "ai" in scopes else "; without ai it makes no clips"
    return ok("service", f"{words} ({held}{lacks})")


async def webhooks(settings: Settings) -> AsyncIterator[PlaceFinding]:
    """Say whether anybody answers where the service sends its webhooks to."""
    if settings.webhook_url is None:
        return
    try:
        check_address(settings)
    except CallsheetError as error:
        yield wrong_by("webhooks", error)
        return
    try:
        async with httpx.AsyncClient(timeout=5, follow_redirects=False) as client:
            answer = await client.get(settings.webhook_url)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        words = f"no answer at {redact(settings.webhook_url)} ({type(error).__name__})"
        yield note(
            "webhooks", words, "runs poll instead; start `callsheet receive`, and see whether the "
            "proxy leads to it",
        )  # fmt: skip
        return
    words = f"{redact(settings.webhook_url)} answers ({answer.status_code})"
    if answer.status_code != 405:
        # A receiver takes deliveries alone, and says so.
        yield note("webhooks", f"{words} as no receiver does", "see where the proxy leads to")
    else:
        yield ok("webhooks", f"{words}; a run has a ping sent to prove the way")
