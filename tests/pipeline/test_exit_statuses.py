"""Every way a run can be refused: one sentence, the right exit status, and nothing spent.

Rows that need a person do not hold back the others, and say why.
"""

from __future__ import annotations

import pytest

from tests.programs import Desk, Sandbox, simple_sheet
from tests.stores import moto_s3


def test_without_approval_nothing_is_spent(desk: Desk, service: Sandbox, name: str) -> None:
    before = service.creates()
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    ended = desk.call("run", sheet, "--without-prefect", "--json")
    assert (ended.status, ended.json["exit"], "--yes" in ended.err) == (4, 4, True)
    assert desk.rows(name)["r001"]["state"] == "quoted"
    assert service.creates() == before


def test_a_plan_above_the_budget_is_refused_whole_and_over_every_run(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    refused, afterwards = (desk.run(sheet, "--budget", most) for most in ("44", "45"))
    assert (refused.status, afterwards.status) == (4, 0)
    assert "45 credits" in refused.err
    assert "nothing was spent" in refused.err
    credits = {"quoted": 45, "charged": 45, "budget": 45, "left": 0, "charged_this_run": 45}
    assert afterwards.json["credits"] == {**credits, "reserved": 0, "paid_before": 0, "variance": 0}
    desk.sheet(sheet, simple_sheet(4))
    assert desk.run(sheet).status == 4
    assert desk.rows(name)["r004"]["state"] == "quoted"


def test_a_bad_sheet_contacts_nobody(desk: Desk, service: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", "id,tool,aspect_ratio\na,product-launch,4:5\n")
    before = dict(service.calls())
    ended = desk.run(sheet)
    words = f'{name}.csv:2 row "a", column aspect_ratio: "4:5" is not one of 9:16, 1:1, 16:9'
    assert (ended.status, ended.json["problems"]) == (2, [words])
    assert words in ended.err
    place = {"line": 2, "row": "a", "column": "aspect_ratio", "value": "4:5"}
    assert ended.json["places"] == [place]
    assert service.calls() == before


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("CALLSHEET_API_KEY", "mav_wrong", "401"),
        ("CALLSHEET_API_KEY", "", "CALLSHEET_API_KEY"),
        ("CALLSHEET_BASE_URL", "http://127.0.0.1:9/api/v1", "could not be reached"),
        ("CALLSHEET_BASE_URL", "nonsense", "CALLSHEET_BASE_URL"),
        ("CALLSHEET_STORE", "/dev/null/videos", "videos cannot be written"),
        ("CALLSHEET_LEDGER", "/dev/null/ledger", "CALLSHEET_LEDGER"),
        ("CALLSHEET_LEDGER", "sqlite:////dev/null/ledger.db", "ledger"),
        ("CALLSHEET_LEDGER", "postgresql://x:hunter2@127.0.0.1:9/x", "ledger"),
        ("CALLSHEET_DEADLINE", "soon", "CALLSHEET_DEADLINE"),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    desk: Desk, name: str, setting: str, value: str, words: str
) -> None:
    desk.environ[setting] = value
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))
    assert (ended.status, words in ended.err) == (2, True), ended.err
    assert "nothing was spent" in ended.err
    assert "hunter2" not in ended.err


@pytest.mark.merge
def test_a_missing_bucket_is_found_before_anything_is_spent(
    desk: Desk, service: Sandbox, name: str
) -> None:
    before = service.creates()
    with moto_s3() as server:
        desk.environ |= {**server.environment(), "CALLSHEET_STORE": "s3://not-there/videos"}
        ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))
    assert (ended.status, "not-there" in ended.err) == (2, True)
    assert service.creates() == before


def test_a_refused_brief_is_rejected_and_the_others_are_made(desk: Desk, name: str) -> None:
    text = simple_sheet(2) + "bad,product-launch,Kettle,Bad,5000,9:16\n"
    sheet = desk.sheet(f"{name}.csv", text)
    ended = desk.run(sheet)
    assert (ended.status, ended.json["rows"]) == (3, {"total": 3, "delivered": 2, "rejected": 1})
    assert "duration_seconds" in desk.rows(name)["bad"]["reason"]
    listed = desk.call("rows", name, "--state", "rejected", "--state", "held", "--json").lines
    assert [(line["row"], line["quoted"]) for line in listed] == [("bad", None)]
    unknown = desk.call("rows", name, "--state", "rejcted", "--json")
    assert (unknown.status, "did you mean rejected" in unknown.err) == (2, True)
    # An edited row leaves rejected; one that is switched off costs nothing and nags nobody.
    head, *lines = text.replace("5000", "5").splitlines()
    off = "off,product-launch,Cup,Off,5,9:16,no"
    off = [f"{head},enabled", *(f"{line},yes" for line in lines), off]
    mended = desk.run(desk.sheet(sheet, "\n".join(off)))
    assert (mended.status, mended.json["rows"]) == (0, {"total": 4, "planned": 1, "delivered": 3})


@pytest.mark.merge
def test_every_plan_leaves_a_row_above_its_limit_out_of_the_total(desk: Desk, name: str) -> None:
    text = simple_sheet(3, columns=",max_credits", cells=",15").replace("9:16,15", "9:16,14", 1)
    sheet = desk.sheet(f"{name}.csv", text)
    why = (
        "it costs 15 credits, and max_credits is 14: "
        "set max_credits in line 2 of the sheet to 15 or more, or ask for less"
    )

    def planned() -> None:
        row = desk.call("plan", sheet, "--json").json["rows"][0]
        assert (row["action"], row["state"], row["why"]) == ("person", "held", why)

    plan = desk.call("plan", sheet)
    assert "2 videos for 30 credits; 1 row is on hold, 0 credits" in plan.out
    assert "callsheet explain" not in plan.out
    planned()
    ended = desk.run(sheet, "--budget", "30")
    assert (ended.status, ended.json["rows"]) == (3, {"total": 3, "delivered": 2, "held": 1})
    planned()
    # A run of another row leaves it on hold, and another limit does not.
    events = len(desk.call("explain", name, "r001", "--json").json["history"])
    desk.sheet(sheet, text.replace("Video 2", "Another"))
    assert desk.run(sheet, "--budget", "60", "--select", "r002").status == 0
    assert len(desk.call("explain", name, "r001", "--json").json["history"]) == events
    desk.sheet(sheet, text.replace("Video 2", "Another").replace("9:16,14", "9:16,15"))
    assert desk.run(sheet, "--budget", "60").json["rows"] == {"total": 3, "delivered": 3}
