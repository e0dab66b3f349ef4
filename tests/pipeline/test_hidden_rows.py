"""Rows that a workbook hides are not paid for without a word, and have not left the sheet."""

from __future__ import annotations

import pytest

from tests.programs import Desk, Sandbox, simple_sheet


def test_a_run_refuses_to_pay_for_hidden_rows_unasked(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.workbook(f"{name}.xlsx", simple_sheet(3), hidden=(3, 4))
    before = service.calls().get("create", 0)

    plan = desk.call("plan", sheet, "--json")
    ended = desk.run(sheet)

    assert (plan.status, len(plan.json["rows"])) == (0, 3)
    assert f"{sheet} has 2 of its 3 rows hidden (rows 3 to 4): " in plan.json["notes"][0]
    assert (ended.status, ended.json["exit"]) == (4, 4)
    for words in (
        "2 rows are hidden (r002, r003)",
        "nothing was spent",
        "--visible-only",
        "--include-hidden",
    ):
        assert words in ended.err
    assert service.calls().get("create", 0) == before
    assert desk.call("status", "--json").json["campaigns"] == []


@pytest.mark.merge
def test_hidden_rows_that_are_left_out_stay_as_they_are(desk: Desk, name: str) -> None:
    sheet = desk.workbook(f"{name}.xlsx", simple_sheet(4))
    assert desk.run(sheet, "--select", "r001|r002").status == 0
    made = desk.rows(name)
    desk.workbook(f"{name}.xlsx", simple_sheet(4).replace("Video 1", "Video one"), hidden=(2, 4))

    plan = desk.call("plan", sheet, "--visible-only", "--json", "-o", "plan.json")
    ended = desk.call("run", "--plan", "plan.json", "--without-prefect")

    assert [row["row"] for row in plan.json["rows"]] == ["r002", "r004"]
    # The plan brings along that hidden rows are left out.
    assert ended.status == 0, ended.err
    after = desk.rows(name)
    assert after.pop("r004")["state"] == "delivered"
    assert after.items() <= made.items()


def test_what_is_delivered_is_not_asked_about(desk: Desk, name: str) -> None:
    sheet = desk.workbook(f"{name}.xlsx", simple_sheet(2), hidden=(3,))
    assert desk.run(sheet, "--include-hidden").status == 0

    again = desk.run(sheet)

    assert again.status == 0, again.err
    # It has read both rows, the hidden one too.
    assert f"{sheet} has 1 of its 2 rows hidden (row 3): a run asks before it pays" in again.err
    assert "nothing to do, 0 credits; 2 delivered before, 0 credits" in again.err


def test_a_setting_says_it_for_good(desk: Desk, name: str) -> None:
    sheet = desk.workbook(f"{name}.xlsx", simple_sheet(3), hidden=(3,))
    desk.environ["CALLSHEET_HIDDEN_ROWS"] = "skip"

    ended = desk.run(sheet)

    assert ended.status == 0, ended.err
    assert f"{sheet} has 1 of its 3 rows hidden (row 3): it is left out" in ended.err
    assert set(desk.rows(name)) == {"r001", "r003"}
