"""Profiles: settings in a TOML file, and secrets in files of their own."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from callsheet.tasks.errors import ConfigurationError

#: Names the profile where nobody says `--profile`.
PROFILE = "CALLSHEET_PROFILE"


def named_profile(environ: Mapping[str, str]) -> str | None:
    """Return the profile that the environment names, if it names one."""
    return environ.get(PROFILE, "").strip() or None


class Found(NamedTuple):
    """A setting as it is written, and where: what a person is told when it is wrong.

    `file` is the one that a secret was read from.
    """

    value: str
    where: str
    file: Path | None = None


def read_profile(
    profile: str, folder: Path, *, known: Collection[str], secrets: Collection[str], needed: bool
) -> dict[str, Found]:
    """Return the settings of a profile, looked for from `folder` upward; none if it is not needed.

    Raises ConfigurationError for one that is missing, cannot be read, or says what is not `known`.
    """
    try:
        path = _find_profile(profile, folder)
    except ConfigurationError:
        if needed:
            raise
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"profile {path} cannot be read: {error}") from error
    found: dict[str, Found] = {}
    for name, value in table.items():
        where = f"profile {path}, line {_line_of(name, text)}: {name}"
        secret, file = name.removesuffix("_file"), None
        if name.endswith("_file") and secret in secrets:
            file = path.parent / str(value)
            value = read_secret(where, file)
            name = secret
        elif name not in known:
            raise ConfigurationError(
                f"profile {path}, line {_line_of(name, text)}: unknown setting {name}",
                remedy="the settings are: " + ", ".join(known),
            )
        elif isinstance(value, dict):
            # A table is the same as its text: marketing = 500 as marketing=500.
            value = ",".join(f"{key}={entry}" for key, entry in value.items())
        elif not isinstance(value, str | int):
            raise ConfigurationError(f"{where} is not a text or a whole number")
        found[name] = Found(str(value), where, file)
    return found


def _line_of(name: str, text: str) -> int:
    """Return the line on which a profile says a setting, or begins its table."""
    begins = re.compile(rf"\s*\[?\s*[\"']?{re.escape(name)}[\"']?\s*[\]=.]")
    return next((n for n, line in enumerate(text.splitlines(), 1) if begins.match(line)), 1)


def read_secret(name: str, path: Path) -> str:
    """Return the secret in a file; `name` says who names it, should it not be readable."""
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name} names {path}, which cannot be read: {error}") from error
    if not secret:
        raise ConfigurationError(f"{name} names {path}, which is empty")
    return secret


def remark_on(found: Found) -> str | None:
    """Return what is to be said of a secret's file that everybody on this machine can read.

    What an orchestrator puts into a container is readable there, and nobody else is.
    """
    if found.file is None or os.name == "nt":
        return None
    try:
        mode = stat.S_IMODE(found.file.stat().st_mode)
        real = found.file.resolve()
    except OSError:
        return None
    mounted = real.is_relative_to("/run/secrets") or any(p.startswith("..") for p in real.parts)
    if mounted or not mode & (stat.S_IROTH | stat.S_IWOTH):
        return None
    can = "change" if mode & stat.S_IWOTH else "read"
    return (
        f"{found.where} names {found.file}, which everybody on this machine can {can}: "
        f"chmod 600 {found.file}"
    )


def _find_profile(profile: str, folder: Path) -> Path:
    if profile.endswith(".toml"):
        return folder / profile
    homes = [place / "configs" / "profiles" for place in (folder, *folder.parents)]
    homes.append(Path.home() / ".config" / "callsheet")
    for home in homes:
        if (home / f"{profile}.toml").is_file():
            return home / f"{profile}.toml"
    raise ConfigurationError(
        f'there is no profile "{profile}"; nothing was spent',
        remedy=f"make configs/profiles/{profile}.toml, or give its path: --profile PATH.toml",
    )
