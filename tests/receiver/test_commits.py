"""200 is said after the commit, and only then: whatever goes wrong before it comes again."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from callsheet.tasks.ledger.webhook_events import KEPT, Hint
from tests.databases import PostgresServer
from tests.faults.trouble import small_disk
from tests.programs import Desk
from tests.receiver.hearing import SECRET, body_about, fresh, hearing, post, read_inbox
from tests.torture.hook import Hook, visits

COMMITTED = "ledger: after the commit (webhook_events.keep_hint)"
UNCOMMITTED = "ledger: before the commit (webhook_events.keep_hint)"


@pytest.mark.parametrize(
    ("point", "kept"), [(UNCOMMITTED, 0), (COMMITTED, 1)], ids=["before", "after"]
)
def test_a_kill_around_the_commit_costs_nothing(tmp_path: Path, point: str, kept: int) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    given = {"CALLSHEET_RECEIVER": "127.0.0.1:0", "CALLSHEET_WEBHOOK_SECRET": SECRET}
    desk = Desk(tmp_path, {**given, "CALLSHEET_LEDGER": ledger})
    hook = Hook(tmp_path / "trace", point)
    process = desk.start("receive", "--json", hook=hook.as_json())
    host, _, port = json.loads(process.stdout.readline())["receiver"][7:].rpartition(":")
    body, event = body_about("vid_killed"), "evt_killed"

    assert post((host, int(port)), body, event=event).status == 0, "nothing was acknowledged"
    process.communicate(timeout=20)
    assert process.returncode == -9
    assert visits(hook.trace)[-1].point == point
    assert len(read_inbox(ledger, "vid_killed")) == kept
    with hearing(tmp_path, CALLSHEET_LEDGER=ledger) as again:
        assert post(again.address, body, event=event).status == 200
        assert len(again.inbox("vid_killed")) == 1
        assert (again.receiver.heard, again.receiver.repeated) == (1 - kept, kept)


def test_a_delivery_that_finds_the_disk_full_comes_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "2m") as grow:
        filler = tmp_path / "small" / "filler"
        ledger = f"sqlite:///{tmp_path / 'small' / 'ledger.db'}"
        with hearing(tmp_path, CALLSHEET_LEDGER=ledger) as one:
            video = fresh()
            fill(filler)
            assert post(one.address, body_about(video)).status == 503
            assert post(one.address, body_about(video)).status == 503
            assert one.passed_on == []
            grow("10m")
            assert post(one.address, body_about(video)).status == 200
            assert len(one.inbox(video)) == len(one.passed_on) == 1


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as full:
        for size in (65536, 4096):
            try:
                while full.write(b"x" * size) == size:
                    pass
            except OSError:
                continue


@pytest.mark.merge
def test_a_ledger_that_is_locked_too_long_has_the_delivery_come_again(tmp_path: Path) -> None:
    with hearing(tmp_path) as one:
        video = fresh()
        with locked(Path(one.settings.ledger.removeprefix("sqlite:///"))):
            began = time.monotonic()
            assert post(one.address, body_about(video)).status == 503
            assert time.monotonic() - began < 9
        # It is committed after all, once it can be, and passed on then.
        one.waits_for(lambda: one.passed_on)
        assert post(one.address, body_about(video)).status == 200
        assert len(one.inbox(video)) == len(one.passed_on) == 1


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_whoever_is_told_of_a_hint_cannot_undo_it(tmp_path: Path) -> None:
    def fails(_: Hint) -> None:
        raise RuntimeError("nobody listens")

    with hearing(tmp_path, on_hint=fails) as one:
        video = fresh()
        assert post(one.address, body_about(video)).status == 200
        assert len(one.inbox(video)) == 1


@pytest.mark.merge
def test_many_at_once_are_all_heard(tmp_path: Path) -> None:
    with hearing(tmp_path) as one:
        videos = [fresh() for _ in range(100)]
        answers: list[int] = []

        def deliver(some: list[str]) -> None:
            answers.extend(post(one.address, body_about(video)).status for video in some * 2)

        threads = [threading.Thread(target=deliver, args=(videos[n::10],)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [200] * 200
        assert len(one.inbox()) == 100
        assert (one.receiver.heard, one.receiver.repeated) == (100, 100)


def test_it_hears_for_a_ledger_on_a_server(tmp_path: Path, postgres: PostgresServer) -> None:
    with hearing(tmp_path, CALLSHEET_LEDGER=postgres.new_database()) as one:
        video = fresh()
        body = body_about(video)

        answers = [post(one.address, body).status for _ in range(2)]
        absurd = [(b"X-Service-Attempt", b"9" * 40)]
        odd = post(one.address, b'{"id": "vid_odd", "x": "\\u0000"}', more=absurd)
        assert (answers, odd.status) == ([200, 200], 200)
        assert len(one.inbox(video)) == len(one.inbox("vid_odd")) == 1


def test_old_hints_are_dropped_at_the_start(tmp_path: Path) -> None:
    with hearing(tmp_path, clock=lambda: time.time() - KEPT - 60) as one:
        assert post(one.address, body_about("vid_old")).status == 200
    with hearing(tmp_path) as one:
        one.waits_for(lambda: not one.inbox())
