"""What the service refuses: the row says why, the others go on, and nothing is paid for twice."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.faults.production import Production
from tests.web import watcher

pytestmark = pytest.mark.merge


@pytest.mark.parametrize(
    ("fault", "reason"), [("no-credits", "add credits, then run again"), ("unauthorized", "401")]
)
def test_what_ends_in_the_middle_holds_it(production: Production, fault: str, reason: str) -> None:
    production.asks_for(3)
    production.service.plan_fault(on="create", nth="2-99", do=fault)

    ended = production.run(CALLSHEET_AT_ONCE="1")

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 3, "delivered": 1, "held": 2}
    assert reason in production.row(3)["reason"]
    assert production.count("reserve") == 1
    production.ends_well()


def test_a_key_revoked_meanwhile_leaves_it_to_a_later_run(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="get", do="unauthorized")

    ended = production.run()

    assert ended.status == 5
    assert production.states() == {"rendering": 1}
    production.ends_well()


def test_a_key_without_the_scope_buys_nothing(production: Production) -> None:
    production.asks_for(2)

    ended = production.run(CALLSHEET_API_KEY=production.service.ready["keys"]["read"])

    assert ended.status == 3
    assert production.states() == {"held": 2}
    assert "write" in production.row()["reason"]
    assert production.count("reserve") == 0
    production.ends_well()


def test_one_refused_brief_holds_nobody_else_back(production: Production) -> None:
    production.asks_for(3)
    production.service.plan_fault(on="create", nth=1, do="status", status=400, message="no kettle")

    ended = production.run()

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 3, "delivered": 2, "rejected": 1}
    (reason,) = (r["reason"] for r in production.desk.rows(production.name).values() if r["reason"])
    assert "no kettle" in reason
    assert "edit line 2 of the sheet" in reason
    assert production.count("charge") == 2


def test_a_redirect_to_another_host_is_not_followed(production: Production) -> None:
    production.asks_for(1)
    with watcher() as elsewhere:
        production.service.plan_fault(on="create", do="redirect", location=elsewhere.url)

        ended = production.run()

    assert ended.status == 3
    assert "redirected (307)" in production.row()["reason"]
    assert elsewhere.calls == []
    assert production.count("reserve") == 0
    production.ends_well()


LIMITS: dict[str, tuple[dict[str, Any], float]] = {
    "in seconds": ({"retry_after": 1}, 1.0),
    # A date has whole seconds: a second less than it says.
    "as a date of a clock three hours behind": ({"retry_after_date": 2, "clock_skew": -10800}, 1.0),
    "not at all": ({}, 0.0),
}


@pytest.mark.parametrize(("limit", "least"), LIMITS.values(), ids=LIMITS)
def test_a_limit_is_waited_out(production: Production, limit: dict[str, Any], least: float) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", nth=1, do="limited", **limit)

    ended = production.run(CALLSHEET_AT_ONCE="1")

    assert ended.status == 0, ended.err
    struck = datetime.fromisoformat(production.service.strikes()[-1]["time"]).timestamp()
    log = production.service.charges()
    begun = [datetime.fromisoformat(e["time"]) for e in log if e["event"] == "reserve"][-2:]
    assert all(moment.timestamp() >= struck + least for moment in begun)
    production.ends_well()


def test_a_limit_beyond_all_sense_parks_and_is_kept(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", do="limited", retry_after=10**9)

    ended = production.run()
    production.service.clear_faults()
    calls = dict(production.service.calls())
    again = production.run()

    assert ended.status == again.status == 5
    assert "not before" in ended.err
    assert production.service.calls() == calls
    assert production.count("reserve") == 0


def test_a_row_whose_price_cannot_be_asked_is_held_alone(production: Production) -> None:
    production.asks_for(3)
    # One row after the other: the second is asked for three times.
    production.service.plan_fault(on="estimate", nth="2-4", do="error-before")

    ended = production.run(CALLSHEET_AT_ONCE="1")

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 3, "delivered": 2, "held": 1}
    [held] = [row for row in map(production.row, (1, 2, 3)) if row["state"] == "held"]
    assert "nothing was spent on it; run again" in held["reason"]
    production.service.clear_faults()
    assert production.run().json["rows"] == {"total": 3, "delivered": 3}
    production.ends_well()
