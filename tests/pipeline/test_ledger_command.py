"""A restore drill, typed: the ledger of yesterday takes over, and nothing is paid for twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.databases import take_ledger
from tests.programs import Desk


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
