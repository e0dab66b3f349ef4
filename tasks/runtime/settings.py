"""Where settings come from, and the only place that reads the environment.

A setting is named `CALLSHEET_<NAME>` in the environment and `<name>` in a TOML profile; the
environment wins, and both win over what was set on the board (`with_board`). A secret may also come
from a file: `CALLSHEET_API_KEY_FILE`, `api_key_file`.
What neither of them says, addresses and key alike, is taken from what `callsheet login` kept under
the profile's name (`default` without one), as long as it is for the same service. What a setting
is stands in `tasks.runtime.known_settings`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.home import (
    PROFILE,
    Found,
    find_home,
    is_here,
    named_profile,
    read_profile,
    read_secret,
    remark_on,
)
from callsheet.tasks.runtime.known_settings import (
    KNOWN,
    ON_BOARD,
    SECRETS,
    Settings,
    service_address,
)

if TYPE_CHECKING:
    from callsheet.tasks.credentials import Register

PREFIX = "CALLSHEET_"
#: Where videos go unless something else is set, below the folder of `.callsheet/`.
STORE = "deliveries/"


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

    Without a profile it is the one that the environment names, if it names any.
    With a `sheet`, a folder without a ledger is led to the one that the sheet was run with.
    A profile needs no TOML file once a login is kept under its name, or when `logging_in`.
    """
    environ = os.environ if environ is None else environ
    sources = _Sources(
        profile=profile or named_profile(environ),
        environ=environ,
        folder=folder or Path.cwd(),
        overrides=overrides or {},
        logging_in=logging_in,
        sheet=sheet,
    )
    try:
        return Settings.model_validate(sources.values())
    except ValidationError as error:
        raise refusal(error, sources.place_of) from None


def with_board(
    settings: Settings, said: Mapping[str, str], *, place: str = "{}, set on the board,"
) -> Settings:
    """Return settings with what the board `said` of those that nothing else sets.

    Raise ConfigurationError for a value that is none, naming its setting by `place`.
    """
    before = settings.set_on_board or frozenset()
    given = settings.model_fields_set - before
    said = {name: text for name, text in said.items() if name in ON_BOARD and name not in given}
    try:
        # What was set before and is no longer has its default again.
        found = Settings.model_validate({"home": settings.home, **said})
    except ValidationError as error:
        raise refusal(error, place.format) from None
    changed = {name: getattr(found, name) for name in before | said.keys()}
    # Also what has its default again: the board may set it once more.
    return settings.model_copy(update={**changed, "set_on_board": before | said.keys()})


def refusal(error: ValidationError, place_of: Callable[[str], str]) -> ConfigurationError:
    """Return what is to be said of a setting that is wrong: where it is, and why."""
    problem = error.errors()[0]
    place = place_of(str(problem["loc"][0]))
    if problem["type"] == "literal_error":
        choices = problem["ctx"]["expected"].replace("'", "")
        words = f'{place} "{problem["input"]}" is not {choices}; nothing was spent'
        return ConfigurationError(words)
    words, *remedy = problem["ctx"]["error"].args
    return ConfigurationError(f"{place}{words}", remedy="".join(remedy) or None)


class _Sources:
    """The places that settings come from; `origins` says of each where a person would find it."""

    def __init__(
        self,
        *,
        profile: str | None,
        environ: Mapping[str, str],
        folder: Path,
        overrides: Mapping[str, str],
        logging_in: bool,
        sheet: str | None,
    ) -> None:
        self._profile = profile
        self._environ = environ
        self._folder = folder
        self._overrides = overrides
        self._register = _register(profile, credentials_folder(environ))
        self._logging_in = logging_in
        self._notes = notes_folder(environ)
        self._home = find_home(folder, sheet, self._notes)
        self._origins: dict[str, str] = {}
        self._elsewhere: dict[str, Found] = {}
        self._remarks = [
            f"{variable} is no setting, and nothing is made of it" for variable in _unknown(environ)
        ]

    def values(self) -> dict[str, Any]:
        """Return what all places say, one after the other; the first word counts."""
        said: dict[str, Any] = {}
        for place in (self._given, self._in_environment, self._in_profile, self._kept):
            said = {**place(said), **said}
        if said.get("sandbox") == "yes":
            # A sandbox's videos are no reason to come back to its ledger.
            said["notes"] = None
        return {**said, "remarks": tuple(self._remarks), "set_elsewhere": self._elsewhere}

    def place_of(self, name: str) -> str:
        """Return where a setting is written."""
        return self._origins.get(name, PREFIX + name.upper())

    def _given(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "home": self._home,
            "notes": self._notes,
            "traces": _wants_traces(self._environ),
            **self._overrides,
        }

    def _in_environment(self, _: Mapping[str, Any]) -> dict[str, str]:
        return self._noted(_from_environment(self._environ))

    def _in_profile(self, _: Mapping[str, Any]) -> dict[str, str]:
        if self._profile is None:
            return {}
        register = self._register
        needed = not (self._logging_in or (register and (register.logins or register.trouble)))
        found = self._noted(
            read_profile(self._profile, self._folder, known=KNOWN, secrets=SECRETS, needed=needed)
        )
        store = found.get("store", "")
        if store and "://" not in store and not Path(store).expanduser().is_absolute():
            found["store"] = self._beside(store)
        return found

    def _kept(self, above: Mapping[str, Any]) -> dict[str, Any]:
        source = self._origins.get("api_key")
        if source and not source.startswith(PREFIX):
            source = f"profile {self._profile}"
        named = "ledger" in self._origins
        found = {"key_source": source, "ledger_is_named": named, "store": self._beside(STORE)}
        return {**found, **_kept(self._register, above.get("base_url"))}

    def _beside(self, store: str) -> str:
        """Return the folder of a store next to the ledger, whatever folder this is.

        Videos go on to where those before them are. A ledger that is named elsewhere leads nowhere.
        """
        beside, named = self._home.parent, "ledger" in self._origins
        if beside == self._folder or (named and not is_here(self._home, self._folder)):
            return store
        return f"{beside / store}/"

    def _noted(self, found: Mapping[str, Found]) -> dict[str, str]:
        for name, one in found.items():
            if name not in self._origins and (remark := remark_on(one)):
                self._remarks.append(remark)
            self._origins.setdefault(name, one.where)
            if name in ON_BOARD and one.value.strip():
                self._elsewhere.setdefault(name, one)
        return {name: one.value.strip() for name, one in found.items() if one.value.strip()}


#: The settings, and the files of those that are secrets, as they are named everywhere.
_NAMES = (*KNOWN, *(f"{secret}_file" for secret in SECRETS))


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the variables of ours by their name that say something: as (variable, name, value)."""
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and environ[variable].strip():
            yield variable, variable.removeprefix(PREFIX).lower(), environ[variable]


def _from_environment(environ: Mapping[str, str]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for variable, name, value in _variables(environ):
        secret = name.removesuffix("_file")
        if name in _NAMES and secret in SECRETS:
            # `API_KEY_FILE` comes after `API_KEY`, and wins.
            file = Path(value) if name != secret else None
            found[secret] = Found(read_secret(variable, file) if file else value, variable, file)
        elif name in _NAMES:
            found[name] = Found(value, variable)
        elif meant := _meant(name):
            raise ConfigurationError(
                f"{variable} is no setting; nothing was spent",
                remedy=f"did you mean {PREFIX}{meant.upper()}?",
            )
    return found


def settings_in_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of the environment that are settings, as they are written there."""
    variables = _variables(os.environ if environ is None else environ)
    return {variable: value for variable, name, value in variables if name in _NAMES}


def _wants_traces(environ: Mapping[str, str]) -> bool:
    """Return whether OpenTelemetry's variables ask for traces: an exporter or an endpoint."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().casefold() == "true":
        return False
    if said := environ.get("OTEL_TRACES_EXPORTER", "").strip():
        return "otlp" in said.split(",")
    where = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
    return any(environ.get(name) for name in where)


def _meant(name: str) -> str | None:
    """Return the setting that a name which is none was most likely meant to be, if there is one.

    What resembles none is someone else's: an orchestrator names a service's address so.
    """
    if name.removesuffix("_file") in KNOWN:
        return name.removesuffix("_file")
    return next(iter(get_close_matches(name, _NAMES, n=1, cutoff=0.85)), None)


#: What Kubernetes tells every container of a service called callsheet.
_ORCHESTRATORS = re.compile(
    r"(\w+_)?(SERVICE_HOST=|SERVICE_PORT(_\w+)?=|PORT=(tcp|udp)://|PORT_\d+_(TCP|UDP)(_\w+)?=)"
)


def _unknown(environ: Mapping[str, str]) -> list[str]:
    """Return the variables of ours by their name that are no one's setting."""
    return [
        variable
        for variable, name, value in _variables(environ)
        if variable != PROFILE
        and name not in _NAMES
        and not _ORCHESTRATORS.match(f"{name.upper()}={value}")
    ]


def _kept(register: Register | None, base_url: str | None) -> dict[str, Any]:
    """Return what a login says, if one is kept for this service, or for one at all."""
    address = service_address(base_url) if base_url else None
    login = register.of(address) if register and bool(address) == bool(base_url) else None
    if login is None:
        return {"kept_logins": register}
    urls = {"base_url": login.base_url, "auth_url": login.auth_url, "mcp_url": login.mcp_url}
    return {"kept_logins": register, "login": login, **{n: url for n, url in urls.items() if url}}


def credentials_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder where logins are kept; None where no one is at home."""
    environ = os.environ if environ is None else environ
    home = environ.get("HOME") or environ.get("USERPROFILE")
    config = environ.get("XDG_CONFIG_HOME") or (home and f"{home}/.config")
    return Path(config) / "callsheet" / "credentials" if config else None


def notes_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder where this user's runs are noted; None where no one is at home."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    state = environ.get("XDG_STATE_HOME") or environ.get("LOCALAPPDATA")
    state = state or (home and f"{home}/.local/state")
    return Path(state) / "callsheet" / "runs" if state else None


def _register(profile: str | None, folder: Path | None) -> Register | None:
    if folder is None or not folder.is_dir():
        # No one ever logged in: nothing is loaded to find that out.
        return None
    from callsheet.tasks.credentials import profile_name, read_register

    try:
        return read_register(folder, profile_name(profile))
    except ConfigurationError:
        # No login has such a name; whether the profile is there at all is told elsewhere.
        return None
