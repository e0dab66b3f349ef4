"""Every way a run can be refused: one sentence, the right exit status, and nothing spent."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox, simple_sheet
from tests.stores import moto_s3


def test_without_approval_nothing_is_spent(desk: Desk, service: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    before = service.calls().get("create", 0)

    ended = desk.call("run", sheet, "--without-prefect", "--json")

    assert ended.status == 4
    assert ended.json["exit"] == 4
    assert "--yes" in ended.err
    assert desk.rows(name)["r001"]["state"] == "quoted"
    assert service.calls().get("create", 0) == before


def test_a_plan_above_the_budget_is_refused_whole(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))

    refused = desk.run(sheet, "--budget", "44")
    afterwards = desk.run(sheet, "--budget", "45")

    assert refused.status == 4
    assert "45 credits" in refused.err
    assert "nothing was spent" in refused.err
    assert afterwards.status == 0
    credits = {"quoted": 45, "charged": 45, "budget": 45, "left": 0, "charged_this_run": 45}
    assert afterwards.json["credits"] == {**credits, "reserved": 0, "paid_before": 0, "variance": 0}


def test_a_budget_counts_over_every_run(desk: Desk, name: str) -> None:
    desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(f"{name}.csv", "--budget", "40")
    desk.sheet(f"{name}.csv", simple_sheet(3))

    ended = desk.run(f"{name}.csv")

    assert ended.status == 4
    assert desk.rows(name)["r003"]["state"] == "quoted"


def test_a_bad_sheet_contacts_nobody(desk: Desk, service: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", "id,tool,aspect_ratio\na,product-launch,4:5\n")
    before = dict(service.calls())

    ended = desk.run(sheet)

    assert ended.status == 2
    words = f'{name}.csv:2 row "a", column aspect_ratio: "4:5" is not one of 9:16, 1:1, 16:9'
    assert words in ended.err
    assert ended.json["problems"] == [words]
    assert ended.json["places"] == [
        {"line": 2, "row": "a", "column": "aspect_ratio", "value": "4:5"}
    ]
    assert service.calls() == before


def test_a_sheet_without_rows_is_an_error(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", "id,tool\n")).status == 2


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

    assert ended.status == 2, ended.err
    assert words in ended.err
    assert "nothing was spent" in ended.err
    assert "hunter2" not in ended.err


@pytest.mark.merge
def test_a_missing_bucket_is_found_before_anything_is_spent(
    desk: Desk, service: Sandbox, name: str
) -> None:
    before = service.calls().get("create", 0)
    with moto_s3() as server:
        desk.environ |= {**server.environment(), "CALLSHEET_STORE": "s3://not-there/videos"}

        ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))

    assert ended.status == 2
    assert "not-there" in ended.err
    assert service.calls().get("create", 0) == before


@pytest.mark.slow
def test_a_locked_ledger_is_told_in_a_sentence(desk: Desk, tmp_path: Path, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    desk.run(sheet)
    other = sqlite3.connect(tmp_path / ".callsheet" / "ledger.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    # What is finished and unchanged needs no lock.
    assert desk.run(sheet).status == 0
    desk.sheet(sheet, simple_sheet(2))

    ended = desk.run(sheet)

    assert ended.status == 2
    assert "locked by another program" in ended.err


def test_a_newer_ledger_is_refused(desk: Desk, tmp_path: Path, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    desk.run(sheet)
    with sqlite3.connect(tmp_path / ".callsheet" / "ledger.db") as ledger:
        ledger.execute("UPDATE callsheet_version SET version_num = '9999'")

    ended = desk.run(sheet)

    assert ended.status == 2
    assert "newer" in ended.err


def test_an_unknown_selection_is_refused(desk: Desk, name: str) -> None:
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)), "--select", "colour:red")

    assert ended.status == 2
    assert "colour" in ended.err


def test_no_ledger_yet_is_told(tmp_path: Path) -> None:
    ended = Desk(tmp_path).call("status")

    assert ended.status == 2
    assert "callsheet run SHEET" in ended.err
    assert not (tmp_path / ".callsheet").exists()
