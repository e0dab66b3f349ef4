"""A campaign lives across many runs of its sheet: what changed is made, and nothing else."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox, simple_sheet


@pytest.mark.merge
def test_a_changed_row_is_made_again_and_the_others_are_not(
    desk: Desk, service: Sandbox, name: str
) -> None:
    text = simple_sheet(3)
    desk.run(desk.sheet(f"{name}.csv", text))
    before = desk.rows(name)
    desk.sheet(f"{name}.csv", text.replace("Kettle 2", "Another kettle"))

    plan = desk.call("plan", f"{name}.csv", "--json").json
    ended = desk.run(f"{name}.csv")

    after = desk.rows(name)
    assert [(row["row"], row["action"]) for row in plan["rows"]] == [
        ("r001", "none"),
        ("r002", "retake"),
        ("r003", "none"),
    ]
    assert plan["rows"][1]["why"] == "changed: fields"
    assert ended.status == 0
    assert after["r002"]["take"] == 2
    assert after["r002"]["key"] != before["r002"]["key"]
    assert after["r001"] == before["r001"]
    assert ended.json["credits"]["charged"] == 60
    # The first video is still there: a new take never overwrites one.
    assert Path(before["r002"]["deliveries"][0]["uri"]).exists()


@pytest.mark.merge
def test_a_row_changed_back_costs_nothing(desk: Desk, service: Sandbox, name: str) -> None:
    text = simple_sheet(1)
    desk.run(desk.sheet(f"{name}.csv", text))
    first = desk.rows(name)["r001"]
    desk.run(desk.sheet(f"{name}.csv", text.replace("Kettle 1", "Kettle one")))
    desk.sheet(f"{name}.csv", text)
    creates = service.calls()["create"]

    ended = desk.run(f"{name}.csv")

    assert ended.status == 0
    # As before, but for what the video in between has cost.
    assert desk.rows(name)["r001"] == {**first, "charged": 30, "paid_before": 15}
    assert service.calls()["create"] == creates


def test_rows_in_another_order_or_saved_elsewhere_cost_nothing(desk: Desk, name: str) -> None:
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(3)))
    header, *rows = simple_sheet(3).splitlines()
    text = "\r\n".join([header, *reversed(rows)]).replace(",", ";")
    (desk.folder / f"{name}.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())

    ended = desk.run(f"{name}.csv")

    assert ended.status == 0
    assert "nothing to do, 0 credits" in ended.err


def test_a_row_that_leaves_is_retired_and_can_come_back(desk: Desk, name: str) -> None:
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)))

    left = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))
    back = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)))

    assert left.json["rows"] == {"total": 2, "delivered": 1, "retired": 1}
    assert back.json["rows"] == {"total": 2, "delivered": 2}
    assert back.json["credits"]["charged"] == 30


@pytest.mark.merge
def test_rows_leave_in_numbers_only_with_a_word(desk: Desk, service: Sandbox, name: str) -> None:
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(5)))
    cut = desk.sheet(f"{name}.csv", simple_sheet(1).replace("Kettle 1", "Kettle one"))
    creates = service.calls()["create"]

    planned = desk.call("plan", cut, "-o", "plan.json")
    stopped = desk.run(cut)
    after = desk.rows(name)
    calls = service.calls()["create"]
    offered = [line for line in stopped.err.splitlines() if line.strip().startswith("callsheet ")]
    desk.sheet(f"{name}.csv", simple_sheet(5))
    whole = desk.run(f"{name}.csv")
    desk.sheet(f"{name}.csv", simple_sheet(1).replace("Kettle 1", "Kettle one"))
    approved = desk.call("run", cut, "--plan", "plan.json", "--json", "--without-prefect")
    desk.sheet(f"{name}.csv", simple_sheet(5))
    back = desk.run(f"{name}.csv")
    desk.sheet(f"{name}.csv", simple_sheet(1))
    went_on = desk.call(*shlex.split(offered[0])[1:])

    assert planned.status == 0
    assert "4 of the campaign's 5 rows are not in the sheet any more" in planned.out
    assert stopped.status == 4
    assert "4 of the 5 rows" in stopped.json["error"]
    # Neither retired nor made: a sheet that was cut by mistake has done nothing.
    assert calls == creates
    assert [row["state"] for row in after.values()][1:] == ["delivered"] * 4
    assert whole.json["rows"] == {"total": 5, "delivered": 5}
    assert approved.json["rows"] == {"total": 5, "delivered": 1, "retired": 4}
    assert back.json["rows"] == {"total": 5, "delivered": 5}
    assert went_on.json["rows"] == {"total": 5, "delivered": 1, "retired": 4}
    # One video was wanted anew, and what came back was not paid for again.
    assert service.calls()["create"] == creates + 1


def test_with_the_ledger_lost_nothing_is_charged_again(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.run(sheet)
    keys = [row["key"] for row in desk.rows(name).values()]
    for file in (desk.folder / ".callsheet").glob("ledger.db*"):
        file.unlink()

    ended = desk.run(sheet)

    assert ended.status == 0
    assert [row["key"] for row in desk.rows(name).values()] == keys
    assert service.charged(keys) == dict.fromkeys(keys, 1)


def test_only_selected_rows_are_touched(desk: Desk, name: str) -> None:
    text = simple_sheet(3, columns=",tags", cells=",later").replace("9:16,later", "9:16,now", 1)

    ended = desk.run(desk.sheet(f"{name}.csv", text), "--select", "tag:now")

    assert ended.status == 0
    assert ended.json["rows"] == {"total": 3, "planned": 2, "delivered": 1}
    assert desk.rows(name)["r001"]["state"] == "delivered"


def test_the_status_sheet_can_be_run_as_a_sheet(desk: Desk, name: str) -> None:
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)))
    status = desk.folder / "deliveries" / name / "status.csv"
    (desk.folder / "back.csv").write_bytes(status.read_bytes())

    ended = desk.run("back.csv", "--campaign", name)

    assert ended.status == 0
    assert "nothing to do, 0 credits" in ended.err


def test_a_formula_in_a_title_does_not_run_in_the_status_sheet(desk: Desk, name: str) -> None:
    text = simple_sheet(1).replace("Video 1", "'=1+1")
    desk.run(desk.sheet(f"{name}.csv", text))

    sheet = (desk.folder / "deliveries" / name / "status.csv").read_text("utf-8-sig")

    assert ",=1+1" not in sheet
    assert "=1+1" in sheet
