"""More of the same: other ways in which a create, a look or a download is struck.

python -m pytest tests/faults/more_torture.py
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.faults.production import A_WHILE, Production
from tests.programs import Desk, sandbox, simple_sheet

CREATES: dict[str, dict[str, Any]] = {
    "a proxy's 503": {"do": "error-before", "status": 503, "html": True},
    "half a JSON that claims to be whole": {"do": "truncated"},
    "an envelope with nothing in it": {"do": "shapeless"},
    "words that are no JSON": {"do": "not-json"},
    "no body": {"do": "empty"},
    "a page that says 200": {"do": "html"},
    "a body that drips": {"do": "drip", "bytes": 16, "seconds": 0.01},
    "compressed unasked": {"do": "gzip"},
    "a limit told as a word": {"do": "limited", "retry_after": "soon"},
    "a limit told as a negative number": {"do": "limited", "retry_after": -30},
    "a limit told as a date of a clock three hours ahead": {
        "do": "limited",
        "retry_after_date": 2,
        "clock_skew": 10800,
    },
    "reset after the video was begun": {"do": "reset-after"},
    "dropped before anything was done": {"do": "drop-before"},
    "500 before anything was done": {"do": "error-before"},
    "a proxy's 504 over a video that was begun": {"do": "error-after", "status": 504, "html": True},
    "no id in it": {"do": "rewrite", "remove": ["id"]},
    "headers that drip": {"do": "drip-headers", "bytes": 16, "seconds": 0.01},
}
LOOKS: dict[str, dict[str, Any]] = {
    "a page": {"do": "html"},
    "a word for failure": {"do": "rewrite", "set": {"status": "failed"}},
    "a connection that is reset": {"do": "reset-before"},
    "half an answer": {"do": "truncated"},
}
#: What is said of a video, or of when to look at it; there is a look at the deadline anyway.
ODD: dict[str, dict[str, Any]] = {
    "no word": {"on": "get", "do": "rewrite", "remove": ["status"]},
    "no first look at all": {"on": "create", "do": "rewrite", "set": {"poll_after_seconds": 0}},
    "a hint that is a word": {
        "on": "create",
        "do": "rewrite",
        "set": {"poll_after_seconds": "soon"},
    },
}
DOWNLOADS: dict[str, list[dict[str, Any]]] = {
    "a cut body in chunks": [{"nth": 1, "do": "cut-body", "framing": "chunked"}],
    "half a video that claims to be whole": [{"nth": 1, "do": "truncated"}],
    "a reset half way": [{"nth": 1, "do": "reset-midway"}],
    "a plain video that is called compressed": [{"nth": 1, "do": "gzip-lie"}],
    "no length": [{"nth": 1, "do": "no-length", "close": True}],
    "an XML error that says 200": [{"nth": 1, "do": "xml"}],
    "no byte": [{"nth": 1, "do": "empty"}],
    "a cut, and another part than was asked for": [
        {"nth": 1, "do": "cut-body"},
        {"nth": 2, "do": "range-shifted"},
    ],
    "an address that expires during the transfer": [
        {"nth": 1, "do": "cut-body"},
        {"nth": 2, "do": "expired"},
    ],
    "a cut body whose end nobody can tell": [{"nth": 1, "do": "truncated", "framing": "close"}],
    "a cut, and a server that ignores ranges": [
        {"nth": 1, "do": "cut-body"},
        {"nth": 2, "do": "range-ignored"},
    ],
    "a video compressed unasked": [{"nth": 1, "do": "gzip"}],
}


@pytest.mark.parametrize("fault", CREATES.values(), ids=CREATES)
def test_a_create_struck_in_other_ways_ends_with_one_video(
    production: Production, fault: dict[str, Any]
) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", nth=1, **fault)
    assert production.run().status == 0
    production.ends_well()


@pytest.mark.parametrize("fault", LOOKS.values(), ids=LOOKS)
def test_a_look_struck_in_other_ways_is_repeated(
    production: Production, fault: dict[str, Any]
) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="get", nth=1, **fault)
    assert production.run().status == 0
    production.ends_well()


@pytest.mark.parametrize("fault", ODD.values(), ids=ODD)
def test_whatever_else_is_said_of_a_video_that_is_there_it_is_fetched(
    production: Production, fault: dict[str, Any]
) -> None:
    production.asks_for(1)
    production.service.plan_fault(**fault)
    assert production.run(CALLSHEET_DEADLINE="2s").status == 0
    production.ends_well()


@pytest.mark.parametrize("faults", DOWNLOADS.values(), ids=DOWNLOADS)
def test_a_download_struck_in_other_ways_brings_the_true_video(
    production: Production, faults: list[dict[str, Any]]
) -> None:
    production.asks_for(1)
    for fault in faults:
        production.service.plan_fault(on="file", **fault)
    assert production.run().status == 0
    production.ends_well()


@pytest.mark.parametrize("answers", ["bare", "renamed"])
def test_an_id_under_another_name_or_without_an_envelope_is_found(
    tmp_path: Path, answers: str
) -> None:
    with sandbox(tmp_path / "odd", "--answers", answers) as odd:
        production = Production(Desk(tmp_path, odd.environ), odd, f"c-{answers}").asks_for(1)
        odd.plan_fault(on="create", nth=1, do="drop-after")
        assert production.run().status == 0
        assert production.states() == {"delivered": 1}
        assert production.paid_once()


def test_a_service_that_is_gone_leaves_everything_to_a_later_run(tmp_path: Path) -> None:
    state = tmp_path / "service"
    with sandbox(state) as first:
        port = str(urlsplit(first.ready["auth_url"]).port)
        production = Production(Desk(tmp_path, first.environ), first, "c-gone").asks_for(1)
        first.plan_fault(on="create", do="crash-before")
        parked = production.run("--max-wait", A_WHILE)
    assert parked.status == 5
    assert production.states() == {"submitting": 1}
    with sandbox(state, "--port", port) as back:
        Production(production.desk, back, production.name, videos=1).ends_well()


def test_a_run_ended_by_a_signal_with_calls_under_way_loses_none(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", do="slow", seconds=1)
    process = production.start()
    production.waits_for(lambda: production.count("reserve") == 2)
    process.send_signal(signal.SIGTERM)

    _, err = process.communicate(timeout=60)

    assert process.returncode == 5
    assert "run the same command again" in err
    production.ends_well()


def test_the_same_campaign_from_two_folders_at_once_is_paid_once(
    production: Production, tmp_path: Path
) -> None:
    # Two people with a ledger each: neither knows of the other, the keys are the same.
    production.asks_for(3)
    folders = [tmp_path / "ada", tmp_path / "ben"]
    desks = []
    for folder in folders:
        folder.mkdir()
        desks.append(Desk(folder, production.desk.environ))
        desks[-1].sheet(production.sheet, simple_sheet(3, title=production.name))

    words = ("run", production.sheet, "--yes", "--without-prefect")
    processes = [desk.start(*words) for desk in desks]

    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    for desk in desks:
        production.desk = desk
        production.ends_well()


def test_a_create_that_is_never_carried_out_is_left_to_a_later_run(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", do="drop-before")

    parked = production.run("--max-wait", A_WHILE)

    assert parked.status == 5
    assert production.row()["state"] == "submitting"
    assert production.count("reserve") == 0
    production.ends_well()


def test_captions_that_are_empty_are_asked_for_again(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="captions", nth="1-2", do="empty")
    assert production.run().status == 0
    production.ends_well()


def test_a_clock_that_jumps_forward_between_runs_costs_nothing(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", do="drop-after")
    assert production.run("--max-wait", A_WHILE).status == 5
    production.time_passes(3600)
    production.ends_well()
