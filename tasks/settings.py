"""Every setting, and the only place that reads the environment.

A setting is named `CALLSHEET_<NAME>` in the environment and `<name>` in a TOML profile; the
environment wins. A secret may also come from a file: `CALLSHEET_API_KEY_FILE`, `api_key_file`.
What neither of them says, addresses and key alike, is taken from what `callsheet login` kept under
the profile's name (`default` without one), as long as it is for the same service.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from tasks.credits import parse_credits
from tasks.duration import parse_duration
from tasks.errors import BadInput, ConfigurationError
from tasks.home import find_home, is_here
from tasks.profiles import Found, read_profile, read_secret

if TYPE_CHECKING:
    from tasks.credentials import Login, Register
else:
    # Nothing of a login is loaded where nobody ever logged in.
    Login = Register = Any

PREFIX = "CALLSHEET_"


T = TypeVar("T")


def _read(parse: Callable[[str], T | None], words: str) -> BeforeValidator:
    """Return what reads a value; one that `parse` makes nothing of is said to be `words`."""

    def read(value: str | None) -> T:
        found = None if value is None else parse(value)
        if found is None:
            raise ValueError(f' "{value}" is {words}')
        return found

    return BeforeValidator(read)


def _address(value: str) -> str | None:
    try:
        parts = urlsplit(value)
        right = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        right = False
    return value.rstrip("/") if right else None


def _seconds(value: str) -> float:
    try:
        return parse_duration(value)
    except BadInput as error:
        raise ValueError(f": {error}") from error


def _count(value: str) -> int | None:
    return int(value) if value.isdecimal() and 1 <= int(value) <= 512 else None


def _amounts(value: str) -> dict[str, Decimal]:
    """Read `marketing=500,sales=200`."""
    found: dict[str, Decimal] = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        who, _, text = part.rpartition("=")
        amount = parse_credits(text)
        if not who.strip() or who.strip() in found or amount is None:
            raise ValueError(
                f' "{part}" is not an amount for one name; nothing was spent',
                "write it like marketing=500,sales=200, every name once",
            )
        found[who.strip()] = amount
    return found


def _percent(value: str) -> Decimal | None:
    """Read `10%` as 0.1."""
    amount = parse_credits(value.removesuffix("%")) if value.endswith("%") else None
    return None if amount is None else amount / 100


def _split(separator: str) -> BeforeValidator:
    return BeforeValidator(lambda text: [w.strip() for w in re.split(separator, text) if w.strip()])


def _lease(value: str) -> float | None:
    seconds = _seconds(value)
    return seconds if seconds >= 1 else None


def _vendor(value: str) -> str | None:
    return value if value.isascii() and value.replace("-", "").isalnum() else None


Url = Annotated[str, _read(_address, "not an http(s) address; nothing was spent")]
Seconds = Annotated[float, BeforeValidator(_seconds)]
Lease = Annotated[float, _read(_lease, "too short; 1s is the least")]
Count = Annotated[int, _read(_count, "not a whole number from 1 to 512")]
Truth = Annotated[bool, _read({"yes": True, "no": False}.get, "neither yes nor no")]
Amount = Annotated[Decimal, _read(parse_credits, "not an amount of credits; nothing was spent")]
Amounts = Annotated[dict[str, Decimal], BeforeValidator(_amounts)]
Percent = Annotated[Decimal, _read(_percent, "not a part of a price; write it like 10%")]
Place = Annotated[
    str, _read({"keyring": "keyring", "file": "file"}.get, "neither keyring nor file")
]
Unlisted = Annotated[
    str, _read({"refuse": "refuse", "advise": "advise"}.get, "neither refuse nor advise")
]
Hidden = Annotated[
    Literal["skip", "read"],
    _read({"skip": "skip", "read": "read"}.get, "neither skip nor read; nothing was spent"),
]
Vendor = Annotated[str, _read(_vendor, "no part of a header name")]
Secrets = Annotated[tuple[SecretStr, ...], _split(r"[\s,]")]
Words = Annotated[frozenset[str], _split(",")]


def _setting(default: str | Callable[[dict[str, Any]], str] | None, words: str) -> Any:
    """Return a setting as people read of it: its default as they would write it, what it is."""
    if callable(default):
        return Field(default_factory=default, description=words)
    return Field(default, description=words, validate_default=True)


class Settings(BaseSettings):
    """What a command runs with; durations in seconds."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    home: Path
    base_url: Url | None = _setting(None, "the service's REST root; ends in /api/v1")
    auth_url: Url | None = _setting(None, "the service's login root")
    mcp_url: Url | None = _setting(None, "the service's MCP root")
    api_key: SecretStr | None = _setting(None, "the organisation's key (mav_...); a secret")
    ledger: str = _setting(
        lambda above: f"sqlite:///{above['home'] / 'ledger.db'}",
        "SQLAlchemy URL of the ledger; default a SQLite file under .callsheet/",
    )
    store: str = _setting("deliveries/", "where films go: s3://bucket/prefix or a folder")
    webhook_url: Url | None = _setting(
        None, "the receiver's public address, as the service sees it"
    )
    receiver: str = _setting("127.0.0.1:8790", "host:port the receiver binds to")
    names: str = _setting(
        "{campaign}/{row}/{row}-take{take}.mp4", "template of a film's name in the store"
    )
    horizon: Seconds = _setting("24h", "how long the service is trusted to know an idempotency key")
    deadline: Seconds = _setting("3h", "how long a render may take before its row is stalled")
    captions_wait: Seconds = _setting("2m", "how long captions may come later than their film")
    submits: Count = _setting("8", "creates under way at once")
    watches: Count = _setting("16", "looks at renders under way at once")
    deliveries: Count = _setting("8", "downloads under way at once")
    quotes: Count = _setting("16", "estimates under way at once")
    failed_words: Words = _setting(
        "failed,failure,error,errored", "statuses of a render that will not come"
    )
    clip_keys: Truth = _setting(
        "no", "yes once the service is known to take idempotency keys for clips"
    )
    evidence_wait: Seconds = _setting("10m", "how long a clip is searched for after a lost answer")
    quote_age: Seconds = _setting("15m", "how long a quote holds before it is asked again")
    quote_tolerance: Percent = _setting(
        "0%", "how far a price may rise after its approval without a new one"
    )
    day_budget: Amount | None = _setting(
        None, "credits that all campaigns of the ledger may cost in a day (UTC)"
    )
    cost_center_budgets: Amounts = _setting(
        "", "credits a cost center may cost in all: marketing=500,sales=200"
    )
    unlisted: Unlisted = _setting(
        "refuse", "what to do with a tool or field that the service does not list: refuse, advise"
    )
    lease: Lease = _setting("60s", "how long a run that gives no sign of life keeps its campaign")
    credentials: Place | None = _setting(
        None, "where `login` keeps the key: keyring or file; default the best there is"
    )
    claim_grant: str = _setting(
        "urn:service:agent-auth:grant-type:claim",
        "the grant type of `login --email`; its vendor part is the service's own",
    )
    webhook_secret: Secrets = _setting(
        "", "secrets that webhooks made elsewhere sign with, separated by commas; a secret"
    )
    hidden_rows: Hidden | None = _setting(
        None, "rows that a workbook hides: skip or read; default a run asks before it pays for one"
    )
    prefect_events: Truth = _setting("no", "yes to have the receiver tell Prefect of every hint")
    webhook_vendor: Vendor = _setting(
        "Service", "vendor part of the webhook headers' names, X-Service-Signature"
    )
    #: What `callsheet login` kept for the profile, and the login of these that is in force.
    kept_logins: Register | None = Field(None, repr=False)
    login: Login | None = None
    #: Where `api_key` came from: CALLSHEET_API_KEY, CALLSHEET_API_KEY_FILE or a profile's name.
    key_source: str | None = None
    #: Whether somebody named the ledger; else it is where the home is.
    ledger_is_named: bool = False
    #: Where this user's runs are noted, a sheet each; None where nothing is to be noted.
    notes: Path | None = None

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: Any, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read what `load_settings` names, and nothing by itself."""
        return tuple(_Source(settings_cls, read) for read in init_settings.init_kwargs["sources"])

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
            if self.kept_logins and self.kept_logins.trouble:
                raise self.kept_logins.trouble
            raise ConfigurationError(
                "no video service is configured; nothing was spent",
                remedy="to try it at no cost: `callsheet run SHEET --sandbox`, and --sandbox with "
                "the commands for what came of it; with a service: set "
                "CALLSHEET_BASE_URL, then `callsheet login` or set CALLSHEET_API_KEY",
            )
        return self.base_url, self.key()

    def key(self) -> str:
        """Return the key in force; raise ConfigurationError when there is none.

        Asks the keyring, should the login be kept there: call it where the key is needed.
        """
        if self.api_key:
            return self.api_key.get_secret_value()
        if self.login:
            return self._kept_key
        if self.kept_logins and self.kept_logins.trouble:
            raise self.kept_logins.trouble
        others = ", ".join(self.kept_logins.logins) if self.kept_logins else ""
        raise ConfigurationError(
            "no key for the video service is configured; nothing was spent"
            + (f" (`callsheet login` kept one for {others})" if others else ""),
            remedy="run `callsheet login`, or set CALLSHEET_API_KEY (or CALLSHEET_API_KEY_FILE); "
            "`callsheet run SHEET --sandbox` tries a sheet without a key",
        )

    @cached_property
    def _kept_key(self) -> str:
        """What the keyring or the file has: a keyring may take seconds, and is asked once."""
        from tasks.credentials import key_of

        assert self.login is not None
        return key_of(self.login)


#: Every setting: its default, and what it is.
KNOWN: dict[str, tuple[str | None, str]] = {
    name: (None if field.default_factory else field.default or None, field.description)
    for name, field in Settings.model_fields.items()
    if field.description
}
SECRETS = ("api_key", "webhook_secret")


class _Source(PydanticBaseSettingsSource):
    """One place that settings come from: `read` is called with what those before it say."""

    def __init__(self, settings_cls: type[BaseSettings], read: Callable[[Any], Any]) -> None:
        super().__init__(settings_cls)
        self._read = read

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return one setting, as every source has to."""
        return self().get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return dict(self._read(self.current_state))


def load_settings(
    *,
    profile: str | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    overrides: Mapping[str, str] | None = None,
    logging_in: bool = False,
    sheet: str | None = None,
) -> Settings:
    """Return the settings in force; raise ConfigurationError naming the one that is wrong.

    With a `sheet`, a folder without a ledger is led to the one that the sheet was run with.
    A profile needs no TOML file once a login is kept under its name, or when `logging_in`.
    """
    environ = os.environ if environ is None else environ
    folder = folder or Path.cwd()
    register = _register(profile, credentials_folder(environ))
    notes = notes_folder(environ)
    home = find_home(folder, sheet, notes)
    #: Of every setting where it comes from, as a person would find it.
    origins: dict[str, str] = {}

    def noted(found: Mapping[str, Found]) -> dict[str, str]:
        for name, one in found.items():
            origins.setdefault(name, one.where)
        return {name: one.value.strip() for name, one in found.items() if one.value.strip()}

    def given(_: Mapping[str, Any]) -> dict[str, Any]:
        # A sandbox's films are no reason to come back to its ledger.
        return {"home": home, "notes": None if overrides else notes, **(overrides or {})}

    def environment(_: Mapping[str, Any]) -> dict[str, str]:
        return noted(_from_environment(environ))

    def in_profile(_: Mapping[str, Any]) -> dict[str, str]:
        if profile is None:
            return {}
        needed = not (logging_in or (register and (register.logins or register.trouble)))
        return noted(read_profile(profile, folder, known=KNOWN, secrets=SECRETS, needed=needed))

    def kept(above: Mapping[str, Any]) -> dict[str, Any]:
        source = origins.get("api_key")
        if source and not source.startswith(PREFIX):
            source = f"profile {profile}"
        named = "ledger" in origins
        found = {"key_source": source, "ledger_is_named": named}
        if not named and not is_here(home, folder):
            # Films go on to where those before them are, whatever folder this is.
            found["store"] = f"{home.parent / 'deliveries'}/"
        return {**found, **_kept(register, above.get("base_url"))}

    try:
        return Settings.model_validate({"sources": (given, environment, in_profile, kept)})
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0])
        words, *remedy = problem["ctx"]["error"].args
        raise ConfigurationError(
            f"{origins.get(name, PREFIX + name.upper())}{words}", remedy="".join(remedy) or None
        ) from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for variable in sorted(environ):
        name, value = variable.removeprefix(PREFIX).lower(), environ[variable]
        if not variable.startswith(PREFIX) or not value.strip():
            continue
        if name.removesuffix("_file") in SECRETS:
            # `API_KEY_FILE` comes after `API_KEY`, and wins.
            text = read_secret(variable, Path(value)) if name.endswith("_file") else value
            found[name.removesuffix("_file")] = Found(text, variable)
        elif name in KNOWN:
            found[name] = Found(value, variable)
        elif meant := _meant(name):
            raise ConfigurationError(
                f"{variable} is no setting; nothing was spent",
                remedy=f"did you mean {PREFIX}{meant.upper()}?",
            )
    return found


def _meant(name: str) -> str | None:
    """Return the setting that a name which is none was most likely meant to be, if there is one.

    What resembles none is somebody else's: an orchestrator names a service's address so.
    """
    if name.removesuffix("_file") in KNOWN:
        return name.removesuffix("_file")
    names = [*KNOWN, *(f"{secret}_file" for secret in SECRETS)]
    return next(iter(get_close_matches(name, names, n=1, cutoff=0.85)), None)


def _kept(register: Register | None, base_url: str | None) -> dict[str, Any]:
    """Return what a login says, if one is kept for this service, or for one at all."""
    address = _address(base_url) if base_url else None
    login = register.of(address) if register and bool(address) == bool(base_url) else None
    if login is None:
        return {"kept_logins": register}
    urls = {"base_url": login.base_url, "auth_url": login.auth_url, "mcp_url": login.mcp_url}
    return {"kept_logins": register, "login": login, **{n: url for n, url in urls.items() if url}}


def credentials_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder where logins are kept; None where nobody is at home."""
    environ = os.environ if environ is None else environ
    home = environ.get("HOME") or environ.get("USERPROFILE")
    config = environ.get("XDG_CONFIG_HOME") or (home and f"{home}/.config")
    return Path(config) / "callsheet" / "credentials" if config else None


def notes_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder where this user's runs are noted; None where nobody is at home."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    state = environ.get("XDG_STATE_HOME") or environ.get("LOCALAPPDATA")
    state = state or (home and f"{home}/.local/state")
    return Path(state) / "callsheet" / "runs" if state else None


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
