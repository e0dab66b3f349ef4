"""`callsheet webhooks`: subscriptions by hand, and a secret that is shown once."""

from __future__ import annotations

import json
import re
import socketserver
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.databases import take_ledger
from tests.fixtures import sandbox_fixture
from tests.programs import Desk, Finished, Sandbox
from tests.web import free_port

#: Nothing listens there: deliveries fail at once.
NOWHERE = "http://127.0.0.1:9/hook"


#: A sandbox that takes addresses of this machine.
service = sandbox_fixture("--allow-loopback-webhooks")


def test_a_subscription_from_its_secret_to_its_end(desk: Desk) -> None:
    take_ledger(desk.folder)
    made = desk.call("webhooks", "create", NOWHERE, "--name", "Videos", "--json")
    webhook_id, secret = made.json["webhook_id"], made.json["secret"]
    listed = desk.call("webhooks", "list")
    shown = desk.call("webhooks", "show", webhook_id, "--json")
    tested = desk.call("webhooks", "test", webhook_id, "--json")
    tries = desk.call("webhooks", "deliveries", webhook_id, "--json")
    table = desk.call("webhooks", "deliveries", webhook_id)
    asked = desk.call("webhooks", "delete", webhook_id, "--json")
    ended = desk.call("webhooks", "delete", webhook_id, "--yes", "--json")
    gone = desk.call("webhooks", "show", webhook_id, "--json")

    assert made.status == 0, made.err
    assert made.json["events"] == ["video.ready"]
    assert made.json["active"] is True
    assert len(secret) >= 16
    assert "will not be shown again" in made.err
    assert secret not in made.err
    assert shown.json["url"] == NOWHERE
    assert shown.json["name"] == "Videos"
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
    assert not (desk.folder / ".callsheet").exists(), "what pays nothing makes no ledger"


def test_a_secret_may_go_to_a_file_of_its_owner_alone(desk: Desk) -> None:
    made = desk.call("webhooks", "create", NOWHERE, "--secret-file", "secret")
    again = desk.call("webhooks", "create", NOWHERE, "--secret-file", "secret", "--json")
    refused = desk.call("webhooks", "create", "http://example.com/", "--secret-file", "other")

    file = desk.folder / "secret"
    secret = file.read_text().strip()
    assert made.status == 0, made.err
    assert len(secret) >= 16
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in made.out + made.err
    assert again.status == 2
    assert "was not changed" in again.err
    assert file.read_text().strip() == secret
    assert refused.status == 2
    assert not (desk.folder / "other").exists()


def test_a_person_is_shown_the_secret_once(desk: Desk) -> None:
    made = desk.call("webhooks", "create", NOWHERE)

    webhook_id = made.out.split(":")[0]
    lines = made.out.splitlines()
    assert len(lines[lines.index("its secret, which will not be shown again:") + 1]) >= 16
    assert made.out.count(lines[-1]) == 1
    assert desk.call("webhooks", "show", webhook_id).status == 0


def test_a_subscription_is_changed(desk: Desk) -> None:
    made = desk.call("webhooks", "create", NOWHERE, "--event", "video.ready", "--json")
    webhook_id = made.json["webhook_id"]

    renamed = desk.call("webhooks", "edit", webhook_id, "--name", "New", "--disable", "--json")
    enabled = desk.call("webhooks", "edit", webhook_id, "--set", "is_active=true", "--json")
    nothing = desk.call("webhooks", "edit", webhook_id)

    assert renamed.json["name"] == "New"
    assert renamed.json["active"] is False
    assert renamed.json["changed"] == ["is_active", "name"]
    assert enabled.json["active"] is True
    assert nothing.status == 2
    assert "nothing to change" in nothing.err


def test_what_the_service_refuses_is_told(desk: Desk, service: Sandbox) -> None:
    bad = desk.call("webhooks", "create", "ftp://example.com", "--json")
    unknown = desk.call("webhooks", "create", NOWHERE, "--event", "video.eaten", "--json")
    desk.environ["CALLSHEET_API_KEY"] = service.ready["keys"]["read"]
    unscoped = desk.call("webhooks", "create", NOWHERE, "--json")

    assert [call.status for call in (bad, unknown, unscoped)] == [2, 2, 2]
    assert "400" in bad.json["error"]
    assert "400" in unknown.json["error"]
    assert "`write` scope" in unscoped.err
    assert "callsheet login --scopes" in unscoped.err


def test_a_lost_answer_says_that_a_secret_may_be_lost(desk: Desk) -> None:
    with _hanging_up() as (address, heard):
        desk.environ["CALLSHEET_BASE_URL"] = address
        lost = desk.call("webhooks", "create", NOWHERE, "--secret-file", "kept", "--json")

    assert lost.status == 3
    assert lost.json["exit"] == 3
    assert "whose secret is lost" in lost.json["error"]
    assert "callsheet webhooks list" in lost.err
    assert len(heard) == 1, "it is sent once"
    assert heard[0].startswith(b"POST /api/v1/webhooks ")
    assert not (desk.folder / "kept").exists()


@pytest.fixture(scope="module")
def receiving(tmp_path_factory: pytest.TempPathFactory, service: Sandbox) -> Iterator[Desk]:
    """A folder where a receiver is at work, at the address that the service is told."""
    desk = _with_address(tmp_path_factory.mktemp("office"), service)
    receiver = desk.start("receive", "--json")
    assert (
        json.loads(receiver.stdout.readline())["receiver"]
        == f"http://{desk.environ['CALLSHEET_RECEIVER']}"
    )
    yield desk
    receiver.terminate()
    receiver.communicate(timeout=30)


@pytest.fixture
def office(receiving: Desk) -> Desk:
    """The same folder, whose settings a test may change."""
    return Desk(receiving.folder, dict(receiving.environ))


def test_a_subscription_is_made_once_by_whoever_comes_first(office: Desk) -> None:
    first = office.call("webhooks", "ensure", "--json")
    again = office.call("webhooks", "ensure", "--json")
    told = office.call("webhooks", "ensure")

    assert (first.status, first.json["made"], first.json["heard"]) == (0, True, True)
    assert again.json == {**first.json, "made": False}
    assert first.json["trouble"] is None
    assert told.status == 0
    assert first.json["webhook_id"] in told.out
    assert "a ping arrived" in told.out
    assert _webhooks(office) == [first.json["webhook_id"]]
    _says_no_secret(office, first, again, told)


@pytest.mark.merge
def test_a_secret_is_replaced_by_hand(office: Desk) -> None:
    before = office.call("webhooks", "ensure", "--json")
    after = office.call("webhooks", "rotate", "--json")

    assert (after.status, after.json["made"], after.json["heard"]) == (0, True, True)
    assert after.json["nonce"] != before.json["nonce"]
    assert _webhooks(office) == [after.json["webhook_id"]]
    _says_no_secret(office, after)


def test_how_it_stands_is_shown(office: Desk) -> None:
    made = office.call("webhooks", "ensure", "--json")
    shown = office.call("webhooks", "status", "--json")
    told = office.call("webhooks", "status")
    office.call("webhooks", "edit", made.json["webhook_id"], "--disable")
    disabled = office.call("webhooks", "status", "--json")
    enabled = office.call("webhooks", "ensure", "--json")

    (one,) = shown.json["subscriptions"]
    assert (shown.status, shown.json["problems"]) == (0, [])
    assert shown.json["receiver"] == {
        "address": office.environ["CALLSHEET_RECEIVER"],
        "answers": True,
    }
    assert one["webhook_id"] == made.json["webhook_id"]
    assert (one["active"], one["secret"]) == (True, "here")
    assert one["last_heard"] is not None
    assert re.search(rf"{one['webhook_id']} .* yes +here ", told.out)
    assert disabled.status == 3
    assert "is disabled" in disabled.json["problems"][0]
    assert (enabled.status, enabled.json["enabled"]) == (0, True)
    _says_no_secret(office, shown, told, disabled)


CREATED = "service: after the answer (create webhook)"
KILLS = [
    ("ensure", "service: before the request (create webhook)"),
    ("ensure", CREATED),
    ("rotate", CREATED),
    ("rotate", "service: before the request (delete webhook)"),
    ("rotate", "service: after the answer (delete webhook)"),
]


@pytest.mark.parametrize(("verb", "point"), KILLS, ids=lambda word: word.partition(": ")[2] or word)
def test_a_kill_at_any_point_leaves_one_that_is_heard(
    office: Desk, tmp_path: Path, verb: str, point: str
) -> None:
    if verb == "ensure":
        for webhook_id in _webhooks(office):
            office.call("webhooks", "delete", webhook_id, "--yes")
    else:
        assert office.call("webhooks", "ensure").status == 0
    order = {"trace": str(tmp_path / "trace"), "point": point, "nth": 1, "linger": 0.0}

    killed = office.call("webhooks", verb, hook=order)
    after = office.call("webhooks", "ensure", "--json")
    shown = office.call("webhooks", "status", "--json")

    assert killed.status == -9
    assert (after.status, after.json["heard"]) == (0, True), after.err
    assert _webhooks(office) == [after.json["webhook_id"]]
    assert [one["nonce"] for one in shown.json["subscriptions"]] == [after.json["nonce"]]
    held = json.loads(_secret_file(office, after.json["nonce"]).read_text())
    assert held["retired_at"] is None
    live = [path for path in _secrets(office) if json.loads(path.read_text())["retired_at"] is None]
    assert [path.stem for path in live] == [after.json["nonce"]]


@pytest.mark.slow
def test_without_a_receiver_it_says_how_to_start_one(desk: Desk, service: Sandbox) -> None:
    alone_there = _with_address(desk.folder, service)
    address = alone_there.environ["CALLSHEET_RECEIVER"]

    alone = alone_there.call("webhooks", "ensure", "--json")
    shown = alone_there.call("webhooks", "status")

    assert alone.status == 3
    assert "was not heard within 10 s" in alone.json["trouble"]
    assert "`callsheet receive`" in alone.err
    assert address in alone.err
    assert shown.status == 3
    assert f"no receiver answers at {address}" in shown.out
    assert "Failed for wh_" in shown.out


def test_without_an_address_nothing_is_made(desk: Desk) -> None:
    for verb in ("ensure", "rotate", "status"):
        refused = desk.call("webhooks", verb)

        assert refused.status == 2
        assert "CALLSHEET_WEBHOOK_URL is not set" in refused.err
        assert "callsheet receive" in refused.err


def _with_address(folder: Path, service: Sandbox) -> Desk:
    address = f"127.0.0.1:{free_port()}"
    ours = {"CALLSHEET_RECEIVER": address, "CALLSHEET_WEBHOOK_URL": f"http://{address}"}
    return Desk(folder, {**service.environ, **ours})


def _webhooks(office: Desk) -> list[str]:
    """Return the ids of what the service has under the address of an office."""
    listed = office.call("webhooks", "list", "--json").json["webhooks"]
    ours = office.environ["CALLSHEET_WEBHOOK_URL"] + "/"
    return [one["webhook_id"] for one in listed if one["url"].startswith(ours)]


def _secrets(office: Desk) -> list[Path]:
    return sorted((office.folder / ".callsheet" / "webhooks").glob("*.json"))


def _secret_file(office: Desk, nonce: str) -> Path:
    return office.folder / ".callsheet" / "webhooks" / f"{nonce}.json"


def _says_no_secret(office: Desk, *calls: Finished) -> None:
    for path in _secrets(office):
        secret = json.loads(path.read_text())["secret"]
        assert len(secret) >= 16
        assert not any(secret in call.out + call.err for call in calls)


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
