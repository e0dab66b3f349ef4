"""`callsheet adopt`: videos that were made elsewhere are taken over, and never paid for again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.databases import PostgresServer
from tests.programs import Desk, Sandbox, sandbox, simple_sheet

HEAD = "id,tool,fields.product,title,duration_seconds,aspect_ratio,video_id\n"


@pytest.fixture
def desk(tmp_path: Path, studio: Sandbox) -> Desk:
    return Desk(tmp_path, dict(studio.environ))


@pytest.fixture(params=["sqlite", "postgres"])
def begin(request: pytest.FixtureRequest, desk: Desk) -> Callable[[], None]:
    """Begin an empty ledger of this kind."""

    def begin() -> None:
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres")
            desk.environ["CALLSHEET_LEDGER"] = server.new_database()
            assert desk.call("ledger", "upgrade", "--make").status == 0

    return begin


@pytest.fixture
def either(desk: Desk, begin: Callable[[], None]) -> Desk:
    begin()
    return desk


def made(studio: Sandbox, title: str, seconds: int = 5) -> str:
    """Make a video as the service's app does; return its id."""
    body = {"tool": "product-launch", "fields": {"product": "Kettle"}, "aspect_ratio": "9:16"}
    body |= {"title": title, "duration_seconds": seconds, "start_generation": True}
    return str(studio.post("videos", body)["id"])


def sheet_of(desk: Desk, name: str, *rows: tuple[str, str, str]) -> str:
    lines = (f"{row},product-launch,Kettle,{title},5,9:16,{video}" for row, title, video in rows)
    return desk.sheet(f"{name}.csv", HEAD + "\n".join(lines) + "\n")


def adopted(ended: Any) -> dict[str, tuple[str, str]]:
    return {one["row"]: (one["video_id"], one["by"]) for one in ended.json["adopted"]}


@pytest.mark.merge
def test_what_is_certain_is_taken_over_and_the_rest_is_listed(
    either: Desk, studio: Sandbox, name: str
) -> None:
    desk = either
    by_id, by_title = made(studio, "App"), made(studio, f"Spring {name}")
    several = [made(studio, f"Three {name}") for _ in range(2)]
    twin = made(studio, f"Twin {name}")
    sheet = sheet_of(
        desk, name, ("r1", "Other words", by_id), ("r2", f"spring {name}", ""),
        ("r3", f"Three {name}", ""), ("r4", f"Twin {name}", ""), ("r5", f"Twin {name}", ""),
        ("r6", f"Not there {name}", ""), ("r7", "Wrong", "vid_nope"),
    )  # fmt: skip
    bought = len(studio.bought())

    asked = desk.call("adopt", sheet, "--json")
    assert (asked.status, "to take over are not approved" in asked.err) == (4, True), asked.err
    assert desk.call("rows", name).status == 2
    ended = desk.call("adopt", sheet, "--yes", "--json")

    assert ended.status == 3, ended.err
    assert adopted(ended) == {"r1": (by_id, "id"), "r2": (by_title, "title")}
    why = {one["row"]: one["why"] for one in ended.json["needs_attention"]}
    assert all(one in why["r3"] for one in several)
    assert twin in why["r4"] == why["r5"]
    assert "the service has no video vid_nope" in why["r7"]
    assert "1 row without a video to take over (r6)" in ended.json["notes"][0]
    rows = desk.rows(name)
    assert [rows[one]["state"] for one in ("r1", "r2")] == ["delivered", "delivered"]
    assert [len(rows[one]["deliveries"]) for one in ("r1", "r2")] == [3, 3]
    assert [rows[one]["charged"] for one in ("r1", "r2")] == [0, 0]
    assert {rows[one]["state"] for one in ("r3", "r4", "r5", "r6")} == {"planned"}
    assert len(studio.bought()) == bought
    assert desk.call("reconcile", name, "--json").json["differences"] == []

    events = desk.call("export", name, "--what", "events").out
    again = desk.call("adopt", sheet, "--yes", "--json")
    assert (again.status, adopted(again)) == (3, {})
    assert desk.call("export", name, "--what", "events").out == events

    rest = desk.run(sheet)
    assert rest.json["rows"] == {"total": 7, "delivered": 6, "held": 1}
    assert rest.json["credits"]["charged"] == 4 * 15


@pytest.mark.merge
def test_a_run_takes_over_the_videos_that_its_sheet_names(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    video = made(studio, "App")
    rows = [("a", "Anything", video), ("b", "Wrong", "vid_nope"), ("c", "Made", "")]
    sheet = sheet_of(desk, name, *rows)

    planned = desk.call("plan", sheet, "-o", "plan.json", "--json").json
    assert [one["action"] for one in planned["rows"]] == ["adopt", "person", "make"]
    assert planned["rows"][0]["adopts"]["video_id"] == video
    assert planned["credits"]["total"] == 15
    first = desk.call("run", sheet, "--plan", "plan.json", "--json", "--without-prefect")
    assert first.json["rows"] == {"total": 3, "delivered": 2, "held": 1}, first.err
    assert (first.status, first.json["credits"]["charged"]) == (3, 15)
    assert "vid_nope" in desk.rows(name)["b"]["reason"]
    explained = desk.call("explain", name, "b", "--json").json
    assert explained["next_run"]["action"] == "adopt", "no run pays for it"

    # The cell is corrected, or emptied: then the row is made.
    other = made(studio, "Late")
    corrected = sheet_of(desk, name, rows[0], ("b", "Wrong", other), rows[2])
    assert desk.run(corrected).json["rows"] == {"total": 3, "delivered": 3}
    assert desk.rows(name)["b"]["video_id"] == other
    assert desk.run(corrected).json["credits"]["charged_this_run"] == 0


def test_a_video_that_another_row_has_is_left_to_it(desk: Desk, studio: Sandbox, name: str) -> None:
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(1, title=f"Mine {name}")))
    video = desk.rows(name)["r001"]["video_id"]
    rows = [("a", f"Mine {name} 1", ""), ("b", "Named", video)]
    sheet = sheet_of(desk, f"{name}-second", *rows)

    ended = desk.call("adopt", sheet, "--yes", "--json")

    assert (ended.status, adopted(ended)) == (3, {})
    (left,) = ended.json["needs_attention"]
    assert left["why"] == f"{video} is the video of row r001 of {name}"


@pytest.mark.merge
def test_a_video_that_is_found_by_its_key_keeps_its_cost(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(sheet)
    videos = {row: one["video_id"] for row, one in desk.rows(name).items()}
    for file in (desk.folder / ".callsheet").glob("ledger.db*"):
        file.unlink()
    (desk.folder / "deliveries" / name / "manifest.json").unlink()

    ended = desk.call("adopt", sheet, "--yes", "--json")

    assert ended.status == 0, ended.err
    assert adopted(ended) == {row: (video, "key") for row, video in videos.items()}
    assert ended.json["credits"]["charged"] == 30
    assert {row: one["video_id"] for row, one in desk.rows(name).items()} == videos


@pytest.mark.merge
def test_a_video_that_is_still_made_is_adopted_as_rendering(
    tmp_path: Path, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = ("--render", "real", "--time-scale", "1")
    with sandbox(tmp_path_factory.mktemp("slow"), *options) as slow:
        desk = Desk(tmp_path, dict(slow.environ))
        sheet = sheet_of(desk, name, ("a", "Anything", made(slow, "Under way")))

        ended = desk.call("adopt", sheet, "--yes", "--json", "--max-wait", "1s")

        assert (ended.status, ended.json["rows"]) == (5, {"total": 1, "rendering": 1}), ended.err
        assert desk.rows(name)["a"]["charged"] == 0


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", "x", "17")], "is not the id of a video at the service, such as vid_1a2b3c"),
        ([("a", "x", "vid_1"), ("b", "y", "vid_1")], "is the video of line 2 too"),
    ],
)
def test_a_cell_that_cannot_be_meant_is_a_line_of_its_own(
    desk: Desk, name: str, rows: list[tuple[str, str, str]], said: str
) -> None:
    ended = desk.call("adopt", sheet_of(desk, name, *rows))

    assert ended.status == 2
    assert said in ended.err
    assert "video_id" in ended.err


@pytest.mark.merge
def test_a_row_that_may_be_paid_for_takes_over_its_video(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    head, row = "id,operation,image,max_credits", f"a,image-to-video,https://img.example/{name},50"
    sheet = desk.sheet(f"{name}.csv", f"{head}\n{row}\n")
    desk.run(sheet)
    video = desk.rows(name)["a"]["video_id"]
    for file in (desk.folder / ".callsheet").glob("ledger.db*"):
        file.unlink()
    (desk.folder / "deliveries" / name / "manifest.json").unlink()
    bought = len(studio.bought())
    refused = desk.run(sheet)
    assert (refused.status, "column video_id" in refused.err) == (4, True), refused.err
    assert desk.call("adopt", sheet, "--yes", "--json").json["adopted"] == []

    desk.sheet(sheet, f"{head},video_id\n{row},{video}\n")
    ended = desk.run(sheet)

    assert ended.json["rows"] == {"total": 1, "delivered": 1}, ended.err
    assert desk.rows(name)["a"]["video_id"] == video
    assert len(studio.bought()) == bought


def lose_everything(desk: Desk, name: str, begin: Callable[[], None]) -> None:
    """Leave only what the service has: no ledger, and no manifest in the store."""
    for file in (desk.folder / ".callsheet").glob("ledger.db*"):
        file.unlink()
    (desk.folder / "deliveries" / name / "manifest.json").unlink()
    begin()


@pytest.mark.merge
def test_a_renamed_row_takes_over_the_video_of_its_first_id(
    either: Desk, studio: Sandbox, name: str, begin: Callable[[], None]
) -> None:
    """By key with its cost, by title at none, once each, whatever it is called later."""
    desk = either
    head = "id,was,tool,fields.product,title,duration_seconds,aspect_ratio\n"

    def sheet_of_ids(*ids: tuple[str, str]) -> str:
        rows = (
            f"{row},{was},product-launch,Kettle,{title},5,9:16\n"
            for (row, was), title in zip(ids, titles, strict=True)
        )
        return desk.sheet(f"{name}.csv", head + "".join(rows))

    titles = [f"Key {name}", f"Made {name}"]
    assert desk.run(sheet_of_ids(("a", ""), ("b", "")), "--select", "a").status == 0
    by_key, by_title = desk.rows(name)["a"]["video_id"], made(studio, titles[1])
    bought = len(studio.bought())

    # The rows have new ids when the ledger is lost, and it is not known which they had.
    lose_everything(desk, name, begin)
    sheet = sheet_of_ids(("a2", "a"), ("b2", "b"))
    found = desk.call("adopt", sheet, "--yes", "--json")
    assert adopted(found) == {"a2": (by_key, "key"), "b2": (by_title, "title")}, found.err
    assert {row: one["charged"] for row, one in desk.rows(name).items()} == {"a2": 15, "b2": 0}

    # Renamed once more, each keeps its video.
    sheet = sheet_of_ids(("a3", "a2"), ("b3", "b2"))
    kept = desk.run(sheet)
    assert (kept.status, kept.json["rows"]) == (0, {"total": 2, "delivered": 2}), kept.err
    assert adopted(desk.call("adopt", sheet, "--yes", "--json")) == {}
    videos = {row: one["video_id"] for row, one in desk.rows(name).items()}
    assert videos == {"a3": by_key, "b3": by_title}
    assert len(studio.bought()) == bought


@pytest.mark.merge
def test_a_row_that_was_renamed_before_it_was_made_is_found_by_its_first_id(
    either: Desk, studio: Sandbox, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Another ledger paid for it meanwhile, under the key of the id that it had first."""
    desk = either
    head = "id,was,tool,fields.product,title,duration_seconds,aspect_ratio\n"
    row = "product-launch,Kettle,{},5,9:16\n"
    names = [("a", ""), ("b", "a"), ("c", "b")]
    for row_id, was in names:
        sheet = desk.sheet(f"{name}.csv", f"{head}{row_id},{was},{row.format(name)}")
        assert desk.call("run", sheet, "--without-prefect").status == 4
    other = Desk(tmp_path_factory.mktemp("other"), dict(studio.environ))
    assert other.run(other.sheet(f"{name}.csv", f"{head}a,,{row.format(name)}")).status == 0
    video = other.rows(name)["a"]["video_id"]

    ended = desk.call("adopt", f"{name}.csv", "--yes", "--json")

    assert adopted(ended) == {"c": (video, "key")}, ended.err
    assert desk.rows(name)["c"]["charged"] == 15
