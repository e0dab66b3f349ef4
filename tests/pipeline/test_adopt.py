"""`callsheet adopt`: videos that were made elsewhere are taken over, and never paid for again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.conftest import begin_on_postgres
from tests.programs import Desk, Finished, Sandbox, sandbox, simple_sheet

pytestmark = pytest.mark.merge

HEAD = "id,tool,fields.product,title,duration_seconds,aspect_ratio,video_id\n"
WAS = "id,was,tool,fields.product,title,duration_seconds,aspect_ratio\n"


def made(studio: Sandbox, title: str) -> str:
    """Make a video as the service's app does; return its id."""
    body = {"tool": "product-launch", "fields": {"product": "Kettle"}, "aspect_ratio": "9:16"}
    body |= {"title": title, "duration_seconds": 5, "start_generation": True}
    return str(studio.post("videos", body)["id"])


def sheet_of(desk: Desk, name: str, *rows: tuple[str, str, str]) -> str:
    lines = (f"{row},product-launch,Kettle,{title},5,9:16,{video}" for row, title, video in rows)
    return desk.sheet(f"{name}.csv", HEAD + "\n".join(lines) + "\n")


def adopt(desk: Desk, sheet: str) -> tuple[Finished, dict[str, tuple[str, str]]]:
    """Take videos over; return how that ended, and of each row the video and how it was found."""
    ended = desk.call("adopt", sheet, "--yes", "--json")
    adopted = ended.json["adopted"] if ended.status != 2 else []
    return ended, {one["row"]: (one["video_id"], one["by"]) for one in adopted}


def videos(desk: Desk, name: str) -> dict[str, str]:
    return {row: one["video_id"] for row, one in desk.rows(name).items()}


@pytest.mark.safeguard(
    "tasks/campaign/adoption.py",
    "lines = tuple(line for line in plan.lines if not _is_made(line))",
    "lines = plan.lines",
)
def test_what_is_certain_is_taken_over_and_the_rest_is_listed(
    shared: Desk, studio: Sandbox, name: str
) -> None:
    desk = shared
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
    ended, adopted = adopt(desk, sheet)
    assert ended.status == 3, ended.err
    assert adopted == {"r1": (by_id, "id"), "r2": (by_title, "title")}
    why = {one["row"]: one["why"] for one in ended.json["needs_attention"]}
    assert all(one in why["r3"] for one in several)
    assert twin in why["r4"] == why["r5"]
    assert "the service has no video vid_nope" in why["r7"]
    assert "1 row without a video to take over (r6)" in ended.json["notes"][0]
    rows = desk.rows(name)
    for row in ("r1", "r2"):
        assert (rows[row]["state"], len(rows[row]["deliveries"])) == ("delivered", 3)
        assert rows[row]["charged"] == 0
    assert {rows[one]["state"] for one in ("r3", "r4", "r5", "r6")} == {"planned"}
    assert len(studio.bought()) == bought
    assert desk.call("reconcile", name, "--json").json["differences"] == []
    events = desk.call("export", name, "--what", "events").out
    again, adopted = adopt(desk, sheet)
    assert (again.status, adopted) == (3, {})
    assert desk.call("export", name, "--what", "events").out == events
    rest = desk.run(sheet)
    assert rest.json["rows"] == {"total": 7, "delivered": 6, "held": 1}
    assert rest.json["credits"]["charged"] == 4 * 15


@pytest.mark.safeguard(
    "tasks/campaign/adoption.py",
    "plan.adopt and makes",
    "plan.adopt and bool(_searched(plan))",
)
def test_taking_over_pays_for_nothing_where_all_rows_have_a_video(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=f"Own {name}"))
    assert desk.run(sheet).status == 0
    desk.sheet(sheet, simple_sheet(2, title=f"Own {name}").replace("Kettle 1", "Teapot"))
    bought = len(studio.bought())

    for yes in ((), ("--yes",)):
        ended = desk.call("adopt", sheet, "--json", *yes)
        assert (ended.status, ended.json["adopted"]) == (0, []), ended.err
        assert "1 row without a video to take over (r001)" in ended.json["notes"][0]

    assert len(studio.bought()) == bought
    assert desk.call("plan", sheet, "--json").json["credits"]["total"] == 15


@pytest.mark.parametrize("waits", ["waves: [25%]", "defaults: {deliver_after: 2090-01-01}"])
def test_rows_that_wait_take_their_videos_over(
    desk: Desk, studio: Sandbox, name: str, waits: str
) -> None:
    before = {f"r{n}": made(studio, f"Wait {n} {name}") for n in range(1, 5)}
    rows = "".join(
        f"- {{id: {row}, tool: product-launch, fields: {{product: Kettle}}, duration_seconds: 5,"
        f" title: Wait {row[1:]} {name}, aspect_ratio: '9:16'}}\n"
        for row in before
    )
    sheet = desk.sheet(f"{name}.yaml", f"{waits}\nrows:\n{rows}")

    ended, adopted = adopt(desk, sheet)

    assert adopted == {row: (video, "title") for row, video in before.items()}, ended.err
    assert set(desk.states(name).values()) == {"delivered"}


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
    # The cell is corrected: then the row is made.
    other = made(studio, "Late")
    corrected = sheet_of(desk, name, rows[0], ("b", "Wrong", other), rows[2])
    assert desk.run(corrected).json["rows"] == {"total": 3, "delivered": 3}
    assert desk.rows(name)["b"]["video_id"] == other
    assert desk.run(corrected).json["credits"]["charged_this_run"] == 0


@pytest.mark.always
def test_a_video_that_another_row_has_is_left_to_it(desk: Desk, studio: Sandbox, name: str) -> None:
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(1, title=f"Mine {name}")))
    video = desk.rows(name)["r001"]["video_id"]
    rows = [("a", f"Mine {name} 1", ""), ("b", "Named", video)]
    ended, adopted = adopt(desk, sheet_of(desk, f"{name}-second", *rows))
    assert (ended.status, adopted) == (3, {})
    (left,) = ended.json["needs_attention"]
    assert left["why"] == f"{video} is the video of row r001 of {name}"


def test_a_video_that_is_found_by_its_key_keeps_its_cost(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(sheet)
    before = videos(desk, name)
    desk.lose_ledger(name)
    ended, adopted = adopt(desk, sheet)
    assert adopted == {row: (video, "key") for row, video in before.items()}, ended.err
    assert (ended.status, ended.json["credits"]["charged"]) == (0, 30)
    assert videos(desk, name) == before


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


@pytest.mark.always
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
    assert (ended.status, said in ended.err, "video_id" in ended.err) == (2, True, True)


def test_a_row_that_may_be_paid_for_takes_over_its_video(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    head, row = "id,operation,image,max_credits", f"a,image-to-video,https://img.example/{name},50"
    sheet = desk.sheet(f"{name}.csv", f"{head}\n{row}\n")
    desk.run(sheet)
    before = videos(desk, name)
    desk.lose_ledger(name)
    bought = len(studio.bought())
    refused = desk.run(sheet)
    assert (refused.status, "column video_id" in refused.err) == (4, True), refused.err
    assert adopt(desk, sheet)[1] == {}
    desk.sheet(sheet, f"{head},video_id\n{row},{before['a']}\n")
    ended = desk.run(sheet)
    assert ended.json["rows"] == {"total": 1, "delivered": 1}, ended.err
    assert (videos(desk, name), len(studio.bought())) == (before, bought)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_renamed_row_takes_over_the_video_of_its_first_id(
    desk: Desk, studio: Sandbox, name: str, kind: str, request: pytest.FixtureRequest
) -> None:
    """By key with its cost, by title at none, once each, whatever it is called later."""
    titles = [f"Key {name}", f"Made {name}"]

    def sheet_of_ids(*ids: str) -> str:
        rows = (
            f"{id.replace('<', ',')},product-launch,Kettle,{title},5,9:16\n"
            for id, title in zip(ids, titles, strict=True)
        )
        return desk.sheet(f"{name}.csv", WAS + "".join(rows))

    if kind == "postgres":
        begin_on_postgres(desk, request)
    assert desk.run(sheet_of_ids("a<", "b<"), "--select", "a").status == 0
    by_key, by_title = desk.rows(name)["a"]["video_id"], made(studio, titles[1])
    bought = len(studio.bought())
    # The rows have new ids when the ledger is lost, and it is not known which they had.
    desk.lose_ledger(name)
    if kind == "postgres":
        begin_on_postgres(desk, request)
    ended, adopted = adopt(desk, sheet_of_ids("a2<a", "b2<b"))
    assert adopted == {"a2": (by_key, "key"), "b2": (by_title, "title")}, ended.err
    assert {row: one["charged"] for row, one in desk.rows(name).items()} == {"a2": 15, "b2": 0}
    # Renamed once more, each keeps its video.
    sheet = sheet_of_ids("a3<a2", "b3<b2")
    kept = desk.run(sheet)
    assert (kept.status, kept.json["rows"]) == (0, {"total": 2, "delivered": 2}), kept.err
    assert adopt(desk, sheet)[1] == {}
    assert videos(desk, name) == {"a3": by_key, "b3": by_title}
    assert len(studio.bought()) == bought


def test_a_row_that_was_renamed_before_it_was_made_is_found_by_its_first_id(
    shared: Desk, studio: Sandbox, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Another ledger paid for it meanwhile, under the key of the id that it had first."""
    row = f"product-launch,Kettle,{name},5,9:16\n"
    for ids in ("a,", "b,a", "c,b"):
        sheet = shared.sheet(f"{name}.csv", f"{WAS}{ids},{row}")
        assert shared.call("run", sheet, "--without-prefect").status == 4
    other = Desk(tmp_path_factory.mktemp("other"), dict(studio.environ))
    assert other.run(other.sheet(f"{name}.csv", f"{WAS}a,,{row}")).status == 0
    video = other.rows(name)["a"]["video_id"]
    ended, adopted = adopt(shared, sheet)
    assert adopted == {"c": (video, "key")}, ended.err
    assert shared.rows(name)["c"]["charged"] == 15
