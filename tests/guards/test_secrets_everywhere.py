"""No secret is anywhere but where it has to be, whatever the service, the store or a person does.

Every command here runs with `-v`. What it says, and every file it leaves, is searched for the
secrets it was given or told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.guards.canaries import CANARIES, SIGNED, heard_in, heard_under
from tests.guards.hostile import MOODS, Hostile, hostile
from tests.programs import ROOT, Desk, Finished, simple_sheet

pytestmark = pytest.mark.merge

NOBODY = "127.0.0.1:9"
QUOTED = quote(CANARIES["quoted password"], safe="")
COMMANDS = (
    ("run", "s.csv", "--yes", "--without-prefect", "--max-wait", "1s", "-v", "--json"),
    ("video", "show", "vid_1", "-v", "--json"),
    ("video", "share", "vid_1", "-v"),
    ("webhooks", "create", "--url", "https://hook.example/x", "--events", "video.ready", "-v"),
    ("whoami", "-v"),
)
#: What is asked for to be seen: the link of a share, and a webhook's secret this one time.
MEANT = {
    " ".join(COMMANDS[2]): {"signature", "second signature"},
    " ".join(COMMANDS[3]): {"webhook secret"},
}

#: Where the board shows what a service, a store and a ledger say.
PAGES = ("/", "/people", "/activity", "/health", "/new", "/c/s", "/nothing")
CALLS = ("/api/v1/people", "/api/v1/activity", "/api/v1/health", "/api/v1/openapi.json")

LOGS = f"""
import logging, prefect.flows
from prefect.logging.configuration import setup_logging
from callsheet.flows.flow_runs import set_up_prefect_logs
setup_logging()
set_up_prefect_logs()
error = ValueError("Bearer {CANARIES["api key"]}")
for name in ("prefect", "prefect.flow_runs", "prefect.task_runs"):
    logging.getLogger(name).error("%s said {SIGNED}", name, exc_info=error)
"""
#: A handler that cannot write a record reports it, past every filter.
REPORT = f"""
import logging
from callsheet.tasks.runtime.redact import install
class Broken(logging.StreamHandler):
    def format(self, record):
        raise ValueError("{SIGNED}")
logging.basicConfig(handlers=[Broken()])
install(logging.root.handlers)
logging.error("Bearer {CANARIES["api key"]}")
"""


@pytest.fixture(scope="module")
def service() -> Iterator[Hostile]:
    with hostile() as running:
        yield running


@pytest.fixture
def desk(tmp_path: Path, service: Hostile) -> Desk:
    environ = {
        "CALLSHEET_BASE_URL": f"{service.url}/api/v1",
        "CALLSHEET_AUTH_URL": service.url,
        "CALLSHEET_API_KEY": CANARIES["api key"],
        "AWS_ENDPOINT_URL_S3": f"http://{NOBODY}",
        "AWS_ACCESS_KEY_ID": "CANARYACCESS",
        "AWS_SECRET_ACCESS_KEY": CANARIES["S3 secret key"],
        "AWS_SESSION_TOKEN": CANARIES["S3 session token"],
        "AWS_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
    }
    desk = Desk(tmp_path, environ)
    desk.sheet("s.csv", simple_sheet(2))
    return desk


def verbose(desk: Desk, *words: str) -> Finished:
    """Run a command; a traceback may be shown with `-v`, a secret may not."""
    process = desk.start(*words)
    out, err = process.communicate(timeout=120)
    return Finished(process.wait(), out, err)


@pytest.mark.safeguard(
    "tasks/service/response.py",
    "return next((redact(word) for word in _words",
    "return next((word for word in _words",
)
@pytest.mark.parametrize("mood", MOODS)
def test_what_a_service_repeats_is_not_repeated(mood: str, desk: Desk, service: Hostile) -> None:
    service.mood = mood

    said = {" ".join(words): verbose(desk, *words) for words in COMMANDS}
    said |= {word: verbose(desk, word, "s", "-v", "--json") for word in ("rows", "status")}

    for command, ended in said.items():
        heard = set(heard_in((ended.out + ended.err).encode()))
        assert not heard - MEANT.get(command, set()), (command, heard, ended.out + ended.err)
    assert not any(heard_under(desk.folder).values()), heard_under(desk.folder)


@pytest.mark.parametrize("mood", MOODS)
def test_the_board_tells_neither_its_tokens_nor_the_services(
    mood: str, desk: Desk, service: Hostile
) -> None:
    service.mood = mood
    process = desk.start("board", "--port", "0", "--json", "-v")
    ready = json.loads(process.stdout.readline())

    said, secrets = _asked_of(ready)
    process.terminate()
    out, err = process.communicate(timeout=60)

    assert process.returncode == 0
    kept = desk.folder / ".callsheet" / "board" / "token"
    files = [
        file.read_bytes() for file in desk.folder.rglob("*") if file.is_file() and file != kept
    ]
    for told in (out.encode(), err.encode(), *files, *said):
        assert not heard_in(told), told[:2000]
        assert not [secret for secret in secrets if secret.encode() in told], told[:2000]


def _asked_of(ready: dict[str, str]) -> tuple[list[bytes], list[str]]:
    """Use a board in every way; return its answers, and the secrets that are in none but one."""
    with httpx.Client(base_url=ready["url"], timeout=60) as client:
        code = {"token": ready["login"].partition("=")[2]}
        entered = client.post("/login", data=code, headers={"origin": ready["url"]})
        bearer = {"authorization": f"Bearer {ready['token']}"}
        invitation = {"name": "Ben", "role": "viewer"}
        made = client.post("/api/v1/people", json=invitation, headers=bearer).json()
        secrets = [ready["token"], made["token"], *entered.cookies.values()]
        secrets += [made["login"].partition("=")[2], ready["login"].partition("=")[2]]
        asked = [client.get(path, headers=bearer) for path in (*PAGES, *CALLS)]
        asked += [client.get(f"/login?code={secrets[0]}"), client.get(ready["login"])]
        wrong = {"authorization": f"Bearer {CANARIES['api key']}"}
        asked += [client.get("/api/v1/me", headers=wrong)]
        asked += [client.post("/api/v1/people", json={"name": [secrets[0]]}, headers=bearer)]
        return [answer.content for answer in asked], secrets


def test_nobody_hears_the_codes_of_a_login(desk: Desk) -> None:
    del desk.environ["CALLSHEET_API_KEY"]

    ended = verbose(desk, "login", "--device", "-v", "--no-store")

    assert ended.status != 0
    # The code for a person is there to be shown.
    assert not heard_in((ended.out + ended.err).encode(), but_for="user code")
    assert not any(heard_under(desk.folder).values())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("CALLSHEET_STORE", "s3://videos/callsheet"),
        ("CALLSHEET_LEDGER", f"postgresql://me:{CANARIES['database password']}@{NOBODY}/db"),
        ("CALLSHEET_LEDGER", f"postgresql://{NOBODY}/db?password={CANARIES['database password']}"),
        (
            "CALLSHEET_LEDGER",
            f"postgresql://{NOBODY}/db?sslpassword={quote(CANARIES['quoted password'], safe='')}",
        ),
        ("CALLSHEET_LEDGER", f"sqlite:///l.db?password={CANARIES['database password']}"),
        ("CALLSHEET_STORE", f"s3://key:{CANARIES['S3 secret key']}@videos/callsheet"),
        ("CALLSHEET_WEBHOOK_URL", f"https://u:{CANARIES['database password']}@hook.example/x"),
        ("CALLSHEET_LEDGER", f"mysql://me:{CANARIES['database password']}@{NOBODY}/db"),
        ("CALLSHEET_LEDGER", f"me:{CANARIES['database password']}@{NOBODY}"),
        ("CALLSHEET_BASE_URL", f"http://u:{CANARIES['database password']}@{NOBODY}/api/v1"),
        ("CALLSHEET_API_KEY", f"{CANARIES['api key']} {CANARIES['access token']}"),
    ],
)
def test_a_setting_that_fails_is_not_repeated(
    setting: str, value: str, desk: Desk, service: Hostile
) -> None:
    service.mood = "words for states that are keys"
    desk.environ[setting] = value

    for words in (COMMANDS[0], ("status", "-v")):
        ended = verbose(desk, *words)
        assert not heard_in((ended.out + ended.err).encode()), ended.out + ended.err
    assert not any(heard_under(desk.folder).values())


@pytest.mark.safeguard("flows/flow_runs.py", "install(handlers)", "install(())")
def test_prefects_own_logs_are_redacted_whoever_writes_them() -> None:
    """In a process of its own: Prefect sets logging up for the whole of it."""
    environ = {**os.environ, "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore"}

    done = subprocess.run(
        [sys.executable, "-c", LOGS], cwd=ROOT, env=environ, check=True, capture_output=True
    )

    assert b"prefect.task_runs said" in done.stderr
    assert not heard_in(done.stdout + done.stderr)


def test_the_report_of_a_record_that_cannot_be_written_is_redacted() -> None:
    done = subprocess.run([sys.executable, "-c", REPORT], cwd=ROOT, check=True, capture_output=True)

    assert b"Logging error" in done.stderr
    assert b"ValueError" in done.stderr
    assert not heard_in(done.stderr)
