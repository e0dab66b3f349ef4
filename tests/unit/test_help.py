"""`callsheet help WORD` answers from where a word is defined, and offers the nearest ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.deployments.parser import COMMANDS, EXIT_STATUSES, GROUPS, MAIN
from callsheet.tasks.ledger.reviews import REASONS
from callsheet.tasks.ledger.values import STATES
from callsheet.tasks.runtime.known_settings import KNOWN
from callsheet.tasks.sheet.json_schema import sheet_schema
from tests.programs import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty folder."""
    return Desk(tmp_path)


@pytest.mark.parametrize(
    ("typed", "answers"),
    [
        ("held", {("state", "held"), ("word", "held")}),
        ("3", {("exit status", "3")}),
        ("video-model", {("column", "video_model")}),
        ("CALLSHEET_STORE", {("setting", "store"), ("word", "ledger, store")}),
        ("retake", {("command", "retake"), ("word", "take, retake")}),
        ("Wording", {("reason", "wording")}),
        ("nightly run", {("word", "inbox, nightly run")}),
    ],
)
def test_a_word_is_explained(desk, typed, answers):
    done = desk.call("help", *typed.split(), "--json")

    assert done.status == 0
    assert {(one["kind"], one["word"]) for one in done.json["answers"]} == answers
    assert list(desk.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("commands", [*COMMANDS]),
        ("exit statuses", [str(status) for status in EXIT_STATUSES]),
        ("states", [*STATES]),
        ("columns", [*sheet_schema()["$defs"]["columns"]["properties"]]),
        ("settings", [*KNOWN]),
        ("reasons", [*REASONS]),
    ],
)
def test_a_kind_lists_all_of_its_words(desk, kind, words):
    done = desk.call("help", *kind.split(), "--json")

    assert [one["word"] for one in done.json["answers"]] == words


def test_an_unknown_word_gets_the_nearest_ones(desk):
    near, far = desk.call("help", "deliverd"), desk.call("help", "xyzzy")
    alone = desk.call("help")

    assert (near.status, "the nearest are delivered" in near.err) == (2, True)
    assert (far.status, "`callsheet help`" in far.err) == (2, True)
    assert (alone.status, "exit statuses" in alone.out) == (0, True)


def test_the_first_help_has_the_main_job_and_all_the_rest_by_group(desk):
    first, whole = desk.call("--help").out, desk.call("help", "all").out

    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    assert [name for name in COMMANDS if f"\n    {name} " in first] == [
        name for name in COMMANDS if name in MAIN
    ]
    assert all(f"  {name} " in whole for name in COMMANDS)


@pytest.mark.parametrize(("command", "more"), [("run", "--at-limit"), ("plan", "--delimiter")])
def test_a_command_with_many_options_shows_the_first_ones_first(desk, command, more):
    short, whole = desk.call(command, "--help").out, desk.call("help", command).out

    assert "--budget N" in short
    assert f"more options: callsheet help {command}" in short
    assert (more in short, more in whole) == (False, True)
    assert short.count("\n  -") <= 11
