"""Where Prefect's server is: read as Prefect itself reads it, and asked how it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from callsheet.deployments.prefect_address import PrefectAddress, ServerAnswer, prefect_address
from tests.web import Quiet, serving

#: Says for each folder and environment what Prefect itself makes of it.
PREFECT = """
import json, os, sys
from prefect.settings import Settings

for folder, environ in json.load(sys.stdin):
    os.chdir(folder)
    for name in [name for name in os.environ if name.upper().startswith("PREFECT_")]:
        del os.environ[name]
    os.environ.update(environ)
    api = Settings().api
    secret = lambda one: one.get_secret_value() if one else None
    more = Settings().ui_url, Settings().flows.heartbeat_frequency
    print(json.dumps([api.url, *more, secret(api.key), secret(api.auth_string), api.ssl_cert_file,
                      api.tls_insecure_skip_verify, Settings().client.custom_headers]))
"""
PROFILES = """
active = "team"
[profiles.team]
PREFECT_API_URL = "http://team/api"
PREFECT_API_AUTH_STRING = "team:hush"
[profiles.cloud]
PREFECT_API_URL = "https://cloud/api"
PREFECT_API_KEY = "pnu_cloud"
[profiles.none]
"""


@dataclass(frozen=True)
class Case:
    """Files of a folder, and an environment; `@` stands for the folder."""

    files: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)


TOML = '[api]\nurl = "http://toml/api"\nauth_string = "toml:hush"\n'
PYPROJECT = '[tool.prefect.api]\nurl = "http://pyproject/api"\nkey = "pnu_pyproject"\n'
DOTENV = "PREFECT_API_URL=http://dotenv/api\n"
ENVIRON = {"PREFECT_API_URL": "http://environ/api"}
CASES = {
    "nothing": Case(),
    "the environment": Case(environ=ENVIRON),
    "its name in small letters": Case(environ={"prefect_api_url": "http://small/api"}),
    "a key beside it": Case(environ={**ENVIRON, "PREFECT_API_KEY": "pnu_environ"}),
    "prefect.toml": Case({"prefect.toml": TOML}),
    "pyproject.toml": Case({"pyproject.toml": PYPROJECT}),
    ".env": Case({".env": DOTENV}),
    ".env with more": Case(
        {".env": "# ours\nexport HOST=h\nprefect_api_url='http://${HOST}/api'\nPREFECT_API_KEY\n"}
    ),
    "all of them": Case({".env": DOTENV, "prefect.toml": TOML}, ENVIRON),
    "an empty variable": Case({"prefect.toml": TOML}, {"PREFECT_API_URL": ""}),
    "a home with profiles": Case({"home/profiles.toml": PROFILES}, {"PREFECT_HOME": "@/home"}),
    "another profile": Case(
        {"home/profiles.toml": PROFILES}, {"PREFECT_HOME": "@/home", "PREFECT_PROFILE": "cloud"}
    ),
    "a profile without an address": Case(
        {"home/profiles.toml": PROFILES}, {"PREFECT_HOME": "@/home", "PREFECT_PROFILE": "none"}
    ),
    "a profile and prefect.toml": Case(
        {"home/profiles.toml": PROFILES, "prefect.toml": '[api]\nurl = "http://toml/api"\n'},
        {"PREFECT_HOME": "@/home"},
    ),
    "profiles elsewhere": Case({"p.toml": PROFILES}, {"PREFECT_PROFILES_PATH": "@/p.toml"}),
    "profiles where prefect.toml says": Case(
        {"p.toml": PROFILES, "prefect.toml": 'profiles_path = "p.toml"\n'}
    ),
    "certificates and headers": Case(
        {"prefect.toml": '[client]\ncustom_headers = {X-Team = "videos"}\n'},
        {**ENVIRON, "PREFECT_API_SSL_CERT_FILE": "/ca.pem",
         "PREFECT_API_TLS_INSECURE_SKIP_VERIFY": "true"},
    ),
    "Prefect's cloud": Case(
        environ={"PREFECT_API_URL": "https://api.prefect.cloud/api/accounts/a/workspaces/w"}
    ),
    "pages elsewhere, and more heartbeats": Case(
        {"prefect.toml": "[flows]\nheartbeat_frequency = 45\n"},
        {**ENVIRON, "PREFECT_UI_URL": "https://pages"},
    ),
}  # fmt: skip


@pytest.mark.slow
def test_it_is_what_prefect_itself_would_use(tmp_path):
    asked = [_laid_out(tmp_path / str(n), case) for n, case in enumerate(CASES.values())]
    told = subprocess.run(
        [sys.executable, "-c", PREFECT],
        input=json.dumps([(str(folder), environ) for folder, environ in asked]),
        # Where it is not told of certificates, Python looks for them there by itself.
        env={**os.environ, "HOME": str(tmp_path), "SSL_CERT_FILE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    said = dict(zip(CASES, map(json.loads, told.stdout.splitlines()), strict=True))
    ours = {}
    for name, (folder, environ) in zip(CASES, asked, strict=True):
        found = prefect_address({"HOME": str(tmp_path), **environ}, folder)
        ours[name] = None if found is None else _as_prefect_says_it(found)
    assert ours == {name: words if words[0] else None for name, words in said.items()}


def _laid_out(folder: Path, case: Case) -> tuple[Path, dict[str, str]]:
    folder.mkdir()
    for name, text in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder, {name: value.replace("@", str(folder)) for name, value in case.environ.items()}


def _as_prefect_says_it(at: PrefectAddress) -> list[object]:
    server = [at.url, at.pages(), at.heartbeat_seconds, at.key, at.auth_string]
    return [*server, at.ssl_cert_file or "", at.insecure, dict(at.custom_headers)]


@pytest.mark.parametrize(
    ("case", "where", "credentials"),
    [
        ("prefect.toml", "prefect.toml", "PREFECT_API_AUTH_STRING of prefect.toml"),
        ("a home with profiles", "profile team", "PREFECT_API_AUTH_STRING of profile team"),
        ("a key beside it", "the environment", "PREFECT_API_KEY"),
        (".env", ".env", None),
    ],
)
def test_it_says_where_it_was_found(tmp_path, case, where, credentials):
    folder, environ = _laid_out(tmp_path / "here", CASES[case])
    found = prefect_address({"HOME": str(tmp_path), **environ}, folder)
    assert (found.stands_in, found.credentials) == (where, credentials)
    assert "hush" not in repr(found)


def test_a_file_that_cannot_be_read_says_nothing(tmp_path):
    (tmp_path / "prefect.toml").write_text("[api\n")
    assert prefect_address({"HOME": str(tmp_path)}, tmp_path) is None


@contextmanager
def server(password: str | None) -> Iterator[str]:
    """Serve what answers as Prefect's server does, with or without a password."""

    class Answers(Quiet):
        def do_GET(self) -> None:
            self._say(200, "true")

        def do_POST(self) -> None:
            asked = self.headers.get("Authorization")
            self._say(*((200, "0") if password in (None, asked) else (401, "{}")))

        def _say(self, status: int, text: str) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

    with serving(Answers) as url:
        yield f"{url}/api"


@pytest.mark.parametrize(
    ("password", "said", "health"),
    [
        (None, {}, ServerAnswer.UP),
        ("Basic dGVhbTpodXNo", {"auth_string": "team:hush"}, ServerAnswer.UP),
        ("Bearer pnu_1", {"key": "pnu_1"}, ServerAnswer.UP),
        ("Basic dGVhbTpodXNo", {"auth_string": "team:wrong"}, ServerAnswer.REFUSED),
        ("Basic dGVhbTpodXNo", {}, ServerAnswer.REFUSED),
    ],
)
def test_a_server_that_refuses_us_is_not_one_that_is_away(password, said, health):
    with server(password) as url:
        at = PrefectAddress(url=url, stands_in="this test", **said)
        assert at.health() is health
        assert at.answers()
    assert at.health() is ServerAnswer.AWAY
    assert not at.answers()


@pytest.mark.parametrize(
    ("credentials", "words"),
    [
        ("PREFECT_API_KEY of .env", "refuses PREFECT_API_KEY of .env"),
        (None, "wants credentials: none are set"),
    ],
)
def test_a_refusal_names_what_was_refused(credentials, words):
    at = PrefectAddress(url="http://h/api", stands_in=".env", credentials=credentials)
    assert at.refusal() == f"the Prefect server at http://h/api {words}"
