"""Budgets of a run, a day and a cost center; prices that rise after their approval."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.programs import Desk, Finished, Sandbox, simple_sheet
from tests.torture.hook import Hook


@pytest.fixture
def faulty(service: Sandbox) -> Iterator[Sandbox]:
    """The shared sandbox; what is planned to go wrong is taken back."""
    yield service
    service.clear_faults()


def accounts(desk: Desk) -> dict[str, dict[str, Any]]:
    """The accounts that `status` shows, by kind."""
    found = desk.call("status", "--json").json["accounts"]
    return {account["kind"]: account for account in found}


def states(desk: Desk, name: str) -> list[str]:
    return [row["state"] for row in desk.rows(name).values()]


def dearer(service: Sandbox, nth: str = "1-99") -> None:
    """Have videos cost 18 instead of 15 in quotes from now on."""
    service.plan_fault(on="estimate", do="rewrite", nth=nth, set={"credits": 18})


@pytest.mark.merge
def test_a_run_has_a_budget_of_its_own(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))

    first = desk.run(sheet, "--run-budget", "35")
    second = desk.run(sheet, "--run-budget", "35")

    assert first.status == 3, first.err
    credits = first.json["credits"]
    assert (credits["quoted"], credits["charged"], credits["budget"]) == (45, 30, None)
    assert [ended.json["credits"]["charged_this_run"] for ended in (first, second)] == [30, 15]
    assert "35 of the 35 credits of this run's budget are left" in first.err
    assert first.json["rows"] == {"total": 3, "delivered": 2, "held": 1}
    assert "5 of the 35 credits of this run's budget are left" in first.err
    assert second.status == 0, second.err
    found = desk.call("status", "--json", "--accounts").json["accounts"]
    # The newest run comes first.
    assert [one["charged"] for one in found if one["kind"] == "run"] == [15, 30]


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["day", "month"])
def test_a_day_and_a_month_have_a_budget_over_all_campaigns(
    desk: Desk, name: str, kind: str
) -> None:
    setting = f"CALLSHEET_{kind.upper()}_BUDGET"
    desk.environ |= {setting: "40", "CALLSHEET_CREDIT_PRICE": "0.10 USD"}
    desk.run(desk.sheet(f"{name}-a.csv", simple_sheet(1)))

    ended = desk.run(desk.sheet(f"{name}-b.csv", simple_sheet(3)))

    now = datetime.now(UTC).date().isoformat()[: 10 if kind == "day" else 7]
    assert ended.status == 3, ended.err
    assert sorted(states(desk, f"{name}-b")) == ["delivered", "held", "held"]
    held = [row["reason"] for row in desk.rows(f"{name}-b").values() if row["state"] == "held"]
    left = f"10 (1.00 USD) of the 40 credits (4.00 USD) of the budget of {now} (UTC) are left"
    used = f"used by {name}-a 15 (1.50 USD), {name}-b 15 (1.50 USD)"
    assert f"needs 15 credits (1.50 USD), and {left}; {used}: " in held[0]
    assert "00:00 UTC on" in held[0]
    # Before it was approved, the plan said what is left, and who used the rest.
    left = left.replace("10 (1.00 USD)", "25 (2.50 USD)")
    assert f"{left}; used by {name}-a 15 (1.50 USD): rows that do not fit" in ended.err
    assert "did not fit" in held[1]
    assert accounts(desk) == {
        kind: {
            "kind": kind, "name": now, "reserved": 0, "charged": 30, "budget": 40, "left": 10,
        }
    }  # fmt: skip
    del desk.environ[setting]
    assert desk.run(f"{name}-b.csv").status == 0


@pytest.mark.parametrize("column", ["cost_center", "X Client"])
def test_a_cost_center_or_a_client_has_a_budget_from_a_profile(
    desk: Desk, name: str, column: str
) -> None:
    profile = 'cost_center_column = "x_client"\n[cost_center_budgets]\nsales = 20\nart = 100\n'
    (desk.folder / "studio.toml").write_text(profile)
    lines = simple_sheet(4, columns=f",{column}", cells=",sales").splitlines()
    # However it is typed, it has the one budget.
    lines[2] = lines[2].replace("sales", "SALES ")
    lines[3] = lines[3].replace("sales", "art")
    lines[4] = lines[4].replace("sales", "")
    sheet = desk.sheet(f"{name}.csv", "\n".join(lines) + "\n")

    ended = desk.run(sheet, "--profile", "studio.toml")

    assert ended.status == 3, ended.err
    assert states(desk, name) == ["delivered", "held", "delivered", "delivered"]
    left = "5 of the 20 credits of the budget of cost center sales"
    assert left in desk.rows(name)["r002"]["reason"]
    shown = desk.call("status", "--profile", "studio.toml", "--json").json["accounts"]
    assert [(a["name"], a["charged"], a["left"]) for a in shown] == [
        ("sales", 15, 5),
        ("art", 15, 85),
    ]
    lacks = "has no column x_client, so a row that names no cost center has none"
    assert (lacks in ended.err) == (column == "cost_center")


def test_a_budget_counts_for_rows_that_were_read_before_there_was_one(
    desk: Desk, service: Sandbox, name: str
) -> None:
    cells = {"columns": ",cost_center", "cells": ',"acme  CORP"'}
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1, **cells))).status == 0
    desk.environ["CALLSHEET_COST_CENTER_BUDGETS"] = "Acme Corp=10"

    again = desk.call("retake", name, "r001", "--yes", "--run", "--json")

    assert again.status == 3, again.err
    assert states(desk, name) == ["held"]
    assert "of the budget of cost center Acme Corp" in desk.rows(name)["r001"]["reason"]
    assert service.charged([desk.rows(name)["r001"]["key"]]).total() == 1


@pytest.mark.parametrize(("choice", "begun"), [("stop", [1]), ("fit", [1, 3])])
def test_a_plan_beyond_its_budget_begins_what_it_may(
    desk: Desk, name: str, choice: str, begun: list[int]
) -> None:
    # The second video is longer, and dearer, than the others.
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3).replace("Video 2,5", "Video 2,30"))

    refused = desk.run(sheet, "--budget", "30")
    ended = desk.run(sheet, "--budget", "30", "--at-limit", choice)

    assert refused.status == 4
    assert "--at-limit" in refused.err
    assert ended.status == 3, ended.err
    found = [state == "delivered" for state in states(desk, name)]
    assert [n for n, there in enumerate(found, start=1) if there] == begun
    assert ended.json["credits"]["charged"] == 15 * len(begun)


@pytest.mark.merge
@pytest.mark.parametrize("limit", ["run", "day"])
def test_an_attempt_that_waits_for_a_budget_is_still_the_second(
    desk: Desk, faulty: Sandbox, name: str, limit: str
) -> None:
    fails(faulty)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    plan = ["plan", sheet, "--retry-failed", "1"]
    charged, said = [], []

    for nth in range(1, 5):
        budget = str(20 * nth if limit == "day" else 20)
        words = ("--run-budget", budget) if limit == "run" else ()
        desk.environ |= {"CALLSHEET_DAY_BUDGET": budget} if limit == "day" else {}
        ended = desk.run(sheet, "--retry-failed", "1", *words)
        charged.append(ended.json["credits"]["charged"])
        said.append(desk.call(*plan).out)

    # One attempt that was approved, and one new one.
    assert charged == [15, 30, 30, 30]
    assert states(desk, name) == ["failed"]
    assert "its render failed once: this is attempt 2" in said[0]
    assert "new attempt of each row whose render fails, earlier attempts included" in said[0]


@pytest.mark.parametrize("change", ["switched off", "edited", "left", "nothing"])
def test_what_the_sheet_wants_no_more_gets_no_new_attempt(
    desk: Desk, faulty: Sandbox, name: str, change: str
) -> None:
    text = simple_sheet(2, columns=",enabled", cells=",yes")
    sheet = desk.sheet(f"{name}.csv", text)
    faulty.plan_fault(on="render", do="slow", seconds=600, nth="1-2")
    assert desk.leave_under_way(sheet, "--retry-failed", "1").status == 5
    fails(faulty)
    lines = text.splitlines(keepends=True)
    now = {
        "switched off": text.replace("Video 2,5,9:16,yes", "Video 2,5,9:16,no"),
        "edited": text.replace("Kettle 2", "Pot 2"),
        "left": "".join(lines[:2]),
        "nothing": text,
    }
    desk.sheet(sheet, now[change])

    ended = desk.run(sheet, "--retry-failed", "1")

    assert ended.status == 3, ended.err
    takes = {row: one["take"] for row, one in desk.rows(name).items()}
    assert takes == {"r001": 2, "r002": 2 if change == "nothing" else 1}


def fails(service: Sandbox) -> None:
    """Have every render end without a video, and cost what it was quoted for."""
    failed = {"status": "failed", "credits_charged": 15, "poll_after_seconds": 1}
    service.plan_fault(on="get", do="rewrite", set=failed)
    service.plan_fault(on="download", do="status", status=409)


def test_an_unreadable_price_is_refused_under_any_budget(
    desk: Desk, faulty: Sandbox, name: str
) -> None:
    faulty.plan_fault(on="estimate", do="rewrite", set={"credits": "plenty"}, remove=["breakdown"])
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))

    for words in (("--run-budget", "500"), ("--budget", "500"), ()):
        desk.environ |= {} if words else {"CALLSHEET_DAY_BUDGET": "500"}
        ended = desk.run(sheet, *words)
        assert ended.status == 4, ended.err
        assert "nothing was spent" in ended.err
    assert states(desk, name) == ["quoted"]


@pytest.mark.merge
def test_a_price_that_rose_since_its_approval_stops_the_next_run(
    desk: Desk, faulty: Sandbox, name: str
) -> None:
    sheet = _approved_but_not_begun(desk, name)
    desk.environ["CALLSHEET_QUOTE_AGE"] = "0s"
    before = len(faulty.charges())
    dearer(faulty, "1-3")

    stopped = desk.run(sheet)
    faulty.clear_faults()
    ended = desk.run(sheet)

    assert stopped.status == 4, stopped.err
    assert "r003: it was approved at 15 credits and costs 18 now" in stopped.err
    assert ended.status == 0, ended.err
    charged = [entry for entry in faulty.charges()[before:] if entry["event"] == "charge"]
    assert len({entry["video_id"] for entry in charged}) == len(charged)


@pytest.mark.merge
def test_a_price_that_rose_a_little_goes_on(desk: Desk, faulty: Sandbox, name: str) -> None:
    sheet = _approved_but_not_begun(desk, name)
    desk.environ |= {"CALLSHEET_QUOTE_AGE": "0s", "CALLSHEET_QUOTE_TOLERANCE": "20%"}
    dearer(faulty)

    ended = desk.run(sheet)

    assert ended.status == 0, ended.err
    # What was sent already keeps its price.
    assert [row["quoted"] for row in desk.rows(name).values()] == [15, 18, 18]
    shown = desk.call("status", name, "--json").json["credits"]
    # The sandbox asks for what a video costs: 15 each, whatever was quoted.
    assert (shown["charged"], shown["variance"]) == (45, -6)


@pytest.mark.merge
def test_a_price_that_rises_during_a_run_leaves_its_row_to_a_person(
    desk: Desk, faulty: Sandbox, name: str
) -> None:
    desk.environ |= {"CALLSHEET_QUOTE_AGE": "0s", "CALLSHEET_AT_ONCE": "1"}
    # Two quotes for the plan, one for the first row as it begins; then it is dearer.
    dearer(faulty, "4-99")

    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)))

    assert ended.status == 3, ended.err
    row = desk.rows(name)["r002"]
    assert (row["state"], row["quoted"], row["take"]) == ("quoted", 18, 0)
    assert "approve the new price" in row["reason"]
    assert desk.run(f"{name}.csv").status == 0


def test_an_amount_that_is_none_is_named(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))

    def ended(setting: str, value: str) -> Finished:
        kept = Desk(desk.folder, {**desk.environ, setting: value})
        return kept.run(sheet)

    assert '--run-budget "lots"' in desk.run(sheet, "--run-budget", "lots").err
    for setting, value in (
        ("CALLSHEET_DAY_BUDGET", "lots"),
        ("CALLSHEET_COST_CENTER_BUDGETS", "sales"),
        ("CALLSHEET_COST_CENTER_BUDGETS", "a=1,a=2"),
        ("CALLSHEET_QUOTE_TOLERANCE", "0.1"),
        ("CALLSHEET_LEASE", "0s"),
    ):
        told = ended(setting, value)
        assert told.status == 2
        assert setting in told.err


def _approved_but_not_begun(desk: Desk, name: str) -> str:
    """Kill a run of three rows before its first create: the other two are approved, and no more."""
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    hurried = Desk(desk.folder, {**desk.environ, "CALLSHEET_AT_ONCE": "1"})
    hook = Hook(desk.folder / "trace", "service: before the request (create)").as_json()
    hurried.call("run", sheet, "--yes", "--without-prefect", hook=hook)
    assert states(desk, name) == ["submitting", "approved", "approved"]
    return sheet
