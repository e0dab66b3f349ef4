"""With `CALLSHEET_LOG=json` every line that a command writes to stderr is one JSON object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.programs import Desk, simple_sheet

BAD = "bad,product-launch,Kettle,Bad,5000,9:16\n"


@pytest.fixture
def json_here(desk: Desk) -> Desk:
    desk.environ["CALLSHEET_LOG"] = "json"
    return desk


def lines(said: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in said.splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in found)
    return found


def test_a_run_says_its_plan_the_rows_that_need_somebody_and_its_end(
    json_here: Desk, name: str
) -> None:
    (json_here.folder / f"{name}.csv").write_text(simple_sheet(2) + BAD)
    done = json_here.call("run", f"{name}.csv", "--yes", "--json", "--without-prefect")

    assert json.loads(done.out)["exit"] == done.status == 3
    found = lines(done.err)
    ours = [line for line in found if line["logger"] in ("callsheet.run", "callsheet.engine")]
    assert any(line["message"].startswith(f"plan for {name}: ") for line in ours)
    assert any(line["message"].startswith("2 delivered, 1 rejected") for line in ours), ours
    assert {line["campaign"] for line in ours} == {name}
    # What people would have read is there as well.
    assert any(line["logger"] == "callsheet.said" for line in found)


def test_a_row_that_moves_is_named(json_here: Desk, name: str) -> None:
    json_here.environ["CALLSHEET_LOG_LEVEL"] = "debug"
    (json_here.folder / f"{name}.csv").write_text(simple_sheet(1))
    done = json_here.call("run", f"{name}.csv", "--yes", "--without-prefect")

    moved = [line for line in lines(done.err) if line.get("row") == "r001"]
    assert {"campaign": name, "row": "r001", "take": 1}.items() <= moved[-1].items()
    assert "-> delivered" in " ".join(line["message"] for line in moved)


@pytest.mark.parametrize(
    "words", [["run", "none.csv"], ["rnu"], ["status", "--profile", "none"]], ids=" ".join
)
def test_what_is_refused_is_told_so(json_here: Desk, words: list[str]) -> None:
    done = json_here.call(*words)

    assert done.status == 2
    assert "error" in [line["level"] for line in lines(done.err)]


def test_a_program_that_reads_is_not_asked(json_here: Desk, name: str) -> None:
    (json_here.folder / f"{name}.csv").write_text(simple_sheet(1))
    done = json_here.call("run", f"{name}.csv", "--without-prefect")

    assert done.status == 4
    assert any("there is no terminal to ask at" in line["message"] for line in lines(done.err))


@pytest.mark.merge
def test_a_night_is_named(json_here: Desk, name: str) -> None:
    (json_here.folder / "in").mkdir()
    (json_here.folder / "in" / f"{name}.csv").write_text("no sheet")
    done = json_here.call("nightly", "in", "--approve-up-to", "1", "--json", here=True)

    found = lines(done.err)
    night = json.loads(done.out)["night"]
    assert {line["night"] for line in found if "night" in line} == {night}
