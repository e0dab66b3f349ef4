"""Rows that need a person do not hold back the others, and say why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import Desk, sandbox, simple_sheet


def test_a_refused_brief_is_rejected_and_the_others_are_made(desk: Desk, name: str) -> None:
    text = simple_sheet(2) + "bad,product-launch,Kettle,Bad,5000,9:16\n"

    ended = desk.run(desk.sheet(f"{name}.csv", text))

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 3, "delivered": 2, "rejected": 1}
    assert "duration_seconds" in desk.rows(name)["bad"]["reason"]
    listed = desk.call("rows", name, "--state", "rejected", "--state", "held", "--json").lines
    assert [(line["row"], line["quoted"]) for line in listed] == [("bad", None)]
    unknown = desk.call("rows", name, "--state", "rejcted", "--json")
    assert unknown.status == 2
    assert "did you mean rejected" in unknown.err


def test_an_edited_row_leaves_rejected(desk: Desk, name: str) -> None:
    text = simple_sheet(1) + "bad,product-launch,Kettle,Bad,5000,9:16\n"
    desk.run(desk.sheet(f"{name}.csv", text))
    desk.sheet(f"{name}.csv", text.replace("5000", "5"))

    assert desk.run(f"{name}.csv").json["rows"] == {"total": 2, "delivered": 2}


@pytest.mark.merge
def test_without_credits_the_rest_is_held_and_what_is_under_way_is_delivered(
    tmp_path: Path, name: str
) -> None:
    # Each video costs 15: two fit.
    with sandbox(tmp_path / "poor", "--credits", "40") as poor:
        desk = Desk(tmp_path, {**poor.environ, "CALLSHEET_AT_ONCE": "1"})

        ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(5)))

        assert ended.status == 3
        assert ended.json["rows"] == {"total": 5, "delivered": 2, "held": 3}
        assert "402" in desk.rows(name)["r005"]["reason"]
        assert ended.json["credits"]["charged"] == 30
        # Only the first refusal was asked for; the others were held without asking.
        assert poor.calls()["create"] == 3


def test_a_row_above_its_own_limit_is_held(desk: Desk, name: str) -> None:
    text = simple_sheet(2, columns=",max_credits", cells=",15").replace("9:16,15", "9:16,14", 1)

    ended = desk.run(desk.sheet(f"{name}.csv", text))

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 2, "delivered": 1, "held": 1}
    assert "max_credits" in desk.rows(name)["r001"]["reason"]


@pytest.mark.merge
def test_every_plan_leaves_a_row_above_its_limit_out_of_the_total(desk: Desk, name: str) -> None:
    text = simple_sheet(3, columns=",max_credits", cells=",15").replace("9:16,15", "9:16,14", 1)
    sheet = f"{name}.csv"
    (desk.folder / sheet).write_text(text)
    why = (
        "it costs 15 credits, and max_credits is 14: "
        "set max_credits in line 2 of the sheet to 15 or more, or ask for less"
    )

    def planned() -> None:
        plan = desk.call("plan", sheet, "--json").json
        row = plan["rows"][0]
        assert (row["action"], row["state"], row["why"]) == ("person", "held", why)

    plan = desk.call("plan", sheet)
    assert "2 videos for 30 credits; 1 row is on hold, 0 credits" in plan.out
    assert "callsheet explain" not in plan.out
    planned()
    ended = desk.call("run", sheet, "--yes", "--json", "--without-prefect", "--budget", "30")
    assert ended.json["rows"] == {"total": 3, "delivered": 2, "held": 1}
    planned()
    # A run of another row leaves it on hold, and another limit does not.
    events = len(desk.call("explain", name, "r001", "--json").json["history"])
    (desk.folder / sheet).write_text(text.replace("Video 2", "Another"))
    words = ("run", sheet, "--yes", "--json", "--without-prefect", "--budget", "60")
    assert desk.call(*words, "--select", "r002").status == 0
    assert len(desk.call("explain", name, "r001", "--json").json["history"]) == events
    text = text.replace("9:16,14", "9:16,15")
    (desk.folder / sheet).write_text(text.replace("Video 2", "Another"))
    assert desk.call(*words).json["rows"] == {"total": 3, "delivered": 3}


def test_a_row_switched_off_costs_nothing_and_nags_nobody(desk: Desk, name: str) -> None:
    text = simple_sheet(2, columns=",enabled", cells=",yes").replace("9:16,yes", "9:16,no", 1)

    ended = desk.run(desk.sheet(f"{name}.csv", text))

    assert ended.status == 0
    assert ended.json["rows"] == {"total": 2, "planned": 1, "delivered": 1}


@pytest.mark.slow
def test_a_rate_limit_is_waited_out(tmp_path: Path, name: str) -> None:
    options = ("--rate", "2", "--rate-window", "2", "--credits", "1000")
    with sandbox(tmp_path / "slow", *options) as slow:
        desk = Desk(tmp_path, slow.environ)

        ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(5)))

        assert ended.status == 0, ended.err
        assert ended.json["rows"] == {"total": 5, "delivered": 5}


@pytest.mark.merge
def test_a_long_rate_limit_parks_the_run(tmp_path: Path, name: str) -> None:
    options = ("--rate", "2", "--rate-window", "3600", "--credits", "1000")
    with sandbox(tmp_path / "closed", *options) as closed:
        desk = Desk(tmp_path, closed.environ)

        ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(5)))
        calls = dict(closed.calls())
        again = desk.run(f"{name}.csv")

        assert ended.status == 5
        assert "not before" in ended.err
        # The gate is remembered: nothing is asked before the moment has come.
        assert again.status == 5
        assert closed.calls() == calls


@pytest.mark.merge
def test_a_video_that_takes_too_long_is_stalled_and_never_paid_again(
    tmp_path: Path, name: str
) -> None:
    with sandbox(tmp_path / "slow", "--render", "real", "--credits", "1000") as slow:
        desk = Desk(tmp_path, {**slow.environ, "CALLSHEET_DEADLINE": "1s"})

        ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)), "--max-wait", "60s")
        again = desk.run(f"{name}.csv", "--max-wait", "60s")

        assert ended.status == again.status == 3
        assert desk.rows(name)["r001"]["state"] == "stalled"
        assert slow.calls()["create"] == 1
