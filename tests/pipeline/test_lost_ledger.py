"""The ledger is gone: what the store's manifest knows is not paid for again."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import PostgresServer
from tests.programs import Desk, Sandbox, simple_sheet

IMAGE = "id,operation,image,max_credits\na,image-to-video,https://img.example/{}.png,50\n"


@pytest.fixture
def desk(tmp_path: Path, studio: Sandbox) -> Iterator[Desk]:
    yield Desk(tmp_path, dict(studio.environ))
    studio.clear_faults()


def lose_the_ledger(desk: Desk) -> None:
    for file in (desk.folder / ".callsheet").glob("ledger.db*"):
        file.unlink()


@pytest.mark.merge
def test_what_was_delivered_is_found_in_the_store_and_nobody_is_asked(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.run(sheet, "--budget", "500")
    desk.call("review", name, "r001", "keep", "--by", "Ann")
    desk.call("review", name, "r002", "reject", "--because", "voice", "--note", "too deep")
    # Whatever a run finds to be new comes into the manifest.
    first = desk.run(sheet, "--budget", "500")
    before, creates = desk.rows(name), studio.calls()["create"]
    lose_the_ledger(desk)

    again = desk.run(sheet, "--budget", "500")

    assert (first.status, again.status) == (0, 0), again.err
    assert studio.calls()["create"] == creates
    assert again.json["credits"]["charged"] == first.json["credits"]["charged"]
    assert desk.rows(name) == before
    assert [row["review"] for row in before.values()] == ["keep", "reject", None]
    assert all(row["checks"] for row in before.values())


@pytest.mark.merge
def test_a_row_that_was_on_hold_in_the_ledger_is_found_in_the_store(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    words = ("--at-limit", "fit", "--budget")
    assert desk.run(sheet, *words, "10").json["rows"] == {"total": 1, "held": 1}
    kept = desk.folder / "kept.db"
    assert desk.call("ledger", "backup", str(kept)).status == 0
    assert desk.run(sheet, *words, "100").status == 0
    creates = studio.calls()["create"]
    assert desk.call("ledger", "restore", str(kept), "--instead").status == 0
    assert desk.rows(name)["r001"]["state"] == "held"

    again = desk.run(sheet, *words, "100")

    assert (again.status, again.json["rows"]) == (0, {"total": 1, "delivered": 1}), again.err
    assert (studio.calls()["create"], again.json["credits"]["charged"]) == (creates, 15)


def test_a_clip_that_was_delivered_is_not_made_twice(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", IMAGE.format(name))
    desk.run(sheet)
    calls = studio.calls()["image-to-video"]
    lose_the_ledger(desk)

    assert desk.run(sheet).json["rows"] == {"total": 1, "delivered": 1}
    assert studio.calls()["image-to-video"] == calls


@pytest.mark.merge
def test_a_video_that_is_missing_in_the_store_is_fetched_again_free(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(sheet)
    creates = studio.calls()["create"]
    lose_the_ledger(desk)
    row = desk.folder / "deliveries" / name / "r001" / "r001-take1.mp4"
    row.unlink()

    assert desk.run(sheet).json["rows"] == {"total": 2, "delivered": 2}
    assert row.exists()
    assert studio.calls()["create"] == creates


@pytest.mark.merge
def test_requests_older_than_the_horizon_are_not_sent_again_unasked(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    # Killed while the first create is under way: the manifest says what was about to be sent.
    studio.plan_fault(on="create", do="slow", seconds=5)
    calls = studio.calls().get("create", 0)
    process = desk.start("run", sheet, "--yes", "--without-prefect")
    while studio.calls().get("create", 0) == calls:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    studio.clear_faults()
    lose_the_ledger(desk)
    # Nor does the service's list of videos tell what was made.
    studio.plan_fault(on="list", do="forbidden")
    desk.environ["CALLSHEET_HORIZON"] = "1s"
    time.sleep(1.1)

    stopped = desk.run(sheet)
    planned = desk.rows(name)
    went_on = desk.run(sheet, "--pay-again")

    assert stopped.status == 4
    assert "may pay a second time" in stopped.err
    assert "--pay-again" in stopped.err
    assert {row["video_id"] for row in planned.values()} == {None}
    assert went_on.json["rows"] == {"total": 2, "delivered": 2}
    keys = [row["key"] for row in desk.rows(name).values()]
    assert studio.charged(keys) == dict.fromkeys(keys, 1)


@pytest.mark.parametrize("spoilt", ["", "[]", '{"campaign": "other", "rows": [{"row": "r001"}]}'])
def test_a_manifest_that_says_nothing_is_passed_over(desk: Desk, name: str, spoilt: str) -> None:
    folder = desk.folder / "deliveries" / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(spoilt)

    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))

    assert ended.json["rows"] == {"total": 1, "delivered": 1}
    assert json.loads((folder / "manifest.json").read_text())["campaign"] == name


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_rows_cost_that_left_or_changed_counts(
    desk: Desk, studio: Sandbox, name: str, kind: str, request: pytest.FixtureRequest
) -> None:
    def begin_a_ledger() -> None:
        if kind == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres")
            desk.environ["CALLSHEET_LEDGER"] = server.new_database()
            assert desk.call("ledger", "upgrade", "--make").status == 0
        lose_the_ledger(desk)

    def cost() -> list[float]:
        status = desk.call("status", name, "--json").json["credits"]["charged"]
        rows = sum(row["charged"] or 0 for row in desk.rows(name).values())
        return [status, rows, desk.call("costs", "--json").json["total"]["charged"]]

    begin_a_ledger()
    studio.empty_list()
    head, *lines = simple_sheet(4, title=name).splitlines()
    sheet = desk.sheet(f"{name}.csv", "\n".join([head, *lines[:3]]))
    assert desk.run(sheet, "--budget", "45").status == 0
    assert desk.run(desk.sheet(sheet, "\n".join([head, *lines[:2]]))).status == 0
    edited = lines[1].replace("Kettle", "Pot")
    studio.plan_fault(on="list", do="forbidden")
    for _ in range(2):
        # The second time what is known is only in the manifest that the new ledger wrote.
        begin_a_ledger()
        desk.sheet(sheet, "\n".join([head, lines[0], edited, lines[3]]))

        refused = desk.run(sheet, "--budget", "74")
        assert (refused.status, "1 too many" in refused.err) == (4, True), refused.err
        assert "another ledger paid 30 credits for rows" in refused.err
        assert desk.run(sheet, "--budget", "45", "--select", "r001").status == 0
        assert cost() == [45, 45, 45]
        assert desk.call("ledger", "check").status == 0

    assert desk.run(sheet, "--budget", "75").json["credits"]["charged_this_run"] == 30
    desk.sheet(sheet, "\n".join([head, lines[0], edited, *lines[2:]]))
    back = desk.run(sheet, "--budget", "75")
    assert back.status == 0, back.err

    assert back.json["rows"] == {"total": 4, "delivered": 4}, back.err
    assert cost() == [75, 75, 75]
    assert desk.call("ledger", "check").status == 0
