"""Budgets of a run, a day and a cost center; prices that rise after their approval."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.programs import Desk, Sandbox, simple_sheet


def accounts(desk: Desk, *words: str) -> list[dict[str, Any]]:
    """The accounts that `status` shows."""
    return list(desk.call("status", "--json", *words).json["accounts"])


def dearer(service: Sandbox, nth: str = "1-99") -> None:
    """Have videos cost 18 instead of 15 in quotes from now on."""
    service.plan_fault(on="estimate", do="rewrite", nth=nth, set={"credits": 18})


def fails(service: Sandbox) -> None:
    """Have every render end without a video, and cost what it was quoted for."""
    failed = {"status": "failed", "credits_charged": 15, "poll_after_seconds": 1}
    service.plan_fault(on="get", do="rewrite", set=failed)
    service.plan_fault(on="download", do="status", status=409)


@pytest.mark.merge
def test_a_run_has_a_budget_of_its_own(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    first, second = (desk.run(sheet, "--run-budget", "35") for _ in range(2))
    assert (first.status, second.status) == (3, 0), first.err + second.err
    credits = first.json["credits"]
    assert (credits["quoted"], credits["charged"], credits["budget"]) == (45, 30, None)
    assert [ended.json["credits"]["charged_this_run"] for ended in (first, second)] == [30, 15]
    for left in (35, 5):
        assert f"{left} of the 35 credits of this run's budget are left" in first.err
    assert first.json["rows"] == {"total": 3, "delivered": 2, "held": 1}
    # The newest run comes first.
    found = accounts(desk, "--accounts")
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
    rows = desk.rows(f"{name}-b").values()
    assert sorted(row["state"] for row in rows) == ["delivered", "held", "held"]
    held = [row["reason"] for row in rows if row["state"] == "held"]
    left = f"10 (1.00 USD) of the 40 credits (4.00 USD) of the budget of {now} (UTC) are left"
    used = f"used by {name}-a 15 (1.50 USD), {name}-b 15 (1.50 USD)"
    assert f"needs 15 credits (1.50 USD), and {left}; {used}: " in held[0]
    assert "00:00 UTC on" in held[0]
    # Before it was approved, the plan said what is left, and who used the rest.
    left = left.replace("10 (1.00 USD)", "25 (2.50 USD)")
    assert f"{left}; used by {name}-a 15 (1.50 USD): rows that do not fit" in ended.err
    assert "did not fit" in held[1]
    figures = {"reserved": 0, "charged": 30, "budget": 40, "left": 10}
    assert accounts(desk) == [{"kind": kind, "name": now, **figures}]
    del desk.environ[setting]
    assert desk.run(f"{name}-b.csv").status == 0


@pytest.mark.parametrize("column", ["cost_center", "X Client"])
def test_a_cost_center_or_a_client_has_a_budget_from_a_profile(
    desk: Desk, name: str, column: str
) -> None:
    profile = 'cost_center_column = "x_client"\n[cost_center_budgets]\nsales = 20\nart = 100\n'
    of = ("--profile", desk.sheet("studio.toml", profile))
    # However it is typed, it has the one budget.
    head, *lines = simple_sheet(4, columns=f",{column}").splitlines()
    lines = [
        line + cell for line, cell in zip(lines, (",sales", ",SALES ", ",art", ","), strict=True)
    ]
    ended = desk.run(desk.sheet(f"{name}.csv", "\n".join([head, *lines])), *of)
    assert ended.status == 3, ended.err
    states = [*desk.states(name).values()]
    assert states == ["delivered", "held", "delivered", "delivered"]
    left = "5 of the 20 credits of the budget of cost center sales"
    assert left in desk.rows(name)["r002"]["reason"]
    shown = [(a["name"], a["charged"], a["left"]) for a in accounts(desk, *of)]
    assert shown == [("sales", 15, 5), ("art", 15, 85)]
    lacks = "has no column x_client, so a row that names no cost center has none"
    assert (lacks in ended.err) == (column == "cost_center")


@pytest.mark.safeguard(
    "tasks/ledger/accounts.py",
    "name = as_spelled(row.cost_center, self.cost_center_budgets)",
    "name = row.cost_center",
)
def test_a_budget_counts_for_rows_that_were_read_before_there_was_one(
    desk: Desk, service: Sandbox, name: str
) -> None:
    cells = {"columns": ",cost_center", "cells": ',"acme  CORP"'}
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1, **cells))).status == 0
    desk.environ["CALLSHEET_COST_CENTER_BUDGETS"] = "Acme Corp=10"
    again = desk.call("retake", name, "r001", "--yes", "--run", "--json")
    row = desk.rows(name)["r001"]
    assert (again.status, row["state"]) == (3, "held"), again.err
    assert "of the budget of cost center Acme Corp" in row["reason"]
    assert service.charged([row["key"]]).total() == 1


@pytest.mark.parametrize(("choice", "begun"), [("stop", ["r001"]), ("fit", ["r001", "r003"])])
def test_a_plan_beyond_its_budget_begins_what_it_may(
    desk: Desk, name: str, choice: str, begun: list[str]
) -> None:
    # The second video is longer, and dearer, than the others.
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3).replace("Video 2,5", "Video 2,30"))
    refused = desk.run(sheet, "--budget", "30")
    ended = desk.run(sheet, "--budget", "30", "--at-limit", choice)
    assert (refused.status, "--at-limit" in refused.err, ended.status) == (4, True, 3)
    assert [row for row, state in desk.states(name).items() if state == "delivered"] == begun
    assert ended.json["credits"]["charged"] == 15 * len(begun)


@pytest.mark.merge
@pytest.mark.parametrize("limit", ["run", "day"])
def test_an_attempt_that_waits_for_a_budget_is_still_the_second(
    desk: Desk, studio: Sandbox, name: str, limit: str
) -> None:
    fails(studio)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    charged, said = [], []
    for nth in range(1, 5):
        words = ("--run-budget", "20") if limit == "run" else ()
        desk.environ |= {"CALLSHEET_DAY_BUDGET": f"{20 * nth}"} if limit == "day" else {}
        ended = desk.run(sheet, "--retry-failed", "1", *words)
        charged.append(ended.json["credits"]["charged"])
        said.append(desk.call("plan", sheet, "--retry-failed", "1").out)
    # One attempt that was approved, and one new one.
    assert charged == [15, 30, 30, 30]
    assert desk.states(name) == {"r001": "failed"}
    assert "its render failed once: this is attempt 2" in said[0]
    assert "new attempt of each row whose render fails, earlier attempts included" in said[0]


@pytest.mark.safeguard(
    "tasks/campaign/sheet_verb.py",
    "end_retries(connection, campaign.id, sheet.briefs, skipped=sheet.skipped)",
    "pass",
)
@pytest.mark.parametrize("change", ["switched off", "edited", "left", "nothing"])
def test_what_the_sheet_wants_no_more_gets_no_new_attempt(
    desk: Desk, studio: Sandbox, name: str, change: str
) -> None:
    text = simple_sheet(2, columns=",enabled", cells=",yes")
    sheet = desk.sheet(f"{name}.csv", text)
    studio.plan_fault(on="render", do="slow", seconds=600, nth="1-2")
    assert desk.leave_under_way(sheet, "--retry-failed", "1").status == 5
    fails(studio)
    now = {
        "switched off": text.replace("Video 2,5,9:16,yes", "Video 2,5,9:16,no"),
        "edited": text.replace("Kettle 2", "Pot 2"),
        "left": "".join(text.splitlines(keepends=True)[:2]),
        "nothing": text,
    }
    ended = desk.run(desk.sheet(sheet, now[change]), "--retry-failed", "1")
    assert ended.status == 3, ended.err
    takes = {row: one["take"] for row, one in desk.rows(name).items()}
    assert takes == {"r001": 2, "r002": 2 if change == "nothing" else 1}


def test_an_unreadable_price_is_refused_under_any_budget(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="estimate", do="rewrite", set={"credits": "plenty"}, remove=["breakdown"])
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    for words in (("--run-budget", "500"), ("--budget", "500"), ()):
        desk.environ |= {} if words else {"CALLSHEET_DAY_BUDGET": "500"}
        ended = desk.run(sheet, *words)
        assert (ended.status, "nothing was spent" in ended.err) == (4, True), ended.err
    assert desk.states(name) == {"r001": "quoted"}


def approved_but_not_begun(desk: Desk, name: str) -> str:
    """Kill a run of three rows before its first create: the other two are approved, and no more."""
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.environ["CALLSHEET_AT_ONCE"] = "1"
    run = ("run", sheet, "--yes", "--without-prefect")
    desk.kill(*run, at="service: before the request (create)")
    assert [*desk.states(name).values()] == ["submitting", "approved", "approved"]
    desk.environ["CALLSHEET_QUOTE_AGE"] = "0s"
    return sheet


@pytest.mark.merge
def test_a_price_that_rose_since_its_approval_stops_the_next_run(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = approved_but_not_begun(desk, name)
    dearer(studio, "1-3")
    stopped = desk.run(sheet)
    studio.clear_faults()
    ended = desk.run(sheet)
    assert (stopped.status, ended.status) == (4, 0), stopped.err + ended.err
    assert "r003: it was approved at 15 credits and costs 18 now" in stopped.err
    assert desk.paid_once(name, studio)


@pytest.mark.merge
def test_a_price_that_rose_before_a_new_attempt_is_what_its_approval_shows(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    desk.environ["CALLSHEET_QUOTE_AGE"] = "0s"
    studio.plan_fault(on="render", do="fail", nth=1)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    dearer(studio, "3-99")
    ended = desk.run(sheet, "--retry-failed", "1")
    assert (ended.status, desk.states(name)) == (3, {"r001": "quoted"}), ended.err
    asked = desk.call("approve", name)
    assert "it was approved at 15 credits and costs 18 now" in asked.out, asked.out
    assert "the row changed" not in asked.out


@pytest.mark.merge
def test_a_price_that_rose_a_little_goes_on(desk: Desk, studio: Sandbox, name: str) -> None:
    sheet = approved_but_not_begun(desk, name)
    desk.environ["CALLSHEET_QUOTE_TOLERANCE"] = "20%"
    dearer(studio)
    ended = desk.run(sheet)
    assert ended.status == 0, ended.err
    # What was sent already keeps its price.
    assert [row["quoted"] for row in desk.rows(name).values()] == [15, 18, 18]
    shown = desk.call("status", name, "--json").json["credits"]
    # The sandbox asks for what a video costs: 15 each, whatever was quoted.
    assert (shown["charged"], shown["variance"]) == (45, -6)


@pytest.mark.merge
def test_a_price_that_rises_during_a_run_leaves_its_row_to_a_person(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    desk.environ |= {"CALLSHEET_QUOTE_AGE": "0s", "CALLSHEET_AT_ONCE": "1"}
    # Two quotes for the plan, one for the first row as it begins; then it is dearer.
    dearer(studio, "4-99")
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)))
    assert ended.status == 3, ended.err
    row = desk.rows(name)["r002"]
    assert (row["state"], row["quoted"], row["take"]) == ("quoted", 18, 0)
    assert "approve the new price" in row["reason"]
    assert desk.run(f"{name}.csv").status == 0


def test_an_amount_that_is_none_is_named(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert '--run-budget "lots"' in desk.run(sheet, "--run-budget", "lots").err
    for setting, value in (
        ("CALLSHEET_DAY_BUDGET", "lots"),
        ("CALLSHEET_COST_CENTER_BUDGETS", "sales"),
        ("CALLSHEET_COST_CENTER_BUDGETS", "a=1,a=2"),
        ("CALLSHEET_QUOTE_TOLERANCE", "0.1"),
        ("CALLSHEET_LEASE", "0s"),
    ):
        told = Desk(desk.folder, {**desk.environ, setting: value}).run(sheet)
        assert (told.status, setting in told.err) == (2, True)
