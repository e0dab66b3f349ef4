"""A video that is being made, and a service that says odd things of it, or nothing."""

from __future__ import annotations

from typing import Any
from urllib.error import HTTPError

import pytest

from tests.faults.production import A_WHILE, Production, colleague
from tests.programs import simple_sheet

pytestmark = pytest.mark.merge

#: What is said of a video that is there, and found all the same.
ODD: dict[str, dict[str, Any]] = {
    "an unknown word": {"on": "get", "do": "rewrite", "set": {"status": "marinating"}},
    "404 right after the create": {"on": "get", "nth": "1-2", "do": "status", "status": 404},
    "503 for a while": {"on": "get", "nth": "1-4", "do": "error-before", "status": 503},
    "a hint of thirty years": {
        "on": "create",
        "do": "rewrite",
        "set": {"poll_after_seconds": 10**9},
    },
}


@pytest.mark.parametrize("fault", ODD.values(), ids=ODD)
def test_what_is_there_is_fetched(production: Production, fault: dict[str, Any]) -> None:
    production.asks_for(1)
    production.service.plan_fault(**fault)

    # However late the service says to come, there is a look at the deadline.
    ended = production.run(CALLSHEET_DEADLINE="2s")

    assert ended.status == 0, ended.err
    production.ends_well()


def test_a_render_that_takes_too_long_is_fetched_free_later(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="render", nth=1, do="slow", seconds=4)

    ended = production.run(CALLSHEET_DEADLINE="1s")

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 2, "delivered": 1, "stalled": 1}
    production.ends_well()


def test_a_render_that_never_ends_is_never_paid_again(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="render", do="never")

    ended = production.run(CALLSHEET_DEADLINE="1s")
    again = production.run(CALLSHEET_DEADLINE="1s")

    assert ended.status == again.status == 3
    assert production.states() == {"stalled": 1}
    assert "no video after 1s" in production.row()["reason"]
    assert production.count("reserve") == 1
    assert production.count("charge") == 0


def test_a_failed_render_is_made_again_as_often_as_was_approved(production: Production) -> None:
    production.asks_for(3)
    production.service.plan_fault(on="render", nth="1-3", do="fail")

    ended = production.run("--retry-failed", "1", "--budget", "45")
    again = production.run("--retry-failed", "1")

    assert ended.status == again.status == 0
    assert "up to 1 new attempt of each row whose render fails" in ended.err
    assert production.states() == {"delivered": 3}
    assert production.count("reserve") == 6
    assert production.count("charge") == production.count("release") == 3
    assert again.json["credits"]["charged_this_run"] == 0


def test_a_video_that_a_colleague_deleted_is_not_paid_again(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="render", do="never")
    assert production.run("--max-wait", A_WHILE).status == 5
    colleague(production.service, "DELETE", f"videos/{production.row()['video_id']}")
    production.time_passes(300)

    ended = production.run()
    again = production.run()

    assert ended.status == again.status == 3
    assert production.states() == {"stalled": 1}
    assert "no longer knows this video (404)" in production.row()["reason"]
    assert production.count("reserve") == 1


def test_a_new_video_of_a_row_never_takes_the_place_of_the_old_one(production: Production) -> None:
    production.asks_for(1)
    production.run()
    (first, *_) = production.row()["deliveries"]
    text = simple_sheet(1, title=production.name).replace("9:16", "1:1")
    production.desk.sheet(production.sheet, text)

    ended = production.run()

    assert ended.status == 0
    (second, *_) = production.row()["deliveries"]
    assert second["uri"] != first["uri"]
    assert second["sha256"] != first["sha256"]
    production.still_has(first)
    production.still_has(second)


def test_a_render_cancelled_from_outside_frees_its_credits(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="render", nth=1, do="never")
    assert production.run("--max-wait", A_WHILE, CALLSHEET_AT_ONCE="1").status == 5
    colleague(production.service, "POST", f"videos/{production.row()['video_id']}/cancel")

    ended = production.run()
    again = production.run()

    assert ended.status == again.status
    assert production.states() == {"cancelled": 1, "delivered": 1}
    assert ended.json["credits"]["charged"] == 15
    assert production.count("release") == 1
    assert production.count("charge") == 1


def test_an_address_that_is_refused_after_it_was_given_is_asked_for_again(
    production: Production,
) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="file", nth=1, do="expired")
    production.service.plan_fault(on="download", nth="2-3", do="conflict")

    ended = production.run()

    assert ended.status == 0, ended.err
    production.ends_well()


def test_a_cancel_that_comes_too_late_changes_nothing(production: Production) -> None:
    production.asks_for(1)
    # The video is there, its download is not: the cancel arrives in between.
    production.service.plan_fault(on="file", do="error-before", status=503)
    assert production.run("--max-wait", A_WHILE).status == 5
    assert production.states() == {"ready": 1}
    with pytest.raises(HTTPError, match="409"):
        colleague(production.service, "POST", f"videos/{production.row()['video_id']}/cancel")
    production.ends_well()
