"""The register of a profile's logins: a small file that also says whether the keyring has a key.

Reading it costs one look for a file. It never fails: what is wrong with the file is told to
whoever needs a key from it, and to nobody else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tasks.credentials.login import Login
from tasks.credentials.private_file import make_private_folder, read_private, write_private
from tasks.errors import ConfigurationError

VERSION = 1
DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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
