"""Profiles: settings in a TOML file, and secrets in files of their own."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from pathlib import Path

from tasks.errors import ConfigurationError


def read_profile(
    profile: str, folder: Path, *, known: Collection[str], secrets: Collection[str], needed: bool
) -> dict[str, str | None]:
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
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"profile {path} cannot be read: {error}") from error
    found: dict[str, str | None] = {}
    for name, value in table.items():
        secret = name.removesuffix("_file")
        if name.endswith("_file") and secret in secrets:
            found[secret] = read_secret(f"{path.name} {name}", path.parent / str(value))
        elif name in known and isinstance(value, str | int):
            found[name] = str(value)
        elif name in known and isinstance(value, dict):
            # A table is the same as its text: marketing = 500 as marketing=500.
            found[name] = ",".join(f"{key}={entry}" for key, entry in value.items())
        elif name in known:
            raise ConfigurationError(f"profile {path}: {name} is not a text or a whole number")
        else:
            raise ConfigurationError(
                f"profile {path} has an unknown setting {name}",
                remedy="the settings are: " + ", ".join(known),
            )
    return found


def read_secret(name: str, path: Path) -> str:
    """Return the secret in a file; `name` says who names it, should it not be readable."""
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name} names {path}, which cannot be read: {error}") from error
    if not secret:
        raise ConfigurationError(f"{name} names {path}, which is empty")
    return secret


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
        remedy=f"make configs/profiles/{profile}.toml, or give --profile a path ending in .toml",
    )
