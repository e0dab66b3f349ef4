"""The register of a profile's logins.

Reading it costs one look for a file. It never fails: what is wrong with the file is told to
anyone who needs a key from it, and to no one else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from callsheet.tasks.credentials.secret_files import (
    make_private_folder,
    read_private,
    write_private,
)
from callsheet.tasks.runtime.errors import ConfigurationError

VERSION = 1
DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

KeptIn = Literal["keyring", "file"]


@dataclass(frozen=True, kw_only=True)
class Login:
    """A key of one organisation at one service, under a profile's name.

    `scopes` is None where no one said what the key may do; `key` is None where the keyring has it.
    `given` is True for a key that someone made elsewhere and passed in, and may use elsewhere.
    """

    profile: str
    base_url: str
    auth_url: str | None
    mcp_url: str | None
    scopes: tuple[str, ...] | None
    kept_in: KeptIn
    fingerprint: str
    at: datetime
    given: bool = False
    expires_at: datetime | None = None
    key: str | None = field(default=None, repr=False)

    def document(self) -> dict[str, Any]:
        """Return the login as it stands in its file."""
        found: dict[str, Any] = _LOGIN.dump_python(self, mode="json")
        return {name: value for name, value in found.items() if name not in _PLACE}

    @classmethod
    def read(cls, profile: str, base_url: str, document: Mapping[str, Any]) -> Login:
        """Return the login that `document` holds; raise TypeError or ValueError."""
        found = _LOGIN.validate_python({**document, "profile": profile, "base_url": base_url})
        if (found.kept_in == "file") is not bool(found.key):
            raise ValueError("a login without its key")
        return found


_LOGIN = TypeAdapter(Login)
#: What its file is called, and where in it the login stands.
_PLACE = ("profile", "base_url")


def fingerprint(key: str) -> str:
    """Return what may be shown of a key: `mav_…a1b2`; without its end where the key is short."""
    kind, _, rest = key.partition("_")
    head = f"{kind}_" if rest and kind.isalpha() and len(kind) < 8 else ""
    return f"{head}…{key[-4:] if len(rest) >= 16 else ''}"


@dataclass(frozen=True, kw_only=True)
class Register:
    """The logins of one profile by base address; the latest is used where no address is set."""

    path: Path
    latest: str | None = None
    logins: Mapping[str, Login] = field(default_factory=dict)
    trouble: ConfigurationError | None = None

    def of(self, base_url: str | None) -> Login | None:
        """Return the login at `base_url`; a key is never used at another address than its own."""
        wanted = base_url or self.latest
        return self.logins.get(wanted.rstrip("/")) if wanted else None

    def with_login(self, login: Login) -> Register:
        """Return the register with `login` added as the latest."""
        logins = {**self.logins, login.base_url: login}
        return replace(self, latest=login.base_url, logins=logins)

    def without(self, login: Login) -> Register:
        """Return the register without `login`; the next latest is the youngest one left."""
        logins = {url: kept for url, kept in self.logins.items() if url != login.base_url}
        youngest = max(logins.values(), key=lambda kept: kept.at, default=None)
        return replace(self, logins=logins, latest=youngest.base_url if youngest else None)


def profile_name(profile: str | None) -> str:
    """Return the name logins of `--profile` are kept under; a path counts by its file's name.

    Raises ConfigurationError for a name that no file should have.
    """
    name = DEFAULT if profile is None else profile
    if name.endswith(".toml"):
        name = Path(name).stem
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f'"{name}" is no name for a profile', remedy="use letters, digits, . _ and -"
        )
    return name


def file_of(folder: Path, profile: str) -> Path:
    """Return the path of a profile's register."""
    return folder / f"{profile}.json"


def read_register(folder: Path, profile: str) -> Register:
    """Return the register of a profile; an empty one when there is none, or it is of no use."""
    path = file_of(folder, profile)
    try:
        text = read_private(path)
        return Register(path=path) if text is None else _parse(path, profile, text)
    except ConfigurationError as trouble:
        return Register(path=path, trouble=trouble)


def write_register(register: Register) -> None:
    """Put the register in place; delete it when nothing is left in it."""
    if not register.logins:
        register.path.unlink(missing_ok=True)
        return
    document = {
        "version": VERSION,
        "latest": register.latest,
        "logins": {url: login.document() for url, login in register.logins.items()},
    }
    make_private_folder(register.path.parent)
    write_private(register.path, json.dumps(document, indent=1) + "\n")


def _parse(path: Path, profile: str, text: str) -> Register:
    try:
        document = json.loads(text)
        if document["version"] != VERSION:
            raise ValueError("another version")
        logins = {
            str(url): Login.read(profile, str(url), kept)
            for url, kept in document["logins"].items()
        }
        return Register(path=path, latest=document["latest"], logins=logins)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ConfigurationError(
            f"{path} is not what `callsheet login` wrote",
            remedy="delete it and run `callsheet login`",
        ) from None


def claim_file(folder: Path, profile: str) -> Path:
    """Return the path of the claim that waits for someone's approval: one for each profile."""
    return folder / "claims" / f"{profile}.json"
