"""A restore drill, typed: the ledger of yesterday takes over, and nothing is paid for twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.databases import take_ledger
from tests.programs import Desk, Sandbox, simple_sheet


@pytest.mark.merge
def test_a_ledger_of_yesterday_takes_over_and_nothing_is_paid_twice(
    desk: Desk, service: Sandbox, tmp_path: Path, name: str
) -> None:
    run = ("run", desk.sheet(f"{name}.csv", simple_sheet(2)), "--yes", "--without-prefect")
    assert desk.call(*run).status == 0
    made = desk.call("ledger", "backup", "kept.db", "--json")
    assert (made.status, made.json["file"]) == (0, "kept.db")
    desk.sheet(f"{name}.csv", simple_sheet(3))
    assert desk.call(*run).status == 0
    paid = service.calls()["create"]

    refused = desk.call("ledger", "restore", "kept.db")
    restored = desk.call("ledger", "restore", "kept.db", "--instead", "--json")
    checked = desk.call("ledger", "check", "--json")
    again = desk.call(*run, "--json")

    assert refused.status == 2
    assert "--instead" in refused.err
    assert "run each sheet again" in restored.err
    assert (tmp_path / restored.json["before"]).is_file()
    assert (checked.status, checked.json["problems"]) == (0, [])
    assert again.json["rows"] == {"total": 3, "delivered": 3}
    # The third video was found under its key.
    log = service.charged(service_keys(tmp_path))
    assert (len(log), sum(log.values())) == (3, 3), (paid, log)


def service_keys(folder: Path) -> list[str]:
    with sqlite3.connect(folder / ".callsheet" / "ledger.db") as database:
        return [key for (key,) in database.execute("SELECT key FROM takes")]


def test_a_vacuum_that_frees_no_room_on_the_disk_does_not_say_that_the_ledger_grew(
    desk: Desk,
) -> None:
    file = desk.folder / ".callsheet" / "ledger.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM campaigns").fetchall()
        # What the board reads keeps the log of the rewritten file where it is.
        ended = desk.call("ledger", "vacuum")
    assert ended.status == 0, ended.err
    assert "became" not in ended.out.replace("room became free", "")
    assert "the ledger takes" in ended.out


def test_there_is_nothing_to_back_up_where_there_is_no_ledger(desk: Desk) -> None:
    take_ledger(desk.folder)
    for verb in (("backup", "kept.db"), ("check",), ("upgrade",), ("vacuum",)):
        ended = desk.call("ledger", *verb)
        assert (ended.status, "there is no ledger" in ended.err) == (2, True), ended.err
    assert not (desk.folder / "kept.db").exists()


def test_a_folder_that_is_not_there_does_not_become_a_file(desk: Desk) -> None:
    ended = desk.call("ledger", "backup", "backups/")
    assert (ended.status, "there is no folder backups/" in ended.err) == (2, True), ended.err
    assert not (desk.folder / "backups").exists()
