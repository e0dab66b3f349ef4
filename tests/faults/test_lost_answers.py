"""Creates and downloads whose answer is lost, late, cut or odd: one video and one charge, and every
byte of it in the store or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.production import A_WHILE, Production
from tests.programs import sandbox

pytestmark = pytest.mark.merge

#: Each strikes the first create; the client asks again, or the run does. More: more_torture.py.
ONCE: dict[str, dict[str, Any]] = {
    "reset before anything was done": {"do": "reset-before"},
    "dropped after the video was begun": {"do": "drop-after"},
    "500 after the video was begun": {"do": "error-after"},
    "a proxy's 502": {"do": "error-before", "status": 502, "html": True},
    "cut JSON": {"do": "cut-body"},
    "409: the same is under way": {"do": "conflict"},
}


@pytest.mark.parametrize("fault", ONCE.values(), ids=ONCE)
def test_a_struck_create_ends_in_one_video(production: Production, fault: dict[str, Any]) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", nth=1, **fault)

    ended = production.run()

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 1, "delivered": 1}
    assert ended.json["credits"]["charged"] == 15
    production.ends_well()


def test_a_create_that_is_struck_for_ever_is_left_to_a_later_run(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", do="drop-after")

    parked = production.run("--max-wait", A_WHILE)

    assert parked.status == 5
    assert "run the same command again" in parked.err
    assert production.row()["state"] == "submitting"
    assert production.count("reserve") == 1
    production.ends_well()


def test_an_idle_connection_that_was_closed_costs_nothing(production: Production) -> None:
    production.asks_for(3)
    production.service.plan_fault(on="*", do="close-idle")
    assert production.run().status == 0
    production.ends_well()


def test_a_key_that_is_held_for_another_body_asks_a_person(production: Production) -> None:
    production.asks_for(2)
    refusal = {"status": 422, "code": "idempotency_key_reuse", "message": "used before"}
    production.service.plan_fault(on="create", nth=1, do="status", **refusal)

    ended = production.run(CALLSHEET_AT_ONCE="1")
    again = production.run()

    assert ended.status == again.status == 3
    assert production.states() == {"uncertain": 1, "delivered": 1}
    assert "the service holds this key for something else" in production.row()["reason"]
    # Nothing was made for that row, and nothing was sent again.
    assert production.count("reserve") == production.count("charge") == 1


@pytest.mark.parametrize(("listed", "state"), [(True, "delivered"), (False, "uncertain")])
def test_past_the_horizon_nothing_is_sent_to_a_service_that_forgot_the_key(
    production: Production, listed: bool, state: str
) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", do="drop-after")
    assert production.run("--max-wait", A_WHILE).status == 5
    production.service.clear_faults()
    production.service.plan_fault(on="create", do="forget-key")
    if not listed:
        production.service.plan_fault(on="list", do="rewrite", set={"videos": []})
    production.time_passes(25 * 3600)
    before = production.service.calls()["create"]

    production.run(CALLSHEET_DEADLINE="1s")

    assert production.states() == {state: 1}
    assert production.service.calls()["create"] == before
    assert production.paid_once()


@pytest.mark.safeguard(
    "tasks/engine/submit.py", "if _sent_elsewhere(row, at) or not await", "if not await"
)
def test_what_another_service_may_have_is_not_sent(production: Production, tmp_path: Path) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", do="drop-after")
    assert production.run("--max-wait", A_WHILE).status == 5
    production.service.clear_faults()
    with sandbox(tmp_path / "another") as another:
        there = dict(another.environ)
        there["CALLSHEET_BASE_URL"] = there["CALLSHEET_BASE_URL"].replace("127.0.0.1", "localhost")

        asked = production.run(**there)

        assert (asked.status, another.calls().get("create", 0)) == (3, 0), asked.err
    assert production.states() == {"uncertain": 1}
    assert (
        "sent to another service (127.0.0.1/api/v1), and its answer" in production.row()["reason"]
    )
    assert production.count("reserve") == 1


Fault = dict[str, Any]

#: What strikes the first request for a video, or the first two.
DOWNLOADS: dict[str, list[Fault]] = {
    "an address that has expired": [{"nth": 1, "do": "expired"}],
    "a cut body of known length": [{"nth": 1, "do": "cut-body"}],
    "a cut, and another ETag": [{"nth": 1, "do": "cut-body"}, {"nth": 2, "do": "etag-changed"}],
    "a page that says 200": [{"nth": 1, "do": "html"}],
    "a video without its index": [{"nth": 1, "do": "no-moov"}],
}


@pytest.mark.parametrize("faults", DOWNLOADS.values(), ids=DOWNLOADS)
def test_a_struck_download_brings_the_true_video(
    production: Production, faults: list[Fault]
) -> None:
    production.asks_for(1)
    for fault in faults:
        production.service.plan_fault(on="file", **fault)

    ended = production.run()

    assert ended.status == 0, ended.err
    production.ends_well()


def test_what_is_no_video_never_gets_into_the_store(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="file", do="truncated")

    held = production.run()

    assert held.status == 3
    assert production.states() == {"held": 1}
    assert not list(production.videos_in_the_store())
    assert production.paid_once()
    production.ends_well()


def test_a_video_that_stays_broken_is_held_and_stays_paid(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="render", do="corrupt")
    before = production.service.calls().get("file", 0)

    ended = production.run()

    assert ended.status == 3
    assert production.states() == {"held": 1}
    assert "corrupt at the service" in production.row()["reason"]
    assert production.service.calls()["file"] == before + 3
    assert not list(production.videos_in_the_store())
    assert not list(production.half_written())
    assert production.paid_once()


def test_captions_that_never_come_do_not_hold_back_the_video(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="captions", do="status", status=400)

    ended = production.run(CALLSHEET_CAPTIONS_WAIT="1s")

    assert ended.status == 3
    assert production.states() == {"held": 1}
    assert "no srt and vtt captions" in production.row()["reason"]
    assert [file.suffix for file in production.videos_in_the_store()] == [".mp4"]
    production.ends_well()


def test_a_repeat_may_be_answered_with_200(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", nth=1, do="drop-after")
    production.service.plan_fault(on="create", nth=2, do="restatus", status=200)
    assert production.run().status == 0
    production.ends_well()


def test_captions_that_are_none_are_asked_for_again(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="captions", nth="1-2", do="wrong-format")

    ended = production.run()

    assert ended.status == 0, ended.err
    production.ends_well()
