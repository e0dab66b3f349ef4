"""Where Prefect's server is and what it is spoken to with, as Prefect itself reads it.

The environment comes before `.env`, `prefect.toml` and `pyproject.toml` of the current folder, and
those before the active profile. Imports nothing of Prefect, which would take seconds.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from http.client import HTTPException
from pathlib import Path
from typing import Any

from callsheet.tasks.runtime.redact import register_secret

#: Bytes of an answer that are read: the settings of a server are the longest.
MOST = 1_000_000
#: How long a server may take to say how it is, in seconds.
SAYS_WITHIN = 2.0

#: Asks one place for a setting, by its section and name there (`api`, `url`).
Ask = Callable[[str, str], Any]


class ServerAnswer(Enum):
    """How a server is: it answers, it refuses what we say of ourselves, or it does not answer."""

    UP = "up"
    REFUSED = "refused"
    AWAY = "away"


@dataclass(frozen=True, kw_only=True)
class PrefectAddress:
    """A server's API, where its address stands, and with what it is spoken to."""

    url: str
    #: `PREFECT_API_URL`, `.env`, `prefect.toml`, `pyproject.toml` or a profile.
    stands_in: str
    key: str | None = field(default=None, repr=False)
    auth_string: str | None = field(default=None, repr=False)
    #: Where key or auth string stand, and what they are called in the environment.
    credentials: str | None = None
    custom_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ssl_cert_file: str | None = None
    insecure: bool = False
    #: Where people look, if that is said.
    ui_url: str | None = None
    #: How often a flow run sends a sign of life, in seconds.
    heartbeat_seconds: float = 180.0

    def headers(self) -> dict[str, str]:
        """Return what every request says of who asks."""
        said = dict(self.custom_headers)
        if self.key:
            said["Authorization"] = f"Bearer {self.key}"
        elif self.auth_string:
            encoded = base64.b64encode(self.auth_string.encode()).decode()
            said["Authorization"] = f"Basic {encoded}"
        return said

    def pages(self) -> str:
        """Return where people look, as Prefect finds it."""
        if self.ui_url:
            return self.ui_url.rstrip("/")
        url = self.url.rstrip("/").replace("https://api.prefect.cloud/api", _CLOUD_PAGES)
        url = url.removesuffix("/api").replace("/api/", "/")
        return url.replace("/accounts/", "/account/").replace("/workspaces/", "/workspace/")

    def tls(self) -> ssl.SSLContext:
        """Return what its certificate is checked by."""
        if self.insecure:
            return ssl._create_unverified_context()
        return ssl.create_default_context(cafile=self.ssl_cert_file)

    def health(self) -> ServerAnswer:
        """Ask the server how it is, and whether it takes our credentials."""
        status = self._status("health")
        if status in REFUSALS:
            return ServerAnswer.REFUSED
        # Prefect's cloud has no such page for a workspace.
        if status not in (200, 404):
            return ServerAnswer.AWAY
        # Anybody may ask for its health: this asks as a flow run would. No answer in time is none.
        asked = self._status("flows/count", body=b"{}")
        if status == 404 and asked is None:
            return ServerAnswer.AWAY
        return ServerAnswer.REFUSED if asked in REFUSALS else ServerAnswer.UP

    def answers(self) -> bool:
        """Whether anybody is there."""
        return self._status("health") == 200 or self.health() is not ServerAnswer.AWAY

    def version(self) -> str | None:
        """Return the server's version, where it tells one."""
        answer = self._ask("admin/version")
        with suppress(ValueError):
            found = json.loads(answer[1]) if answer and answer[0] == 200 else None
            return found if isinstance(found, str) else None
        return None

    def recorded_at_once(self) -> int | None:
        """Return how many task runs the server's recorder reads at a time, where it tells."""
        answer = self._ask("admin/settings")
        with suppress(ValueError, KeyError, TypeError):
            found = json.loads(answer[1]) if answer and answer[0] == 200 else {}
            return int(found["server"]["services"]["task_run_recorder"]["read_batch_size"])
        return None

    def refusal(self) -> str:
        """Return how it is said that a server does not take our credentials."""
        words = (
            f"refuses {self.credentials}" if self.credentials else "wants credentials: none are set"
        )
        return f"the Prefect server at {self.url} {words}"

    def _status(self, path: str, *, body: bytes | None = None) -> int | None:
        answer = self._ask(path, body=body)
        return None if answer is None else answer[0]

    def _ask(self, path: str, *, body: bytes | None = None) -> tuple[int, bytes] | None:
        """Return status and body of an answer; None where there is none in time."""
        request = urllib.request.Request(f"{self.url.rstrip('/')}/{path}", data=body)
        request.add_header("Content-Type", "application/json")
        for name, value in self.headers().items():
            request.add_header(name, value)
        with suppress(OSError, ValueError, HTTPException):
            tls = self.tls() if self.url.startswith("https:") else None
            try:
                with urllib.request.urlopen(request, timeout=SAYS_WITHIN, context=tls) as answer:
                    return int(answer.status), bytes(answer.read(MOST))
            except urllib.error.HTTPError as error:
                return error.code, b""
        return None


_CLOUD_PAGES = "https://app.prefect.cloud"
#: What an answer is that takes none of our credentials.
REFUSALS = (401, 403)

#: What to do about credentials that are refused.
REMEDY = (
    "set PREFECT_API_KEY (Prefect's cloud) or PREFECT_API_AUTH_STRING (a server of your own), in "
    "the environment, .env, prefect.toml or a profile of Prefect's"
)


def prefect_address(
    environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> PrefectAddress | None:
    """Return where Prefect would find its server; None where no address is set.

    A file that cannot be read says nothing here: Prefect complains of it by itself.
    """
    places = list(_places(os.environ if environ is None else environ, folder or Path.cwd()))
    url, where = _first(places, "api", "url")
    if not url:
        return None
    key, key_place = _first(places, "api", "key")
    auth, auth_place = _first(places, "api", "auth_string")
    for secret in filter(None, (key, auth)):
        register_secret(secret)
    named = [("PREFECT_API_KEY", key, key_place), ("PREFECT_API_AUTH_STRING", auth, auth_place)]
    credentials = next((_credentials(name, place) for name, value, place in named if value), None)
    insecure, _ = _first(places, "api", "tls_insecure_skip_verify")
    return PrefectAddress(
        url=url,
        stands_in=where or "",
        key=key,
        auth_string=auth,
        credentials=credentials,
        custom_headers=_headers(_first(places, "client", "custom_headers")[0]),
        ssl_cert_file=_first(places, "api", "ssl_cert_file")[0],
        insecure=(insecure or "").lower() in ("true", "1", "yes", "on", "t", "y"),
        ui_url=_first(places, "ui", "url")[0],
        heartbeat_seconds=_seconds(_first(places, "flows", "heartbeat_frequency")[0]),
    )


def _credentials(name: str, place: str | None) -> str:
    return name if place == _ENVIRONMENT else f"{name} of {place}"


def _first(places: list[tuple[str, Ask]], section: str, name: str) -> tuple[str | None, str | None]:
    """Return what the first place says that says anything, as text, and which one that is.

    Nothing at all, said by one place, stands against every place after it.
    """
    for place, ask in places:
        value = ask(section, name)
        if isinstance(value, dict):
            return json.dumps(value), place
        if value is not None:
            return str(value), place
    return None, None


def _headers(text: str | None) -> dict[str, str]:
    with suppress(ValueError):
        found = json.loads(text or "{}")
        return {str(name): str(value) for name, value in found.items()}
    return {}


def _seconds(text: str | None) -> float:
    """Return the time between two heartbeats: Prefect takes none of less than half a minute."""
    with suppress(TypeError, ValueError):
        return max(30.0, float(text or ""))
    return PrefectAddress.heartbeat_seconds


_ENVIRONMENT = "the environment"


def _places(environ: Mapping[str, str], folder: Path) -> Iterator[tuple[str, Ask]]:
    dotenv = _dotenv(folder / ".env")
    own = _toml(folder / "prefect.toml")
    shared = _toml(folder / "pyproject.toml").get("tool", {}).get("prefect", {})
    yield _ENVIRONMENT, _by_variable({name.lower(): value for name, value in environ.items()})
    yield ".env", _by_variable({name.lower(): value for name, value in dotenv.items()})
    yield "prefect.toml", _by_table(own)
    yield "pyproject.toml", _by_table(shared)
    profiles = _profiles_file(environ, dotenv, own, shared)
    name, profile = _profile(_toml(folder / profiles), environ)
    yield f"profile {name}", _by_variable({key.lower(): value for key, value in profile.items()})


def _by_variable(said: Mapping[str, Any]) -> Ask:
    return lambda section, name: said.get(f"prefect_{section}_{name}")


def _by_table(said: Mapping[str, Any]) -> Ask:
    def ask(section: str, name: str) -> Any:
        table = said.get(section)
        return table.get(name) if isinstance(table, dict) else None

    return ask


def _dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    # Read by what Prefect reads it with; most folders have none to pay for.
    from dotenv import dotenv_values

    with suppress(OSError, ValueError):
        return {name: value for name, value in dotenv_values(path).items() if value is not None}
    return {}


def _toml(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        return tomllib.loads(path.read_text(encoding="utf-8"))
    return {}


def _profiles_file(
    environ: Mapping[str, str],
    dotenv: Mapping[str, str],
    own: Mapping[str, Any],
    shared: Mapping[str, Any],
) -> Path:
    """Return where Prefect keeps its profiles: of its home it asks the environment alone."""
    name = "PREFECT_PROFILES_PATH"
    said = environ.get(name) or dotenv.get(name)
    said = said or own.get("profiles_path") or shared.get("profiles_path")
    if said:
        return Path(str(said))
    if environ.get("PREFECT_HOME"):
        return Path(environ["PREFECT_HOME"]) / "profiles.toml"
    home = environ.get("HOME") if os.name == "posix" else None
    return Path(home or Path.home()) / ".prefect" / "profiles.toml"


def _profile(
    said: Mapping[str, Any], environ: Mapping[str, str]
) -> tuple[str | None, Mapping[str, Any]]:
    name = environ.get("PREFECT_PROFILE") or said.get("active")
    found = said.get("profiles", {}).get(name, {})
    return name, found if isinstance(found, dict) else {}
