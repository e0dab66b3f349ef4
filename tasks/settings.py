"""Every setting, and the only place that reads the environment.

A setting is named `CALLSHEET_<NAME>` in the environment and `<name>` in a TOML profile; the
environment wins. A secret may also come from a file: `CALLSHEET_API_KEY_FILE`, `api_key_file`.
What neither of them says, addresses and key alike, is taken from what `callsheet login` kept under
the profile's name (`default` without one), as long as it is for the same service.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tasks.credits import parse_credits
from tasks.duration import parse_duration
from tasks.errors import BadInput, ConfigurationError
from tasks.profiles import read_profile, read_secret

if TYPE_CHECKING:
    from tasks.credentials import Login, Register

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
    "failed_words": ("failed,failure,error,errored", "statuses of a render that will not come"),
    "clip_keys": ("no", "yes once the service is known to take idempotency keys for clips"),
    "evidence_wait": ("10m", "how long a clip is searched for after a lost answer"),
    "quote_age": ("15m", "how long a quote holds before it is asked again"),
    "quote_tolerance": ("0%", "how far a price may rise after its approval without a new one"),
    "day_budget": (None, "credits that all campaigns of the ledger may cost in a day (UTC)"),
    "cost_center_budgets": (None, "credits a cost center may cost in all: marketing=500,sales=200"),
    "lease": ("60s", "how long a run that gives no sign of life keeps its campaign"),
    "credentials": (
        None,
        "where `login` keeps the key: keyring or file; default the best there is",
    ),
    "claim_grant": (
        "urn:service:agent-auth:grant-type:claim",
        "the grant type of `login --email`; its vendor part is the service's own",
    ),
    "webhook_secret": (
        None,
        "secrets that webhooks made elsewhere sign with, separated by commas; a secret",
    ),
    "prefect_events": ("no", "yes to have the receiver tell Prefect of every hint"),
    "webhook_vendor": ("Service", "vendor part of the webhook headers' names, X-Service-Signature"),
}
SECRETS = ("api_key", "webhook_secret")


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
    failed_words: frozenset[str]
    clip_keys: bool
    evidence_wait: float
    quote_age: float
    quote_tolerance: Decimal
    day_budget: Decimal | None
    cost_center_budgets: Mapping[str, Decimal]
    lease: float
    submits: int
    watches: int
    deliveries: int
    quotes: int
    credentials: str | None
    claim_grant: str
    webhook_vendor: str
    webhook_secret: tuple[Secret, ...]
    prefect_events: bool
    #: What `callsheet login` kept for the profile, and the login of these that is in force.
    register: Register | None = field(default=None, repr=False)
    login: Login | None = None
    #: Where `api_key` came from: CALLSHEET_API_KEY, CALLSHEET_API_KEY_FILE or a profile's name.
    key_source: str | None = None

    @property
    def spool(self) -> Path:
        """The folder where downloads land before they are verified."""
        return self.home / "spool"

    @property
    def webhook_secrets(self) -> Path:
        """The folder where the secrets of webhooks are kept."""
        return self.home / "webhooks"

    def service(self) -> tuple[str, str]:
        """Return the service's address and key; raise ConfigurationError when one is missing."""
        if not self.base_url:
            if self.register and self.register.trouble:
                raise self.register.trouble
            raise ConfigurationError(
                "no video service is configured; nothing was spent",
                remedy="set CALLSHEET_BASE_URL and CALLSHEET_API_KEY, or add --sandbox",
            )
        return self.base_url, self.key()

    def key(self) -> str:
        """Return the key in force; raise ConfigurationError when there is none.

        Asks the keyring, should the login be kept there: call it where the key is needed.
        """
        if self.api_key:
            return self.api_key.reveal()
        if self.login:
            return self._kept_key
        if self.register and self.register.trouble:
            raise self.register.trouble
        others = ", ".join(self.register.logins) if self.register else ""
        raise ConfigurationError(
            "no key for the video service is configured; nothing was spent"
            + (f" (`callsheet login` kept one for {others})" if others else ""),
            remedy="run `callsheet login`, or set CALLSHEET_API_KEY (or CALLSHEET_API_KEY_FILE)",
        )

    @cached_property
    def _kept_key(self) -> str:
        """What the keyring or the file has: a keyring may take seconds, and is asked once."""
        from tasks.credentials import key_of

        assert self.login is not None
        return key_of(self.login)


def load_settings(
    *,
    profile: str | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    overrides: Mapping[str, str] | None = None,
    logging_in: bool = False,
) -> Settings:
    """Return the settings in force; raise ConfigurationError naming the one that is wrong.

    A profile needs no TOML file once a login is kept under its name, or when `logging_in`.
    """
    environ = os.environ if environ is None else environ
    folder = folder or Path.cwd()
    register = _register(profile, credentials_folder(environ))
    known = logging_in or bool(register and (register.logins or register.trouble))
    values = {name: default for name, (default, _) in KNOWN.items()}
    values |= (
        read_profile(profile, folder, known=KNOWN, secrets=SECRETS, needed=not known)
        if profile
        else {}
    )
    source = f"profile {profile}" if values["api_key"] else None
    values |= _from_environment(environ)
    source = next((name for name in _KEY_NAMES if environ.get(name)), source)
    values |= dict(overrides or {})
    login = (
        register.of(_url("base_url", (values["base_url"] or "").strip() or None))
        if register
        else None
    )
    if login:
        stored = {"base_url": login.base_url, "auth_url": login.auth_url, "mcp_url": login.mcp_url}
        values |= {name: url for name, url in stored.items() if not values[name]}
    made = _settings(values, home=find_home(folder))
    return replace(made, register=register, login=login, key_source=source)


def credentials_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder where logins are kept; None where nobody is at home."""
    environ = os.environ if environ is None else environ
    home = environ.get("HOME") or environ.get("USERPROFILE")
    config = environ.get("XDG_CONFIG_HOME") or (home and f"{home}/.config")
    return Path(config) / "callsheet" / "credentials" if config else None


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
    key, secrets = text["api_key"], text["webhook_secret"] or ""
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
        credentials=_kept_in(text["credentials"]),
        claim_grant=text["claim_grant"] or "",
        webhook_vendor=_vendor(text["webhook_vendor"] or ""),
        webhook_secret=tuple(map(Secret, filter(None, re.split(r"[\s,]+", secrets)))),
        prefect_events=_truth("prefect_events", text["prefect_events"]),
        failed_words=_words(text["failed_words"]),
        clip_keys=_truth("clip_keys", text["clip_keys"]),
        quote_tolerance=_percent("quote_tolerance", text["quote_tolerance"]),
        day_budget=_amount("day_budget", text["day_budget"]) if text["day_budget"] else None,
        cost_center_budgets=_amounts("cost_center_budgets", text["cost_center_budgets"]),
        lease=_lease(text["lease"]),
        **{name: _seconds(name, text[name]) for name in _DURATIONS},
        **{name: _count(name, text[name]) for name in _COUNTS},
    )


_KEY_NAMES = ("CALLSHEET_API_KEY_FILE", "CALLSHEET_API_KEY")
_DURATIONS = ("horizon", "deadline", "captions_wait", "evidence_wait", "quote_age")
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


def _kept_in(value: str | None) -> str | None:
    if value not in (None, "keyring", "file"):
        raise ConfigurationError(f'CALLSHEET_CREDENTIALS "{value}" is neither keyring nor file')
    return value


def _vendor(value: str) -> str:
    if not value.isascii() or not value.replace("-", "").isalnum():
        raise ConfigurationError(f'CALLSHEET_WEBHOOK_VENDOR "{value}" is no part of a header name')
    return value


def _seconds(name: str, value: str | None) -> Any:
    try:
        return parse_duration(value or "")
    except BadInput as error:
        raise ConfigurationError(f"CALLSHEET_{name.upper()}: {error}") from error


def _lease(value: str | None) -> float:
    seconds: float = _seconds("lease", value)
    if seconds < 1:
        raise ConfigurationError(f'CALLSHEET_LEASE "{value}" is too short; 1s is the least')
    return seconds


def _amount(name: str, value: str) -> Decimal:
    amount = parse_credits(value)
    if amount is None:
        raise ConfigurationError(
            f'CALLSHEET_{name.upper()} "{value}" is not an amount of credits; nothing was spent'
        )
    return amount


def _amounts(name: str, value: str | None) -> dict[str, Decimal]:
    """Read `marketing=500,sales=200`."""
    found: dict[str, Decimal] = {}
    for part in filter(None, (part.strip() for part in (value or "").split(","))):
        who, equals, amount = part.rpartition("=")
        if not equals or not who.strip() or who.strip() in found:
            raise ConfigurationError(
                f'CALLSHEET_{name.upper()} "{part}" is not an amount for one name; '
                "nothing was spent",
                remedy="write it like marketing=500,sales=200, every name once",
            )
        found[who.strip()] = _amount(name, amount)
    return found


def _percent(name: str, value: str | None) -> Decimal:
    """Read `10%` as 0.1."""
    amount = parse_credits((value or "").removesuffix("%"))
    if amount is None or not (value or "").endswith("%"):
        raise ConfigurationError(
            f'CALLSHEET_{name.upper()} "{value}" is not a part of a price; write it like 10%'
        )
    return amount / 100


def _words(value: str | None) -> frozenset[str]:
    return frozenset(word.strip() for word in (value or "").split(",") if word.strip())


def _truth(name: str, value: str | None) -> bool:
    if value not in ("yes", "no"):
        raise ConfigurationError(f'CALLSHEET_{name.upper()} "{value}" is neither yes nor no')
    return value == "yes"


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
            found[name] = read_secret(f"{variable}_FILE", Path(environ[f"{variable}_FILE"]))
    return found


def _register(profile: str | None, folder: Path | None) -> Register | None:
    if folder is None or not folder.is_dir():
        # Nobody ever logged in: nothing is loaded to find that out.
        return None
    from tasks.credentials import profile_name, read_register

    try:
        return read_register(folder, profile_name(profile))
    except ConfigurationError:
        # No login has such a name; whether the profile is there at all is told elsewhere.
        return None
