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
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callsheet.tasks.runtime.redact import register_secret

if TYPE_CHECKING:
    import httpx

#: What asking a server may end in.
TROUBLE = (OSError, ValueError, HTTPException)
#: How long a server may take to say how it is, in seconds.
SAYS_WITHIN = 2.0


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
        asked = self._status("flows/count", {})
        if status == 404 and asked is None:
            return ServerAnswer.AWAY
        return ServerAnswer.REFUSED if asked in REFUSALS else ServerAnswer.UP

    def answers(self) -> bool:
        """Whether anybody is there."""
        return self._status("health") == 200 or self.health() is not ServerAnswer.AWAY

    def version(self) -> str | None:
        """Return the server's version, where it tells one."""
        with suppress(*TROUBLE):
            found = self.ask("admin/version", within=SAYS_WITHIN)
            return found if isinstance(found, str) else None
        return None

    def recorded_at_once(self) -> int | None:
        """Return how many task runs the server's recorder reads at a time, where it tells."""
        with suppress(*TROUBLE, KeyError, TypeError):
            found = self.ask("admin/settings", within=SAYS_WITHIN)
            return int(found["server"]["services"]["task_run_recorder"]["read_batch_size"])
        return None

    def refusal(self) -> str:
        """Return how it is said that a server does not take our credentials."""
        words = (
            f"refuses {self.credentials}" if self.credentials else "wants credentials: none are set"
        )
        return f"the Prefect server at {self.url} {words}"

    def ask(
        self, path: str, body: object = None, *, method: str | None = None, within: float = 10.0
    ) -> Any:
        """Return the answer of the server's API within so many seconds.

        Raise HTTPError for a refusal, another OSError, HTTPException or ValueError for no answer.
        """
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **self.headers()},
            method=method,
        )
        tls = self.tls() if self.url.startswith("https:") else None
        with urllib.request.urlopen(request, timeout=within, context=tls) as answer:
            return json.loads(answer.read() or "null")

    def client(self, **limits: Any) -> httpx.AsyncClient:
        """Return a client for many requests to the server's API."""
        # Takes a quarter of a second, which most commands need not pay.
        import httpx

        tls = self.tls() if self.url.startswith("https:") else False
        headers = {"Content-Type": "application/json", **self.headers()}
        base = f"{self.url.rstrip('/')}/"
        return httpx.AsyncClient(base_url=base, headers=headers, verify=tls, **limits)

    def _status(self, path: str, body: object = None) -> int | None:
        """Return the status of an answer; None where there is none in time."""
        try:
            self.ask(path, body, within=SAYS_WITHIN)
        except urllib.error.HTTPError as error:
            return error.code
        except TROUBLE:
            return None
        return 200


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
    places = _places(os.environ if environ is None else environ, folder or Path.cwd())
    url, where = _first(places, "api_url")
    if not url:
        return None
    key, key_place = _first(places, "api_key")
    auth, auth_place = _first(places, "api_auth_string")
    for secret in filter(None, (key, auth)):
        register_secret(secret)
    named = [("PREFECT_API_KEY", key, key_place), ("PREFECT_API_AUTH_STRING", auth, auth_place)]
    insecure, _ = _first(places, "api_tls_insecure_skip_verify")
    return PrefectAddress(
        url=url,
        stands_in=where or "",
        key=key,
        auth_string=auth,
        credentials=next((_credentials(name, place) for name, it, place in named if it), None),
        custom_headers=_headers(_first(places, "client_custom_headers")[0]),
        ssl_cert_file=_first(places, "api_ssl_cert_file")[0],
        insecure=(insecure or "").lower() in ("true", "1", "yes", "on", "t", "y"),
        ui_url=_first(places, "ui_url")[0],
        heartbeat_seconds=_seconds(_first(places, "flows_heartbeat_frequency")[0]),
    )


def _credentials(name: str, place: str | None) -> str:
    return name if place == _ENVIRONMENT else f"{name} of {place}"


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
#: A place and what it says, by names as in `prefect_api_url`.
Place = tuple[str, Mapping[str, Any]]


def _first(places: Iterable[Place], name: str) -> tuple[str | None, str | None]:
    """Return what the first place says that says anything, as text, and which one that is.

    Nothing at all, said by one place, stands against every place after it.
    """
    for place, said in places:
        value = said.get(f"prefect_{name}")
        if value is not None:
            return json.dumps(value) if isinstance(value, dict) else str(value), place
    return None, None


def _places(environ: Mapping[str, str], folder: Path) -> list[Place]:
    shared = _toml(folder / "pyproject.toml").get("tool", {}).get("prefect", {})
    places: list[Place] = [
        (_ENVIRONMENT, _by_variable(environ)),
        (".env", _by_variable(_dotenv(folder / ".env"))),
        ("prefect.toml", _by_table(_toml(folder / "prefect.toml"))),
        ("pyproject.toml", _by_table(shared)),
    ]
    said, _ = _first(places, "profiles_path")
    profiles = _toml(folder / (said or _home(environ) / "profiles.toml"))
    name = environ.get("PREFECT_PROFILE") or profiles.get("active")
    profile = profiles.get("profiles", {}).get(name)
    own = _by_variable(profile) if isinstance(profile, dict) else {}
    return [*places, (f"profile {name}", own)]


def _by_variable(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name.lower(): value for name, value in said.items()}


def _by_table(said: Mapping[str, Any]) -> dict[str, Any]:
    found = {f"prefect_{name}": value for name, value in said.items()}
    tables = [(name, table) for name, table in found.items() if isinstance(table, dict)]
    return found | {f"{name}_{key}": it for name, table in tables for key, it in table.items()}


def _dotenv(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    # Read by what Prefect reads it with; most folders have none to pay for.
    from dotenv import dotenv_values

    with suppress(OSError, ValueError):
        return dict(dotenv_values(path))
    return {}


def _toml(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        return tomllib.loads(path.read_text(encoding="utf-8"))
    return {}


def _home(environ: Mapping[str, str]) -> Path:
    """Return Prefect's folder, of which it asks the environment alone."""
    if environ.get("PREFECT_HOME"):
        return Path(environ["PREFECT_HOME"])
    home = environ.get("HOME") if os.name == "posix" else None
    return Path(home or Path.home()) / ".prefect"
