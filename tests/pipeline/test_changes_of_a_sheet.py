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
    creates = service.creates()

    ended = desk.run(f"{name}.csv")

    assert ended.status == 0
    # As before, but for what the video in between has cost.
    assert desk.rows(name)["r001"] == {**first, "charged": 30, "paid_before": 15}
    assert service.creates() == creates


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
    creates = service.creates()

    planned = desk.call("plan", cut, "-o", "plan.json")
    stopped = desk.run(cut)
    after = desk.rows(name)
    calls = service.creates()
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
    assert service.creates() == creates + 1


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


def test_a_run_refuses_to_pay_for_hidden_rows_unasked(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.workbook(f"{name}.xlsx", simple_sheet(3), hidden=(3, 4))
    before = service.creates()

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
    assert service.creates() == before
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


#: Commands that take `--select`, without it; of a sheet, or of a campaign.
OF_A_SHEET = (("plan",), ("run", "--yes", "--without-prefect"))


OF_A_CAMPAIGN = (
    ("rows",),
    ("retake", "--yes"),
    ("cancel", "--yes"),
    ("verify",),
    ("contact-sheet", "-o", "videos.html"),
)


MISTAKES = {
    "r001,r01": "did you mean r001? rows that exist: r001, r002, r003",
    "tag:lauch": "did you mean launch? tags that exist: launch, other",
    "!r9": 'names "r9", and there is no such row',
    "": "--select",
}


@pytest.mark.merge
def test_ids_are_alternatives_and_a_mistake_touches_nothing(desk: Desk, name: str) -> None:
    sheet = f"{name}.csv"
    text = simple_sheet(3, columns=",tags", cells=",launch")
    text = text.replace("Video 3,5,9:16,launch", "Video 3,5,9:16,other")
    (desk.folder / sheet).write_text(text)
    run = ("run", sheet, "--yes", "--json", "--without-prefect", "--select")
    assert desk.call(*run, "r001,r9").status == 2
    made = desk.call(*run, "r001,r003").json
    assert made["rows"] == {"total": 3, "planned": 1, "delivered": 2}

    again = desk.call(*run, "r001,r003")
    assert (again.status, again.json["credits"]["charged_this_run"]) == (0, 0)
    listed = desk.call("rows", name, "--select", "r001,r002,tag:launch", "--json").lines
    assert [line["row"] for line in listed] == ["r001", "r002"]
    assert desk.call("rows", name, "--select", "state:failed", "--json").lines == []
    before = desk.call("rows", name, "--json").out

    commands = [(*words, sheet) for words in OF_A_SHEET]
    commands += [(*words, name) for words in OF_A_CAMPAIGN]
    commands.append(("review", name, "keep"))
    for words in commands:
        for select, told in MISTAKES.items():
            ended = desk.call(*words, "--select", select)
            assert (ended.status, told in ended.err) == (2, True), (words, select, ended.err)
    assert desk.call("rows", name, "--json").out == before


def test_the_help_shows_three_examples(desk: Desk) -> None:
    for command in ("plan", "run", "rows", "retake", "cancel", "review", "verify"):
        told = " ".join(desk.call(command, "--help").out.split())
        for example in ("r1,r2", "tag:launch,language:en|de", "'draft-*,!draft-7'"):
            assert example in told, (command, told)
