"""Logs are read as they are written, whole lines, and begin anew when they are large."""

from __future__ import annotations

from pathlib import Path

from callsheet.deployments.up.programs import PIECE, Log, last_words


def test_only_whole_lines_that_are_new_are_read(tmp_path: Path) -> None:
    file = tmp_path / "board.log"
    file.write_text("of yesterday\n")
    log = Log(file)

    with file.open("a") as out:
        out.write("one\nhal")
        out.flush()
        assert list(log.new_lines()) == ["one"]
        assert list(log.new_lines()) == []
        out.write("f\n")

    assert list(log.new_lines()) == ["half"]


def test_a_line_that_never_ends_is_read_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "board.log"
    log = Log(file)

    file.write_text("x" * (PIECE + 10) + "\n")

    assert [len(line) for line in log.new_lines()] == [PIECE, 10]


def test_a_large_log_begins_anew_under_whoever_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "board.log"
    log = Log(file, largest=10)
    with file.open("a") as out:
        out.write("more than ten bytes\n")
        out.flush()
        assert list(log.new_lines()) == ["more than ten bytes"]
        out.write("after\n")

    assert file.read_text() == "after\n"
    assert (tmp_path / "board.log.1").read_text() == "more than ten bytes\n"
    assert list(log.new_lines()) == ["after"]


def test_last_words_are_those_that_say_anything(tmp_path: Path) -> None:
    file = tmp_path / "board.log"
    file.write_text("one\n\ntwo  \n\n")

    assert last_words(file, 1) == ["two"]
    assert last_words(file, since=len("one\n")) == ["two"]
    assert last_words(file, since=1000) == ["one", "two"]
    assert last_words(tmp_path / "none.log") == []
