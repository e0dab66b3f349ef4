"""`callsheet board` as a program: what it prints, where it listens, and how it ends."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.launcher import Process
from tests.programs import Desk, sandbox, simple_sheet
from tests.web import free_port

TRIAL = ("--sandbox", "--time-scale", "200", "--yes", "--json", "--without-prefect")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@contextmanager
def board(desk: Desk, *words: str) -> Iterator[tuple[dict[str, Any], Process]]:
    """Run a board; yield the line it prints and its process."""
    process = desk.start("board", "--port", "0", "--json", *words)
    try:
        yield json.loads(process.stdout.readline()), process
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.merge
def test_it_prints_where_it_is_and_how_to_come_in(desk: Desk) -> None:
    with board(desk) as (ready, _):
        assert ready.keys() == {"url", "login", "token"}
        assert ready["url"].startswith("http://127.0.0.1:")
        bearer = {"authorization": f"Bearer {ready['token']}"}
        me = httpx.get(f"{ready['url']}/api/v1/me", headers=bearer).json()
        code = {"token": ready["login"].partition("=")[2]}
        ours = {"origin": ready["url"]}
        entered = httpx.post(f"{ready['url']}/login", data=code, headers=ours)

    assert me == {"name": "admin", "role": "admin", "allowance": None}
    assert entered.status_code == 303


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_in_order(number: int, desk: Desk) -> None:
    with board(desk) as (ready, process), httpx.Client() as client:
        # A connection that is kept open is no reason to stay.
        client.get(f"{ready['url']}/live")
        process.send_signal(number)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 0
    assert "Traceback" not in out + err
    with socket.socket() as probe:
        host, port = ready["url"].removeprefix("http://").split(":")
        assert probe.connect_ex((host, int(port))) != 0


@pytest.mark.merge
def test_streams_of_events_do_not_hold_it_up(desk: Desk) -> None:
    desk.sheet("spring.csv", simple_sheet(8))
    with sandbox(desk.folder / "sandbox") as service:
        desk.environ |= service.environ
        assert desk.run("spring.csv").status == 0
        with board(desk) as (ready, process), httpx.Client() as client, ExitStack() as stack:
            bearer = {"authorization": f"Bearer {ready['token']}"}
            address = f"{ready['url']}/api/v1/campaigns/spring/events"
            # So many that some are cut off while an event is on its way.
            for _ in range(20):
                events = stack.enter_context(client.stream("GET", address, headers=bearer))
                assert next(events.iter_lines())
            process.terminate()
            out, err = process.communicate(timeout=60)

    assert process.returncode == 0
    assert "Traceback" not in out + err


@pytest.mark.merge
def test_the_admins_token_is_kept_and_made_anew_when_lost(desk: Desk) -> None:
    file = desk.folder / ".callsheet" / "board" / "token"
    with board(desk) as (first, _):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with board(desk) as (again, _):
        assert again["token"] == first["token"]
        assert again["login"] != first["login"]
    file.unlink()
    with board(desk) as (anew, _):
        assert anew["token"] != first["token"]
        for ready, status in ((first, 401), (anew, 200)):
            bearer = {"authorization": f"Bearer {ready['token']}"}
            answer = httpx.get(f"{anew['url']}/api/v1/me", headers=bearer)
            assert answer.status_code == status


@pytest.mark.merge
def test_whoever_is_invited_beside_a_board_at_work_gets_in(desk: Desk) -> None:
    with board(desk) as (ready, _):
        words = ("invite", "Ben", "--role", "approver", "--allowance", "12.5", "--json")
        made = desk.call("board", *words).json
        assert made["login"].startswith(ready["url"])
        assert made["here_only"] is True
        bearer = {"authorization": f"Bearer {made['token']}"}
        me = httpx.get(f"{ready['url']}/api/v1/me", headers=bearer).json()
        assert me == {"name": "Ben", "role": "approver", "allowance": 12.5}
        listed = desk.call("board", "people", "--json").json["people"]
        assert [one["name"] for one in listed] == ["Ben", "admin"]
        desk.call("board", "people", "--revoke", "Ben")
        assert httpx.get(f"{ready['url']}/api/v1/me", headers=bearer).status_code == 401


def test_an_agent_has_an_allowance_a_token_and_an_end(desk: Desk) -> None:
    given = desk.call("allow", "agent:claude", "--credits", "200", "--per-day", "--json").json
    assert given == {"name": "agent:claude", "credits": 200, "token": None}
    assert desk.call("allow", "agent:claude", "--token", "--json").json["token"].startswith("csb_")
    assert desk.call("allow", "agent:claude", "--revoke").status == 0
    assert desk.call("allow", "--json").json["agents"] == [
        {"name": "agent:claude", "credits": 200, "approved_today": 0, "revoked": True}
    ]


#: What is typed, and what is said of it.
NOT_MEANT = [
    ("allow --credits 3", "needs the name of an agent"),
    ("allow Ada --revoke", "is not the name of an agent"),
    ("allow agent:x", "there is no agent called"),
    ("allow agent:x --credits -1", "not an amount"),
    ("board invite Ben --role king", "is not one of viewer"),
    ("board invite agent:x --role admin", "is a program's"),
    ("board invite Ben --role agent", "is not one of viewer"),
    ("board invite Ben --role viewer --allowance much", "not an amount"),
    ("board invite Ben", "--role is missing"),
    ("board people --revoke Ben", "there is no person called"),
    ("board link spring --name Mara", 'no campaign "spring"'),
    ("board links --revoke 7", "no link 7 holds"),
    ("board --url board.example", "write it like https"),
    ("board --url https://board.example/x", "without a path"),
    ("board --port 99999", "cannot listen"),
]


def test_what_cannot_be_meant_is_said(desk: Desk) -> None:
    desk.call("board", "invite", "Ann", "--role", "viewer")
    for words, said in NOT_MEANT:
        ended = desk.call(*words.split())
        assert (ended.status, said in ended.err) == (2, True), (words, ended.err)


def test_a_list_makes_no_ledger(desk: Desk) -> None:
    for words in ("allow", "board people", "board links", "allow agent:x"):
        ended = desk.call(*words.split())
        assert (ended.status, "there is no ledger" in ended.err) == (2, True)
    assert not (desk.folder / ".callsheet").exists()


@pytest.mark.merge
def test_beyond_this_machine_somebody_has_to_be_invited(desk: Desk) -> None:
    refused = desk.call("board", "--host", "0.0.0.0", "--port", "0")
    assert refused.status == 2
    assert "the board has no people yet" in refused.err

    desk.call("board", "invite", "Ben", "--role", "admin")
    with board(desk, "--host", "0.0.0.0") as (ready, process):
        port = ready["url"].rpartition(":")[2]
        assert httpx.get(f"http://127.0.0.1:{port}/live").status_code == 200
        evil = {"host": f"evil.example:{port}"}
        rebound = httpx.get(f"http://127.0.0.1:{port}/login", headers=evil)
        assert rebound.status_code == 421
        process.terminate()
        assert "in the clear" in process.communicate(timeout=60)[1]


@pytest.mark.merge
def test_it_hears_webhooks_where_they_are_configured(desk: Desk) -> None:
    port = free_port()
    desk.environ |= {
        "CALLSHEET_WEBHOOK_URL": "https://hook.example/x",
        "CALLSHEET_RECEIVER": f"127.0.0.1:{port}",
    }
    with board(desk):
        heard = httpx.get(f"http://127.0.0.1:{port}/health").json()
        assert heard["receiver"] == "callsheet"
        # A second board for the same ledger lets the first one hear.
        with board(desk) as (_, second):
            second.terminate()
            assert "that one receives webhooks" in second.communicate(timeout=60)[1]


def test_open_brings_a_browser_along_that_is_logged_in(desk: Desk) -> None:
    desk.environ["BROWSER"] = f"sh -c 'echo \"$0\" > {desk.folder}/opened' %s &"
    process = desk.start("board", "--port", "0", "--open", "--json", stdin=subprocess.DEVNULL)
    try:
        ready = json.loads(process.stdout.readline())
        file = desk.folder / "opened"
        for _ in range(600):
            if file.exists() and file.read_text().strip():
                break
            signal.sigtimedwait([], 0.1)
        assert file.read_text().strip() == ready["login"]
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.merge
def test_a_run_with_a_sandbox_shares_that_of_the_board(desk: Desk) -> None:
    sheet = desk.sheet("tea.csv", simple_sheet(1))
    with board(desk, "--sandbox"):
        shared = desk.folder / ".callsheet" / "sandbox" / "shared.json"
        assert stat.S_IMODE(shared.stat().st_mode) == 0o600
        ended = desk.run(sheet, "--sandbox")
        assert ended.status == 0, ended.err
        assert shared.exists()
    assert not shared.exists()
    # What was made in a sandbox is shown without a word about it.
    for words in ("rows tea", "explain tea r001", "export tea"):
        shown = desk.call(*words.split())
        assert (shown.status, "r001" in shown.out) == (0, True), shown.err


@pytest.mark.merge
def test_two_runs_with_a_sandbox_take_turns(desk: Desk) -> None:
    first = desk.start("run", desk.sheet("one.csv", simple_sheet(2)), *TRIAL)
    second = desk.start("run", desk.sheet("two.csv", simple_sheet(2, title="two")), *TRIAL)
    said = [process.communicate(timeout=120) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], said
    words = "another command has the sandbox of this folder: waiting until it ends"
    assert sum(words in err for _, err in said) == 1


@pytest.mark.merge
def test_an_admin_who_was_revoked_stays_out(desk: Desk) -> None:
    with board(desk):
        pass
    assert desk.call("board", "people", "--revoke", "admin").status == 0
    with board(desk) as (ready, _):
        assert ready["token"] is None
        assert ready["login"] is None


def test_an_address_that_is_said_is_the_one_there_is(desk: Desk) -> None:
    with board(desk, "--url", "https://board.example", "--behind-proxy") as (ready, _):
        assert ready["url"] == "https://board.example"
        assert ready["login"].startswith("https://board.example/login?code=csb_")
