"""Every setting, and the only place that reads the environment.

A setting is named `CALLSHEET_<NAME>` in the environment and `<name>` in a TOML profile; the
environment wins. A secret may also come from a file: `CALLSHEET_API_KEY_FILE`, `api_key_file`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tasks.duration import parse_duration
from tasks.errors import BadInput, ConfigurationError

HOME = ".callsheet"

#: name, default, what it is: the table behind the README's list and `callsheet doctor`.
KNOWN: dict[str, tuple[str | None, str]] = {
    "base_url": (None, "the service's REST root; ends in /api/v1"),
    "auth_url": (None, "the service's login root"),
    "mcp_url": (None, "the service's MCP root"),
    "api_key": (None, "the organisation's key (mav_...); a secret"),
    "ledger": (None, "SQLAlchemy URL of the ledger; default a SQLite file under .callsheet/"),
    "store": ("deliveries/", "where films go: s3://bucket/prefix or a folder"),
    "webhook_url": (None, "the receiver's public address, as the service sees it"),
    "receiver": ("127.0.0.1:8790", "host:port the receiver binds to"),
    "names": ("{campaign}/{row}/{row}-take{take}.mp4", "template of a film's name in the store"),
    "horizon": ("24h", "how long the service is trusted to know an idempotency key"),
    "deadline": ("3h", "how long a render may take before its row is stalled"),
    "captions_wait": ("2m", "how long captions may come later than their film"),
    "submits": ("8", "creates under way at once"),
    "watches": ("16", "looks at renders under way at once"),
    "deliveries": ("8", "downloads under way at once"),
    "quotes": ("16", "estimates under way at once"),
    "quote_age": ("15m", "how long a quote holds before it is asked again"),
}
SECRETS = ("api_key",)


class Secret(str):
    """Text that does not show itself: use `.reveal()` where it is needed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> str:
        return "***"

    def __format__(self, spec: str) -> str:
        return "***"

    def reveal(self) -> str:
        """Return the secret itself."""
        return str.__str__(self)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a command runs with; durations in seconds."""

    home: Path
    ledger: str
    store: str
    names: str
    base_url: str | None
    auth_url: str | None
    mcp_url: str | None
    api_key: Secret | None
    webhook_url: str | None
    receiver: str
    horizon: float
    deadline: float
    captions_wait: float
    quote_age: float
    submits: int
    watches: int
    deliveries: int
    quotes: int

    @property
    def spool(self) -> Path:
        """The folder where downloads land before they are verified."""
        return self.home / "spool"

    def service(self) -> tuple[str, str]:
        """Return the service's address and key; raise ConfigurationError when one is missing."""
        if not self.base_url:
            raise ConfigurationError(
                "no video service is configured; nothing was spent",
                remedy="set CALLSHEET_BASE_URL and CALLSHEET_API_KEY, or add --sandbox",
            )
        if not self.api_key:
            raise ConfigurationError(
                "no key for the video service is configured; nothing was spent",
                remedy="set CALLSHEET_API_KEY (or CALLSHEET_API_KEY_FILE)",
            )
        return self.base_url, self.api_key.reveal()


def load_settings(
    *,
    profile: str | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    overrides: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings in force; raise ConfigurationError naming the one that is wrong."""
    environ = os.environ if environ is None else environ
    folder = folder or Path.cwd()
    values = {name: default for name, (default, _) in KNOWN.items()}
    values |= _from_profile(profile, folder) if profile else {}
    values |= _from_environment(environ)
    values |= dict(overrides or {})
    return _settings(values, home=find_home(folder))


def find_home(folder: Path) -> Path:
    """Return the nearest `.callsheet/` at or above `folder`, else where it would be made."""
    for place in (folder, *folder.parents):
        if (place / HOME).is_dir():
            return place / HOME
    return folder / HOME


def make_home(home: Path) -> bool:
    """Make the folder, closed to others; return whether it was missing.

    Raises ConfigurationError when it cannot be made.
    """
    if home.is_dir():
        return False
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / ".gitignore").write_text("*\n")
    except OSError as error:
        raise ConfigurationError(
            f"cannot make {home}: {error.strerror}; nothing was spent",
            remedy="run in a folder you may write to",
        ) from error
    return True


def _settings(values: Mapping[str, str | None], *, home: Path) -> Settings:
    text = {name: (value or "").strip() or None for name, value in values.items()}
    key = text["api_key"]
    return Settings(
        home=home,
        ledger=text["ledger"] or f"sqlite:///{home / 'ledger.db'}",
        store=text["store"] or "deliveries/",
        names=text["names"] or "",
        base_url=_url("base_url", text["base_url"]),
        auth_url=_url("auth_url", text["auth_url"]),
        mcp_url=_url("mcp_url", text["mcp_url"]),
        api_key=Secret(key) if key else None,
        webhook_url=_url("webhook_url", text["webhook_url"]),
        receiver=text["receiver"] or "",
        **{name: _seconds(name, text[name]) for name in _DURATIONS},
        **{name: _count(name, text[name]) for name in _COUNTS},
    )


_DURATIONS = ("horizon", "deadline", "captions_wait", "quote_age")
_COUNTS = ("submits", "watches", "deliveries", "quotes")


def _url(name: str, value: str | None) -> str | None:
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        right = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        right = False
    if not right:
        raise ConfigurationError(
            f'CALLSHEET_{name.upper()} "{value}" is not an http(s) address; nothing was spent'
        )
    return value.rstrip("/")


def _seconds(name: str, value: str | None) -> Any:
    try:
        return parse_duration(value or "")
    except BadInput as error:
        raise ConfigurationError(f"CALLSHEET_{name.upper()}: {error}") from error


def _count(name: str, value: str | None) -> Any:
    if not (value or "").isdecimal() or not 1 <= int(value or 0) <= 512:
        raise ConfigurationError(
            f'CALLSHEET_{name.upper()} "{value}" is not a whole number from 1 to 512'
        )
    return int(value or 0)


def _from_environment(environ: Mapping[str, str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in KNOWN:
        variable = f"CALLSHEET_{name.upper()}"
        if environ.get(variable):
            found[name] = environ[variable]
        if name in SECRETS and environ.get(f"{variable}_FILE"):
            found[name] = _read_secret(f"{variable}_FILE", Path(environ[f"{variable}_FILE"]))
    return found


def _from_profile(profile: str, folder: Path) -> dict[str, str | None]:
    path = _find_profile(profile, folder)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"profile {path} cannot be read: {error}") from error
    found: dict[str, str | None] = {}
    for name, value in table.items():
        secret = name.removesuffix("_file")
        if name.endswith("_file") and secret in SECRETS:
            found[secret] = _read_secret(f"{path.name} {name}", path.parent / str(value))
        elif name in KNOWN and isinstance(value, str | int):
            found[name] = str(value)
        elif name in KNOWN:
            raise ConfigurationError(f"profile {path}: {name} is not a text or a whole number")
        else:
            raise ConfigurationError(
                f"profile {path} has an unknown setting {name}",
                remedy="the settings are: " + ", ".join(KNOWN),
            )
    return found


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


def _read_secret(name: str, path: Path) -> str:
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name} names {path}, which cannot be read: {error}") from error
    if not secret:
        raise ConfigurationError(f"{name} names {path}, which is empty")
    return secret
