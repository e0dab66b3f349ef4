"""`callsheet webhooks`: subscriptions by hand, and a secret that is shown once."""

from __future__ import annotations

import socketserver
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.here import Here
from tests.programs import Desk, Sandbox, sandbox

#: Nothing listens there: deliveries fail at once.
NOWHERE = "http://127.0.0.1:9/hook"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox that takes addresses of this machine."""
    with sandbox(tmp_path_factory.mktemp("webhooks"), "--allow-loopback-webhooks") as running:
        yield running


@pytest.fixture
def here(
    tmp_path: Path,
    service: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Here:
    return Here(tmp_path, monkeypatch, capsys).work_with(service.environ)


def test_a_subscription_from_its_secret_to_its_end(here: Here, service: Sandbox) -> None:
    desk = Desk(here.folder, service.environ)

    made = desk.call("webhooks", "create", NOWHERE, "--name", "Films", "--json")
    webhook_id, secret = made.json["webhook_id"], made.json["secret"]
    listed = desk.call("webhooks", "list")
    shown = here.call("webhooks", "show", webhook_id, "--json")
    tested = here.call("webhooks", "test", webhook_id, "--json")
    tries = here.call("webhooks", "deliveries", webhook_id, "--json")
    table = here.call("webhooks", "deliveries", webhook_id)
    asked = here.call("webhooks", "delete", webhook_id, "--json")
    ended = here.call("webhooks", "delete", webhook_id, "--yes", "--json")
    gone = here.call("webhooks", "show", webhook_id, "--json")

    assert made.status == 0, made.err
    assert made.json["events"] == ["video.ready"]
    assert made.json["active"] is True
    assert len(secret) >= 16
    assert "will not be shown again" in made.err
    assert secret not in made.err
    assert shown.json["url"] == NOWHERE
    assert shown.json["name"] == "Films"
    assert webhook_id in listed.out
    assert NOWHERE in listed.out
    assert tested.status == 0
    assert tested.json["webhook_id"] == webhook_id
    assert len(tries.json["deliveries"]) >= 1
    assert "Deliveries" in table.out
    assert asked.status == 4
    assert "--yes" in asked.err
    assert ended.json == {"webhook_id": webhook_id, "deleted": True, "exit": 0}
    assert gone.status == 2
    for call in (shown, listed, tested, tries, table, asked, ended, gone):
        assert secret not in call.out + call.err
    assert not (here.folder / ".callsheet").exists(), "what pays nothing makes no ledger"


def test_a_secret_may_go_to_a_file_of_its_owner_alone(here: Here) -> None:
    made = here.call("webhooks", "create", NOWHERE, "--secret-file", "secret")
    again = here.call("webhooks", "create", NOWHERE, "--secret-file", "secret", "--json")
    refused = here.call("webhooks", "create", "http://example.com/", "--secret-file", "other")

    file = here.folder / "secret"
    secret = file.read_text().strip()
    assert made.status == 0, made.err
    assert len(secret) >= 16
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in made.out + made.err
    assert again.status == 2
    assert "left alone" in again.err
    assert file.read_text().strip() == secret
    assert refused.status == 2
    assert not (here.folder / "other").exists()


def test_a_person_is_shown_the_secret_once(here: Here) -> None:
    made = here.call("webhooks", "create", NOWHERE)

    webhook_id = made.out.split(":")[0]
    lines = made.out.splitlines()
    assert len(lines[lines.index("its secret, which will not be shown again:") + 1]) >= 16
    assert made.out.count(lines[-1]) == 1
    assert here.call("webhooks", "show", webhook_id).status == 0


def test_a_subscription_is_changed(here: Here) -> None:
    made = here.call("webhooks", "create", NOWHERE, "--event", "video.ready", "--json")
    webhook_id = made.json["webhook_id"]

    renamed = here.call("webhooks", "edit", webhook_id, "--name", "New", "--disable", "--json")
    enabled = here.call("webhooks", "edit", webhook_id, "--set", "is_active=true", "--json")
    nothing = here.call("webhooks", "edit", webhook_id)

    assert renamed.json["name"] == "New"
    assert renamed.json["active"] is False
    assert renamed.json["changed"] == ["is_active", "name"]
    assert enabled.json["active"] is True
    assert nothing.status == 2
    assert "nothing to change" in nothing.err


def test_what_the_service_refuses_is_told(here: Here, service: Sandbox) -> None:
    bad = here.call("webhooks", "create", "ftp://example.com", "--json")
    unknown = here.call("webhooks", "create", NOWHERE, "--event", "video.eaten", "--json")
    here.monkeypatch.setenv("CALLSHEET_API_KEY", service.ready["keys"]["read"])
    unscoped = here.call("webhooks", "create", NOWHERE, "--json")

    assert [call.status for call in (bad, unknown, unscoped)] == [2, 2, 2]
    assert "400" in bad.json["error"]
    assert "400" in unknown.json["error"]
    assert "`write` scope" in unscoped.err
    assert "callsheet login --scopes" in unscoped.err


def test_a_lost_answer_says_that_a_secret_may_be_lost(here: Here) -> None:
    with _hanging_up() as (address, heard):
        here.monkeypatch.setenv("CALLSHEET_BASE_URL", address)
        lost = here.call("webhooks", "create", NOWHERE, "--secret-file", "kept", "--json")

    assert lost.status == 3
    assert lost.json["exit"] == 3
    assert "whose secret nobody knows" in lost.json["error"]
    assert "callsheet webhooks list" in lost.err
    assert len(heard) == 1, "it is sent once"
    assert heard[0].startswith(b"POST /api/v1/webhooks ")
    assert not (here.folder / "kept").exists()


@contextmanager
def _hanging_up() -> Iterator[tuple[str, list[bytes]]]:
    """A service that takes every request and hangs up; yields its address and what it heard."""
    heard: list[bytes] = []

    class HangUp(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            heard.append(self.request.recv(65536))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), HangUp) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v1", heard
        server.shutdown()
