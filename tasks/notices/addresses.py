"""Addresses for notices that an admin adds on the board: one private file each, never shown again.

Every inbox sends its notices there too, by the `file:PATH` that `nights.toml` knows. Sends nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from callsheet.tasks.credentials.secret_files import (
    make_private_folder,
    read_private,
    write_private,
)
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices.send import read_address, service_of
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError

#: So many addresses are enough, and each may have so many characters.
MOST, LONGEST = 50, 2000
SUFFIX = ".address"
HOW = (
    "paste the webhook address of a Slack or Teams channel, or "
    "mailto://USER:PASSWORD@SERVER?to=ann@example.com for mail"
)


@dataclass(frozen=True, kw_only=True)
class StoredAddress:
    """An address that is stored; `shown` and `service` may be told to anybody."""

    name: str
    path: Path
    service: str
    shown: str


def stored_addresses(home: Path) -> list[StoredAddress]:
    """Return the stored addresses by name; raise ConfigurationError for one others can read."""
    return [_stored(path) for path in _files(home)]


def store_address(home: Path, name: str, pasted: str) -> StoredAddress:
    """Store an address under a name; raise BadInput, without the address, for what is none."""
    path = check_address(home, name, pasted)
    make_private_folder(_folder(home))
    write_private(path, pasted.strip())
    return _stored(path)


def check_address(home: Path, name: str, pasted: str) -> Path:
    """Return where an address would be stored; raise BadInput for what is none."""
    pasted = pasted.strip()
    named = re.sub(r"[^\w]+", "-", name.lower())[:60].strip("-_")
    if not named:
        raise BadInput("the name has no letter or digit", remedy="enter a name, such as Marketing")
    if len(pasted) > LONGEST or any(one.isspace() for one in pasted) or not service_of(pasted):
        raise BadInput("this is not an address of Slack, Teams or a mail server", remedy=HOW)
    files = _files(home)
    path = _folder(home) / f"{named}{SUFFIX}"
    if path in files:
        raise BadInput(
            f"there is an address named {named}", remedy="remove it first, or use another name"
        )
    if len(files) >= MOST:
        raise BadInput(f"{MOST} addresses are the limit", remedy="remove one first")
    return path


def drop_address(home: Path, name: str) -> None:
    """Delete a stored address; raise BadInput where there is none."""
    find_address(home, name).path.unlink(missing_ok=True)


def find_address(home: Path, name: str) -> StoredAddress:
    """Return a stored address; raise BadInput where there is none."""
    path = next((one for one in _files(home) if one.stem == name), None)
    if path is None:
        raise BadInput("there is no address of this name", remedy="reload the page")
    return _stored(path)


def with_stored(inbox: Inbox, home: Path) -> Inbox:
    """Return an inbox that also notifies the addresses stored on the board."""
    stored = tuple(f"file:{path}" for path in _files(home))
    return replace(inbox, notify=tuple(dict.fromkeys((*inbox.notify, *stored))))


def _stored(path: Path) -> StoredAddress:
    url = (read_private(path) or "").strip()
    service = service_of(url)
    if service is None:
        raise ConfigurationError(
            f"{path} has no address for notices any more", remedy="delete it and add it again"
        )
    shown = read_address(url, folder=path.parent, environ={}).shown
    return StoredAddress(name=path.stem, path=path, service=service, shown=shown)


def _folder(home: Path) -> Path:
    return home.resolve() / "notices"


def _files(home: Path) -> list[Path]:
    folder = _folder(home)
    return sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
