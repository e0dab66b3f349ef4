"""Disks without room and ledgers that cannot be used: one sentence, and nothing paid twice."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time
from contextlib import suppress

import pytest

from tests.faults.production import A_WHILE, Production
from tests.faults.trouble import read_only, small_disk
from tests.programs import Desk, Finished, simple_sheet

pytestmark = pytest.mark.merge


@pytest.fixture(autouse=True)
def closed_at_the_end(production: Production) -> None:
    """Have each command be a process: what it had open on a disk is closed when it ends."""
    production.desk.may_be_here = False


def test_a_spool_without_room_leaves_the_video_to_a_later_run(production: Production) -> None:
    production.asks_for(1)
    with small_disk(production.spool, "1m"):
        parked = production.run("--max-wait", A_WHILE)

        assert parked.status == 5
        assert production.states() == {"ready": 1}
        assert not list(production.half_written())
    production.ends_well()


def test_a_ledger_whose_disk_fills_up_says_what_was_paid(production: Production) -> None:
    production.asks_for(16)
    with small_disk(production.ledger.parent, "20m") as grow:
        # The ledger has all rows, and the first of them is made.
        production.run("--select", "r001")
        before = production.count("reserve")
        # In the middle, however fast the machine is: some are paid for, and none is ready.
        production.service.plan_fault(on="render", do="slow", every=1, seconds=1)
        run = production.start()
        production.waits_for(lambda: production.count("reserve") > before)
        os.kill(run.pid, signal.SIGSTOP)
        grow(f"{shutil.disk_usage(production.ledger.parent).used // 1024 + 64}k")
        os.kill(run.pid, signal.SIGCONT)

        out, err = run.communicate(timeout=120)
        stopped = Finished(run.returncode or 0, out, err)

        assert stopped.status == 1, stopped.err
        assert "the run stopped" in stopped.err
        assert "nothing was spent" not in stopped.err + stopped.out
        # Downloads want room to spare.
        grow("1g")
        production.ends_well()


def test_a_ledger_whose_disk_is_full_is_not_said_to_be_away(production: Production) -> None:
    with small_disk(production.ledger.parent, "3m"):
        production.asks_for(1).run("--max-wait", A_WHILE)
        fill = production.ledger.parent / "fill"
        with fill.open("wb", buffering=0) as out, suppress(OSError):
            while out.write(bytes(4096)):
                pass
        for words in (("status",), ("run", production.sheet, "--yes")):
            refused = production.desk.call(*words)
            assert refused.status == 2, refused.err
            assert f"{production.ledger} is full; what was recorded before" in refused.err
            assert "free some space" in refused.err
    assert production.count("reserve") == 1


def test_a_ledger_on_a_read_only_disk_goes_on_as_a_copy(production: Production) -> None:
    assert production.asks_for(1).run().status == 0
    elsewhere = production.desk.folder / "elsewhere"
    with read_only(production.ledger.parent):
        found = production.desk.call("doctor")
        assert found.status == 2
        assert "is on a file system that is read-only" in found.out
        backup = production.desk.call("ledger", "backup", "rescued.db")
        assert backup.status == 2, backup.err
        assert str(production.ledger) in " ".join(backup.err.split())
        assert not (production.desk.folder / "rescued.db").exists()
        shutil.copytree(production.ledger.parent, elsewhere)
    production.desk.environ["CALLSHEET_LEDGER"] = f"sqlite:///{elsewhere}/ledger.db"
    checked = production.desk.call("ledger", "check", "--json")
    assert (checked.status, checked.json["problems"]) == (0, []), checked.err
    again = production.run()
    assert (again.status, production.count("reserve")) == (0, 1), again.err


def test_a_backup_or_a_restore_that_has_no_room_names_the_disk(production: Production) -> None:
    assert production.asks_for(1).run().status == 0
    whole = production.desk.call("ledger", "backup", "whole.db", "--json")
    elsewhere = production.desk.folder / "elsewhere"
    environ = {"CALLSHEET_LEDGER": f"sqlite:///{elsewhere}/ledger.db"}
    # The restored copy fits; its check and its note, which need a log, do not.
    room = f"{-(-whole.json['bytes'] // 4096) * 4 + 4}k"
    for size, verb, given in (("64k", "backup", {}), (room, "restore", environ)):
        desk = Desk(production.desk.folder, {**production.desk.environ, **given})
        desk.may_be_here = False
        with small_disk(elsewhere, size):
            refused = desk.call("ledger", verb, str(elsewhere) if verb == "backup" else "whole.db")
            assert refused.status == 2, refused.err
            assert f"the disk of {elsewhere} is full; no copy was left there" in refused.err
            assert list(elsewhere.iterdir()) == []


def test_what_a_command_writes_is_whole_or_not_there(production: Production) -> None:
    assert production.asks_for(2).run().status == 0
    desk, folder = production.desk, production.desk.folder
    desk.sheet("more.csv", simple_sheet(20))
    with small_disk(folder / "full", "4k"):
        for words in (
            ("plan", "more.csv", "-o", "full/plan.json"),
            ("export", production.name, "--zip", "full/videos.zip"),
        ):
            refused = desk.call(*words)
            assert (refused.status, list((folder / "full").iterdir())) == (2, []), refused.err
            assert "cannot be written: No space left on device" in refused.err
    (folder / "mine").mkdir()
    with read_only(folder / "mine"):
        video = production.row()["video_id"]
        refused = desk.call("video", "download", video, "-o", "mine/one.mp4")
    assert (refused.status, "you may not write to mine" in refused.err) == (2, True), refused.err


def test_a_store_that_fills_up_keeps_no_half_a_video(production: Production) -> None:
    production.asks_for(3)
    # A video with its files has some 33 kB: one fits beside the first manifest.
    with small_disk(production.store, "44k") as grow:
        parked = production.run("--max-wait", A_WHILE)

        assert parked.status == 5
        assert not list(production.half_written())
        assert len([f for f in production.videos_in_the_store() if f.suffix == ".mp4"]) == 1
        assert production.paid_once()
        grow("10m")
        production.ends_well()


def test_a_ledger_that_cannot_be_written_stops_the_run(production: Production) -> None:
    production.asks_for(1)
    production.run("--select", "state:failed")
    with read_only(production.ledger.parent):
        refused = production.run()
    is_told(refused, str(production.ledger.parent))
    assert production.count("reserve") == 0
    production.ends_well()


def test_a_damaged_ledger_is_named_and_nothing_is_paid_again(production: Production) -> None:
    production.asks_for(2)
    production.run()
    whole = production.ledger.read_bytes()
    production.ledger.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))

    refused = production.run()

    is_told(refused, "is damaged or is not a ledger")
    # Even without it: the keys are those of the same videos.
    for file in production.ledger.parent.glob("ledger.db*"):
        file.unlink()
    production.ends_well()


def test_a_ledger_that_another_program_locks_is_waited_for(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", do="slow-before", seconds=1)
    struck = len(production.service.strikes())
    process = production.start()
    production.waits_for(lambda: len(production.service.strikes()) > struck)
    other = sqlite3.connect(production.ledger, isolation_level=None, timeout=30)
    other.execute("BEGIN EXCLUSIVE")
    time.sleep(2)
    other.execute("ROLLBACK")
    other.close()

    _, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    production.ends_well()


@pytest.mark.safeguard(
    "tasks/ledger/ledger.py", "if os.path.samestat(self._file.stat(), self._opened):", "if True:"
)
@pytest.mark.parametrize("is_back", [True, False])
def test_a_ledger_moved_in_the_middle_stops_the_run(production: Production, is_back: bool) -> None:
    production.asks_for(4)
    production.desk.environ |= {"CALLSHEET_AT_ONCE": "1"}
    production.service.plan_fault(on="create", do="slow", every=1, seconds=1)
    process = production.start()
    production.waits_for(lambda: production.count("reserve") == 1)
    home, away = production.ledger.parent, production.desk.folder / "away"
    home.rename(away)

    _, err = process.communicate(timeout=120)

    assert process.returncode == 1, err
    assert f"{production.ledger} was moved or deleted while it was in use" in err
    # What was on its way by then, and nothing that the ledger does not know.
    assert production.count("reserve") <= 2
    shutil.rmtree(home, ignore_errors=True)
    if is_back:
        away.rename(home)
    production.ends_well()


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("9999", "which is newer than this Callsheet knows"),
        ("0023", "of a Callsheet before its first release"),
    ],
)
def test_a_ledger_of_another_release_ends(production: Production, schema: str, words: str) -> None:
    production.asks_for(1)
    production.run()
    with sqlite3.connect(production.ledger) as ledger:
        (now,) = ledger.execute("SELECT version_num FROM callsheet_version").fetchone()
        ledger.execute("UPDATE callsheet_version SET version_num = ?", (schema,))
    is_told(production.run(), words)
    with sqlite3.connect(production.ledger) as ledger:
        ledger.execute("UPDATE callsheet_version SET version_num = ?", (now,))
    production.ends_well()


def is_told(ended: Finished, words: str) -> None:
    """Check that a run was refused in a sentence before anything was spent."""
    assert ended.status == 2, ended.err
    assert words in ended.err
    assert "nothing was spent" in ended.err
