"""A campaign lives across many runs of its sheet: what changed is made, and nothing else.

Rows that a workbook hides are not paid for without a word; `--select` takes ids and terms.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox, simple_sheet

pytestmark = pytest.mark.merge


def test_a_changed_row_is_made_again_and_the_others_are_not(
    desk: Desk, service: Sandbox, name: str
) -> None:
    text = simple_sheet(3)
    sheet = desk.sheet(f"{name}.csv", text)
    desk.run(sheet)
    before = desk.rows(name)
    desk.sheet(sheet, text.replace("Kettle 2", "Another kettle"))
    plan = desk.call("plan", sheet, "--json").json["rows"]
    ended = desk.run(sheet)
    after = desk.rows(name)
    assert [row["action"] for row in plan] == ["none", "retake", "none"]
    assert plan[1]["why"] == "changed: fields"
    assert (ended.status, ended.json["credits"]["charged"]) == (0, 60)
    assert after["r002"]["take"] == 2
    assert after["r002"]["key"] != before["r002"]["key"]
    assert after["r001"] == before["r001"]
    # The first video is still there: a new take never overwrites one.
    assert Path(before["r002"]["deliveries"][0]["uri"]).exists()
    # Changed back, it costs nothing; but what the video in between has cost stays.
    creates = service.creates()
    assert desk.run(desk.sheet(sheet, text)).status == 0
    assert desk.rows(name)["r002"] == {**before["r002"], "charged": 30, "paid_before": 15}
    assert service.creates() == creates


@pytest.mark.always
def test_rows_in_another_order_or_saved_elsewhere_cost_nothing(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3).replace("Video 1", "'=1+1"))
    header, *rows = (desk.folder / sheet).read_text().splitlines()
    desk.run(sheet)
    text = "\r\n".join([header, *reversed(rows)]).replace(",", ";")
    (desk.folder / sheet).write_bytes(b"\xef\xbb\xbf" + text.encode())
    # The status sheet can be run as a sheet, and a formula in a title does not run in it.
    status = (desk.folder / "deliveries" / name / "status.csv").read_bytes()
    (desk.folder / "back.csv").write_bytes(status)
    for words in ((sheet,), ("back.csv", "--campaign", name)):
        ended = desk.run(*words)
        assert (ended.status, "nothing to do, 0 credits" in ended.err) == (0, True), ended.err
    assert b",=1+1" not in status
    assert b"=1+1" in status


@pytest.mark.always
def test_a_row_that_leaves_is_retired_and_can_come_back(desk: Desk, name: str) -> None:
    ends = [desk.run(desk.sheet(f"{name}.csv", simple_sheet(rows))) for rows in (2, 1, 2)]
    assert ends[1].json["rows"] == {"total": 2, "delivered": 1, "retired": 1}
    assert ends[2].json["rows"] == {"total": 2, "delivered": 2}
    assert ends[2].json["credits"]["charged"] == 30


def test_rows_leave_in_numbers_only_with_a_word(desk: Desk, service: Sandbox, name: str) -> None:
    sheet, whole, cut = f"{name}.csv", simple_sheet(5), simple_sheet(1)
    desk.run(desk.sheet(sheet, whole))
    desk.sheet(sheet, cut.replace("Kettle 1", "Kettle one"))
    creates = service.creates()
    planned, stopped = desk.call("plan", sheet, "-o", "plan.json"), desk.run(sheet)
    assert planned.status == 0
    assert "4 of the campaign's 5 rows are not in the sheet any more" in planned.out
    assert (stopped.status, "4 of the 5 rows" in stopped.json["error"]) == (4, True)
    # Neither retired nor made: a sheet that was cut by mistake has done nothing.
    assert service.creates() == creates
    assert [*desk.states(name).values()][1:] == ["delivered"] * 4
    full, few = {"total": 5, "delivered": 5}, {"total": 5, "delivered": 1, "retired": 4}
    assert desk.run(desk.sheet(sheet, whole)).json["rows"] == full
    desk.sheet(sheet, cut.replace("Kettle 1", "Kettle one"))
    approved = desk.call("run", sheet, "--plan", "plan.json", "--json", "--without-prefect")
    assert approved.json["rows"] == few
    assert desk.run(desk.sheet(sheet, whole)).json["rows"] == full
    desk.sheet(sheet, cut)
    (offered,) = [
        line for line in stopped.err.splitlines() if line.strip().startswith("callsheet ")
    ]
    assert desk.call(*shlex.split(offered)[1:]).json["rows"] == few
    # One video was wanted anew, and what came back was not paid for again.
    assert service.creates() == creates + 1


@pytest.mark.always
def test_a_run_refuses_to_pay_for_hidden_rows_unasked(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.workbook(f"{name}.xlsx", simple_sheet(3), hidden=(3, 4))
    before = service.creates()
    plan, ended = desk.call("plan", sheet, "--json"), desk.run(sheet)
    assert (plan.status, len(plan.json["rows"])) == (0, 3)
    assert f"{sheet} has 2 of its 3 rows hidden (rows 3 to 4): " in plan.json["notes"][0]
    assert (ended.status, ended.json["exit"]) == (4, 4)
    hidden = ("2 rows are hidden (r002, r003)", "--visible-only", "--include-hidden")
    for words in (*hidden, "nothing was spent"):
        assert words in ended.err
    assert service.creates() == before
    assert desk.call("status", "--json").json["campaigns"] == []
    # A setting says it for good; what is delivered is not asked about.
    desk.environ["CALLSHEET_HIDDEN_ROWS"] = "skip"
    skipped = desk.run(sheet)
    assert skipped.status == 0, skipped.err
    assert f"{sheet} has 2 of its 3 rows hidden (rows 3 to 4): they are left out" in skipped.err
    assert set(desk.rows(name)) == {"r001"}
    del desk.environ["CALLSHEET_HIDDEN_ROWS"]
    assert desk.run(sheet, "--include-hidden").status == 0
    again = desk.run(sheet)
    assert again.status == 0, again.err
    assert "2 of its 3 rows hidden (rows 3 to 4): a run asks before it pays" in again.err
    assert "nothing to do, 0 credits; 3 delivered before, 0 credits" in again.err


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
    "colour:red": "colour",
    "": "--select",
}


def test_ids_are_alternatives_and_a_mistake_touches_nothing(desk: Desk, name: str) -> None:
    text = simple_sheet(3, columns=",tags", cells=",launch")
    text = text.replace("Video 3,5,9:16,launch", "Video 3,5,9:16,other")
    sheet = desk.sheet(f"{name}.csv", text)
    assert desk.run(sheet, "--select", "r001,r9").status == 2
    made, again = (desk.run(sheet, "--select", "r001,r003") for _ in range(2))
    assert made.json["rows"] == {"total": 3, "planned": 1, "delivered": 2}
    assert (again.status, again.json["credits"]["charged_this_run"]) == (0, 0)
    listed = desk.call("rows", name, "--select", "r001,r002,tag:launch", "--json").lines
    assert [line["row"] for line in listed] == ["r001", "r002"]
    assert desk.call("rows", name, "--select", "state:failed", "--json").lines == []
    before = desk.rows(name)
    commands = [(*words, sheet) for words in OF_A_SHEET]
    commands += [(*words, name) for words in OF_A_CAMPAIGN]
    commands.append(("review", name, "keep"))
    for words in commands:
        for select, told in MISTAKES.items():
            ended = desk.call(*words, "--select", select)
            assert (ended.status, told in ended.err) == (2, True), (words, select, ended.err)
    assert desk.rows(name) == before


@pytest.mark.always
def test_the_help_shows_three_examples(desk: Desk) -> None:
    for command in ("plan", "run", "rows", "retake", "cancel", "review", "verify"):
        told = " ".join(desk.call(command, "--help").out.split())
        for example in ("r1,r2", "tag:launch,language:en|de", "'draft-*,!draft-7'"):
            assert example in told, (command, told)
