"""What is found about the place: versions, settings, files that others can read, room."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from callsheet.deployments.diagnosis.finding import PlaceFinding, note, ok, wrong
from callsheet.tasks.errors import CallsheetError, shorten
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.nights_file import listed_inboxes
from callsheet.tasks.plural import count, say_bytes
from callsheet.tasks.settings import Settings, credentials_folder
from callsheet.tasks.store.spool import RESERVE

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
        yield ok("versions", words + version("callsheet"))


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
    file = _ledger_file(settings)
    if file is None or "://" in settings.store:
        return
    places = (file.absolute(), Path(settings.store).expanduser().absolute())
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
    if "://" not in settings.store:
        found["videos"] = Path(settings.store).absolute()
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
