"""Webhooks on the whole road: hints bring looks forward, and nothing depends on them."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.fixtures import sandbox_fixture
from tests.launcher import Process
from tests.programs import Desk, Sandbox, simple_sheet
from tests.web import free_port

#: A render takes so long, in seconds: longer than it takes to come to the first look without one.
RENDER = 3.0


sender = sandbox_fixture("--allow-loopback-webhooks", "--credits", "100000000")


@pytest.fixture
def hinted(tmp_path: Path, sender: Sandbox) -> Iterator[Desk]:
    """A folder whose receiver the service can reach."""
    port = free_port()
    environ = {
        "CALLSHEET_WEBHOOK_URL": f"http://127.0.0.1:{port}/hooks",
        "CALLSHEET_RECEIVER": f"127.0.0.1:{port}",
    }
    yield Desk(tmp_path, {**sender.environ, **environ})
    sender.clear_faults()
    # The next test has an address of its own: nothing should be sent to this one any more.
    for webhook in sender._open("api/v1/webhooks")["data"]["webhooks"]:
        sender._open(f"api/v1/webhooks/{webhook['id']}", method="DELETE")


def _hinted_videos(desk: Desk) -> set[str]:
    with closing(sqlite3.connect(desk.folder / ".callsheet" / "ledger.db")) as ledger:
        return {video for (video,) in ledger.execute("SELECT video_id FROM hinted")}


@contextmanager
def _receiver(desk: Desk) -> Iterator[Process]:
    process = desk.start("receive", "--json")
    try:
        assert "receiver" in json.loads(process.stdout.readline())
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in out + err


@pytest.mark.merge
def test_a_run_with_a_receiver_of_its_own_looks_once_at_each_video(
    hinted: Desk, sender: Sandbox, name: str
) -> None:
    hinted.sheet(f"{name}.csv", simple_sheet(4, title=name))
    sender.plan_fault(on="render", do="slow", seconds=RENDER)
    before = sender.calls().get("get", 0)

    ended = hinted.run(f"{name}.csv", "--wait", "webhook")

    assert ended.status == 0, ended.err
    rows = hinted.rows(name)
    assert {row["state"] for row in rows.values()} == {"delivered"}
    assert {row["video_id"] for row in rows.values()} == _hinted_videos(hinted)
    assert sender.calls()["get"] - before == len(rows)
    assert "looking for them" not in ended.err


@pytest.mark.merge
def test_a_receiver_in_another_process_wakes_the_run(
    hinted: Desk, sender: Sandbox, name: str
) -> None:
    hinted.sheet(f"{name}.csv", simple_sheet(3, title=name))
    sender.plan_fault(on="render", do="slow", seconds=RENDER)
    before = sender.calls().get("get", 0)
    with _receiver(hinted):
        ended = hinted.run(f"{name}.csv", "--wait", "webhook")
        again = hinted.call("receive")
    assert ended.status == 0, ended.err
    assert "no receiver" not in ended.err
    assert sender.calls()["get"] - before == 3
    assert again.status == 2
    assert "already" in again.err


@pytest.mark.merge
def test_a_hint_that_is_faster_than_the_answer_to_its_create_is_not_lost(
    hinted: Desk, sender: Sandbox, name: str
) -> None:
    hinted.sheet(f"{name}.csv", simple_sheet(1, title=name))
    # The video is ready at once, and its create is answered later.
    sender.plan_fault(on="create", do="slow", seconds=2)
    ended = hinted.run(f"{name}.csv", "--wait", "webhook", "--max-wait", "60s")
    assert ended.status == 0, ended.err


@pytest.mark.merge
def test_hints_while_nobody_runs_are_there_for_the_next_run(
    hinted: Desk, sender: Sandbox, name: str
) -> None:
    hinted.sheet(f"{name}.csv", simple_sheet(2, title=name))
    sender.plan_fault(on="render", do="slow", seconds=RENDER)
    with _receiver(hinted):
        # A run that ends after a second may have had no time to subscribe.
        assert hinted.call("webhooks", "ensure").status == 0
        hinted.leave_under_way(f"{name}.csv")
        until = time.monotonic() + 60
        while len(_hinted_videos(hinted)) < 2:
            assert time.monotonic() < until, "no hint came"
            time.sleep(0.05)
    before = sender.calls().get("get", 0)
    ended = hinted.run(f"{name}.csv", "--wait", "poll")
    assert ended.status == 0, ended.err
    assert sender.calls()["get"] - before == 2


def test_without_a_public_address_a_run_that_insists_on_webhooks_is_refused(
    desk: Desk, name: str
) -> None:
    desk.sheet(f"{name}.csv", simple_sheet(1, title=name))
    ended = desk.run(f"{name}.csv", "--wait", "webhook")
    assert ended.status == 2
    assert "CALLSHEET_WEBHOOK_URL" in ended.err
    assert "nothing was spent" in ended.err


@pytest.mark.slow
def test_an_address_that_leads_nowhere_is_said_once_and_videos_are_found_by_looking(
    hinted: Desk, sender: Sandbox, name: str
) -> None:
    hinted.sheet(f"{name}.csv", simple_sheet(2, title=name))
    hinted.environ["CALLSHEET_WEBHOOK_URL"] = "http://127.0.0.1:9/hooks"
    # A ping is waited for for ten seconds.
    sender.plan_fault(on="render", do="slow", seconds=12)

    ended = hinted.run(f"{name}.csv")
    assert ended.status == 0, ended.err
    assert ended.err.count("videos are found by looking for them") == 1

    insisting = hinted.sheet(f"{name}-2.csv", simple_sheet(1, title=f"{name}-2"))
    refused = hinted.run(insisting, "--wait", "webhook")
    assert refused.status == 2
    assert "nothing new was spent" in refused.err
    assert not [c for c in sender.charges() if c["title"] == f"{name}-2 1"]
