"""Webhooks: subscriptions by hand, a secret that is shown once, and hints that bring looks forward.

Nothing depends on hints.
"""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.databases import take_ledger
from tests.fixtures import sandbox_fixture
from tests.programs import Desk, Finished, Sandbox, simple_sheet, wait_until
from tests.web import free_port

#: Nothing listens there: deliveries fail at once.
NOWHERE = "http://127.0.0.1:9/hook"
#: A render takes so long, in seconds: longer than it takes to come to the first look without one.
RENDER = 3.0

#: A sandbox that takes addresses of this machine.
service = sandbox_fixture("--allow-loopback-webhooks", "--credits", "100000000")


def webhooks(desk: Desk, *words: str) -> Finished:
    return desk.call("webhooks", *words, "--json")


def test_a_subscription_from_its_secret_to_its_end(desk: Desk) -> None:
    take_ledger(desk.folder)
    made = webhooks(desk, "create", NOWHERE, "--name", "Videos")
    one, secret = made.json["webhook_id"], made.json["secret"]
    listed = desk.call("webhooks", "list")
    shown, tested = webhooks(desk, "show", one), webhooks(desk, "test", one)
    tries = webhooks(desk, "deliveries", one)
    renamed = webhooks(desk, "edit", one, "--name", "New", "--disable")
    enabled = webhooks(desk, "edit", one, "--set", "is_active=true")
    nothing, asked = webhooks(desk, "edit", one), webhooks(desk, "delete", one)
    ended, gone = webhooks(desk, "delete", one, "--yes"), webhooks(desk, "show", one)
    assert made.status == 0, made.err
    assert (made.json["events"], made.json["active"]) == (["video.ready"], True)
    assert len(secret) >= 16
    assert "will not be shown again" in made.err
    assert secret not in made.err
    assert (shown.json["url"], shown.json["name"]) == (NOWHERE, "Videos")
    assert one in listed.out
    assert NOWHERE in listed.out
    assert (tested.status, tested.json["webhook_id"]) == (0, one)
    assert len(tries.json["deliveries"]) >= 1
    assert (renamed.json["name"], renamed.json["active"]) == ("New", False)
    assert renamed.json["changed"] == ["is_active", "name"]
    assert enabled.json["active"] is True
    assert (nothing.status, "nothing to change" in nothing.err) == (2, True)
    assert (asked.status, "--yes" in asked.err) == (4, True)
    assert ended.json == {"webhook_id": one, "deleted": True, "exit": 0}
    assert gone.status == 2
    for call in (shown, listed, tested, tries, renamed, asked, ended, gone):
        assert secret not in call.out + call.err
    assert not (desk.folder / ".callsheet").exists(), "what pays nothing makes no ledger"


def test_a_secret_is_shown_to_a_person_once_or_goes_to_a_file_of_its_owner(desk: Desk) -> None:
    lines = desk.call("webhooks", "create", NOWHERE).out.splitlines()
    assert len(lines[lines.index("its secret, which will not be shown again:") + 1]) >= 16
    made = desk.call("webhooks", "create", NOWHERE, "--secret-file", "secret")
    file = desk.folder / "secret"
    secret = file.read_text().strip()
    again = webhooks(desk, "create", NOWHERE, "--secret-file", "secret")
    refused = webhooks(desk, "create", "http://example.com/", "--secret-file", "other")
    assert made.status == 0, made.err
    assert (len(secret) >= 16, stat.S_IMODE(file.stat().st_mode)) == (True, 0o600)
    assert secret not in made.out + made.err
    assert (again.status, "was not changed" in again.err) == (2, True)
    assert file.read_text().strip() == secret
    assert refused.status == 2
    assert not (desk.folder / "other").exists()


def test_what_the_service_refuses_is_told(desk: Desk, service: Sandbox) -> None:
    bad = webhooks(desk, "create", "ftp://example.com")
    unknown = webhooks(desk, "create", NOWHERE, "--event", "video.eaten")
    desk.environ["CALLSHEET_API_KEY"] = service.ready["keys"]["read"]
    unscoped = webhooks(desk, "create", NOWHERE)
    assert [call.status for call in (bad, unknown, unscoped)] == [2, 2, 2]
    assert "400" in bad.json["error"]
    assert "400" in unknown.json["error"]
    assert "`write` scope" in unscoped.err
    assert "callsheet login --scopes" in unscoped.err


def with_address(folder: Path, service: Sandbox) -> Desk:
    address = f"127.0.0.1:{free_port()}"
    ours = {"CALLSHEET_RECEIVER": address, "CALLSHEET_WEBHOOK_URL": f"http://{address}"}
    return Desk(folder, {**service.environ, **ours})


@contextmanager
def receiver(desk: Desk) -> Iterator[None]:
    process = desk.start("receive", "--json")
    try:
        told = json.loads(process.stdout.readline())
        assert told["receiver"].startswith(f"http://{desk.environ['CALLSHEET_RECEIVER']}")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in out + err


@pytest.fixture(scope="module")
def receiving(tmp_path_factory: pytest.TempPathFactory, service: Sandbox) -> Iterator[Desk]:
    """A folder where a receiver is at work, at the address that the service is told."""
    desk = with_address(tmp_path_factory.mktemp("office"), service)
    with receiver(desk):
        yield desk


@pytest.fixture
def office(receiving: Desk) -> Desk:
    """The same folder, whose settings a test may change."""
    return Desk(receiving.folder, dict(receiving.environ))


def ours(office: Desk) -> list[str]:
    """Return the ids of what the service has under the address of an office."""
    address = office.environ["CALLSHEET_WEBHOOK_URL"] + "/"
    listed = webhooks(office, "list").json["webhooks"]
    return [one["webhook_id"] for one in listed if one["url"].startswith(address)]


def secrets(office: Desk) -> dict[str, dict]:
    """Return what is kept of each secret, by its nonce."""
    files = (office.folder / ".callsheet" / "webhooks").glob("*.json")
    return {path.stem: json.loads(path.read_text()) for path in files}


def says_no_secret(office: Desk, *calls: Finished) -> None:
    for one in secrets(office).values():
        assert len(one["secret"]) >= 16
        assert not any(one["secret"] in call.out + call.err for call in calls)


def test_a_subscription_is_made_once_and_shown_as_it_stands(office: Desk) -> None:
    first, again = webhooks(office, "ensure"), webhooks(office, "ensure")
    told = office.call("webhooks", "ensure")
    webhook_id = first.json["webhook_id"]
    assert (first.status, first.json["made"], first.json["heard"]) == (0, True, True)
    assert again.json == {**first.json, "made": False}
    assert first.json["trouble"] is None
    assert webhook_id in told.out
    assert "a ping arrived" in told.out
    assert ours(office) == [webhook_id]
    shown, table = webhooks(office, "status"), office.call("webhooks", "status")
    webhooks(office, "edit", webhook_id, "--disable")
    disabled, enabled = webhooks(office, "status"), webhooks(office, "ensure")
    (one,) = shown.json["subscriptions"]
    assert (shown.status, shown.json["problems"]) == (0, [])
    assert shown.json["receiver"] == {
        "address": office.environ["CALLSHEET_RECEIVER"], "answers": True,
    }  # fmt: skip
    assert (one["webhook_id"], one["active"], one["secret"]) == (webhook_id, True, "here")
    assert one["last_heard"] is not None
    assert re.search(rf"{webhook_id} .* yes +here ", table.out)
    assert (disabled.status, "is disabled" in disabled.json["problems"][0]) == (3, True)
    assert (enabled.status, enabled.json["enabled"]) == (0, True)
    says_no_secret(office, first, again, told, shown, table, disabled)


@pytest.mark.merge
def test_a_secret_is_replaced_by_hand(office: Desk) -> None:
    before, after = webhooks(office, "ensure"), webhooks(office, "rotate")
    assert (after.status, after.json["made"], after.json["heard"]) == (0, True, True)
    assert after.json["nonce"] != before.json["nonce"]
    assert ours(office) == [after.json["webhook_id"]]
    says_no_secret(office, after)


CREATED = "service: after the answer (create webhook)"
KILLS = [
    ("ensure", "service: before the request (create webhook)"),
    ("ensure", CREATED),
    ("rotate", CREATED),
    ("rotate", "service: before the request (delete webhook)"),
    ("rotate", "service: after the answer (delete webhook)"),
]


@pytest.mark.parametrize(("verb", "point"), KILLS, ids=lambda word: word.partition(": ")[2] or word)
def test_a_kill_at_any_point_leaves_one_that_is_heard(office: Desk, verb: str, point: str) -> None:
    if verb == "ensure":
        for webhook_id in ours(office):
            webhooks(office, "delete", webhook_id, "--yes")
    else:
        assert webhooks(office, "ensure").status == 0
    killed = office.kill("webhooks", verb, at=point)
    after, shown = webhooks(office, "ensure"), webhooks(office, "status")
    assert killed.status == -9
    assert (after.status, after.json["heard"]) == (0, True), after.err
    nonce = after.json["nonce"]
    assert ours(office) == [after.json["webhook_id"]]
    assert [one["nonce"] for one in shown.json["subscriptions"]] == [nonce]
    live = [one for one, kept in secrets(office).items() if kept["retired_at"] is None]
    assert live == [nonce]


@pytest.mark.slow
def test_without_a_receiver_it_says_how_to_start_one(desk: Desk, service: Sandbox) -> None:
    desk = with_address(desk.folder, service)
    address = desk.environ["CALLSHEET_RECEIVER"]
    alone, shown = webhooks(desk, "ensure"), desk.call("webhooks", "status")
    assert (alone.status, shown.status) == (3, 3)
    assert "was not heard within 10 s" in alone.json["trouble"]
    assert "`callsheet receive`" in alone.err
    assert address in alone.err
    assert f"no receiver answers at {address}" in shown.out
    assert "Failed for wh_" in shown.out


def test_without_an_address_nothing_is_made(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, title=name))
    for words in (("ensure",), ("rotate",), ("status",)):
        refused = desk.call("webhooks", *words)
        assert (refused.status, "callsheet receive" in refused.err) == (2, True)
        assert "CALLSHEET_WEBHOOK_URL is not set" in refused.err
    insisting = desk.run(sheet, "--wait", "webhook")
    assert (insisting.status, "CALLSHEET_WEBHOOK_URL" in insisting.err) == (2, True)
    assert "nothing was spent" in insisting.err


@pytest.fixture
def hinted(tmp_path: Path, service: Sandbox) -> Iterator[Desk]:
    """A folder whose receiver the service can reach."""
    desk = with_address(tmp_path, service)
    desk.environ["CALLSHEET_WEBHOOK_URL"] += "/hooks"
    yield desk
    service.clear_faults()
    # The next test has an address of its own: nothing should be sent to this one any more.
    for webhook_id in ours(desk):
        webhooks(desk, "delete", webhook_id, "--yes")


def hinted_videos(desk: Desk) -> set[str]:
    with closing(sqlite3.connect(desk.folder / ".callsheet" / "ledger.db")) as ledger:
        return {video for (video,) in ledger.execute("SELECT video_id FROM hinted")}


@pytest.mark.merge
@pytest.mark.parametrize("where", ["in the run", "in another process"])
def test_a_run_with_a_receiver_looks_once_at_each_video(
    hinted: Desk, service: Sandbox, name: str, where: str
) -> None:
    sheet = hinted.sheet(f"{name}.csv", simple_sheet(4, title=name))
    service.plan_fault(on="render", do="slow", seconds=RENDER)
    before = service.calls().get("get", 0)
    if where == "in the run":
        ended = hinted.run(sheet, "--wait", "webhook")
    else:
        with receiver(hinted):
            ended = hinted.run(sheet, "--wait", "webhook")
            again = hinted.call("receive")
        assert (again.status, "already" in again.err) == (2, True)
    assert ended.status == 0, ended.err
    assert "looking for them" not in ended.err
    assert "no receiver" not in ended.err
    rows = hinted.rows(name)
    assert {row["state"] for row in rows.values()} == {"delivered"}
    assert {row["video_id"] for row in rows.values()} == hinted_videos(hinted)
    assert service.calls()["get"] - before == len(rows)


@pytest.mark.merge
def test_a_hint_that_is_faster_than_the_answer_to_its_create_is_not_lost(
    hinted: Desk, service: Sandbox, name: str
) -> None:
    sheet = hinted.sheet(f"{name}.csv", simple_sheet(1, title=name))
    # The video is ready at once, and its create is answered later.
    service.plan_fault(on="create", do="slow", seconds=2)
    ended = hinted.run(sheet, "--wait", "webhook", "--max-wait", "60s")
    assert ended.status == 0, ended.err


@pytest.mark.merge
def test_hints_while_nobody_runs_are_there_for_the_next_run(
    hinted: Desk, service: Sandbox, name: str
) -> None:
    sheet = hinted.sheet(f"{name}.csv", simple_sheet(2, title=name))
    service.plan_fault(on="render", do="slow", seconds=RENDER)
    with receiver(hinted):
        # A run that ends after a second may have had no time to subscribe.
        assert hinted.call("webhooks", "ensure").status == 0
        hinted.leave_under_way(sheet)
        wait_until(lambda: len(hinted_videos(hinted)) == 2)
    before = service.calls().get("get", 0)
    ended = hinted.run(sheet, "--wait", "poll")
    assert ended.status == 0, ended.err
    assert service.calls()["get"] - before == 2
