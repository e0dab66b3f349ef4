"""A video on its way from the service to the store: every byte arrives, or none counts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.production import Production

pytestmark = pytest.mark.merge

Fault = dict[str, Any]

#: What strikes the first request for a video, or the first two.
ONCE: dict[str, list[Fault]] = {
    "an address that has expired": [{"nth": 1, "do": "expired"}],
    "a cut body of known length": [{"nth": 1, "do": "cut-body"}],
    "a cut, and another ETag": [{"nth": 1, "do": "cut-body"}, {"nth": 2, "do": "etag-changed"}],
    "a page that says 200": [{"nth": 1, "do": "html"}],
    "a video without its index": [{"nth": 1, "do": "no-moov"}],
}


@pytest.mark.parametrize("faults", ONCE.values(), ids=ONCE)
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
