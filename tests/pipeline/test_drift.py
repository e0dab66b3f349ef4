"""`plan --refresh` and `--repair`: what changed outside since delivery, and what is free to fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.databases import PostgresServer
from tests.programs import Desk, Sandbox, simple_sheet


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, studio: Sandbox) -> Desk:
    desk = Desk(tmp_path, dict(studio.environ))
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        desk.environ["CALLSHEET_LEDGER"] = server.new_database()
    return desk


def drift(desk: Desk, sheet: str, *words: str) -> dict[tuple[str | None, str], dict[str, Any]]:
    ended = desk.call("plan", sheet, "--refresh", "--json", *words)
    assert ended.status == 0, ended.err
    return {(one["row"], one["where"]): one for one in ended.json["drift"]}


@pytest.mark.merge
def test_what_changed_outside_is_listed_and_what_is_free_is_repaired(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(6, title=f"Title {name}"))
    assert desk.run(sheet).status == 0
    assert drift(desk, sheet, "--detailed-exitcode") == {}
    rows = desk.rows(name)
    files = {
        f"{row}.{file['kind']}": Path(file["uri"])
        for row, line in rows.items()
        for file in line["deliveries"]
    }
    before = {file: path.read_bytes() for file, path in files.items()}
    video = {row: line["video_id"] for row, line in rows.items()}
    assert desk.call("video", "edit", video["r001"], "--title", "New").status == 0
    studio.delete(video["r002"])
    files["r003.srt"].unlink()
    files["r004.mp4"].write_bytes(before["r004.mp4"] + b"x")
    studio.delete(video["r005"])
    files["r005.mp4"].unlink()
    status = files["r001.mp4"].parents[1] / "status.csv"
    status.unlink()
    bought = len(studio.bought())

    found = drift(desk, sheet)

    assert found.keys() == {
        ("r001", "service"), ("r002", "service"), ("r003", "store"), ("r004", "store"),
        ("r005", "store"), (None, "store"),
    }  # fmt: skip
    assert 'its title at the service is "New" now' in found["r001", "service"]["what"]
    assert found["r002", "service"]["remedy"] is None
    lost = found["r005", "store"]
    assert (lost["cost"], "retake" in lost["remedy"]) == (15, True)
    assert {one["cost"] for one in found.values()} == {0, 15}
    assert drift(desk, sheet, "--select", "r003").keys() == {("r003", "store"), (None, "store")}
    assert not status.exists(), "a plan without --repair changes nothing"

    fixed = drift(desk, sheet, "--repair")

    done = {key for key, one in fixed.items() if one["repaired"]}
    assert done == {("r003", "store"), ("r004", "store"), (None, "store")}
    there = {file: path.read_bytes() for file, path in files.items() if path.exists()}
    assert there == {file: data for file, data in before.items() if file != "r005.mp4"}
    assert status.exists()
    again = drift(desk, sheet)
    assert again.keys() == {("r001", "service"), ("r002", "service"), ("r005", "store")}
    assert len(studio.bought()) == bought

    # A run repairs as well, and pays for nothing: the retake is approved by itself.
    files["r006.vtt"].unlink()
    ended = desk.run(sheet, "--repair")
    assert (ended.status, ended.json["credits"]["charged_this_run"]) == (0, 0), ended.err
    assert files["r006.vtt"].read_bytes() == before["r006.vtt"]
    assert "r005, store" in ended.err
    retake = desk.call("retake", name, "r005", "--run", "--yes", "--json")
    assert retake.status == 0, retake.err
    assert len(studio.bought()) == bought + 1
    made = desk.rows(name)["r005"]
    assert (made["state"], made["take"]) == ("delivered", 2)
    assert [one for one in drift(desk, sheet).values() if "take2" in one["what"]] == []


def test_nothing_is_looked_for_before_a_sheet_was_run(desk: Desk, name: str) -> None:
    if "CALLSHEET_LEDGER" in desk.environ:
        assert desk.call("ledger", "upgrade", "--make").status == 0
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))

    ended = desk.call("plan", sheet, "--refresh", "--json")

    assert ended.status == 0, ended.err
    assert "drift" not in ended.json
