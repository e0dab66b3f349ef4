"""Videos are deleted at the service once their files were found in the store, and not before."""

from __future__ import annotations

import contextlib
import json
import urllib.error
from pathlib import Path

import pytest

from tests.programs import Desk, Finished, Sandbox, simple_sheet

pytestmark = pytest.mark.merge


def has(studio: Sandbox, video_id: str) -> bool:
    """Say whether the service still has a video."""
    with contextlib.suppress(urllib.error.HTTPError):
        return bool(studio.video(video_id))
    return False


def prune(desk: Desk, name: str, *words: str) -> Finished:
    return desk.call("prune", name, "--yes", "--json", *words)


def left(desk: Desk, name: str, rows: int = 1) -> dict[str, str]:
    """Make three videos, then leave so many rows in the sheet; return the videos by row."""
    desk.run(desk.sheet(f"{name}.csv", simple_sheet(3, title=name)))
    videos = {row: one["video_id"] for row, one in desk.rows(name).items()}
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(rows, title=name)), "--retire")
    assert ended.json["rows"] == {"total": 3, "delivered": rows, "retired": 3 - rows}
    return videos


def keeping(desk: Desk, name: str, duration: str, folder: str = ".") -> str:
    """Write a sheet of one row whose video is kept at the service for so long."""
    fields = {"fields": {"product": "Kettle"}, "duration_seconds": 5, "aspect_ratio": "9:16"}
    row = {"id": "r001", "tool": "product-launch", "title": name, **fields}
    text = json.dumps({"keep_at_service": duration, "rows": [row]})
    return desk.sheet(f"{folder}/{name}.json", text)


@pytest.mark.always
def test_rows_that_left_the_sheet_lose_their_videos_at_the_service_alone(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    videos = left(desk, name)
    before = desk.rows(name)
    unasked = desk.call("prune", name)
    assert (unasked.status, has(studio, videos["r003"])) == (4, True)
    assert "r002" in unasked.out
    assert "nothing was done" in unasked.err
    done, again = prune(desk, name), prune(desk, name)
    assert (done.status, done.json["deleted"], done.json["kept"]) == (0, 2, 0)
    assert (again.status, again.json["videos"]) == (0, [])
    assert [row for row, one in videos.items() if has(studio, one)] == ["r001"]
    assert desk.rows(name) == before
    assert desk.call("verify", name).status == desk.call("reconcile", name).status == 0
    history = desk.call("explain", name, "r003").out
    assert f"{videos['r003']} is about to be deleted at the service" in history
    assert f"{videos['r003']} is deleted at the service (its row left the sheet)" in history
    back = desk.run(desk.sheet(f"{name}.csv", simple_sheet(3, title=name)))
    assert (back.status, back.json["rows"]) == (0, {"total": 3, "delivered": 3})
    assert back.json["credits"]["charged_this_run"] == 0


@pytest.mark.safeguard(
    "tasks/aftercare/prune.py",
    "if (trouble := await _trouble(old, at, places)) is not None:",
    "if (trouble := None) is not None:",
)
@pytest.mark.always
@pytest.mark.parametrize("harm", ["missing", "changed"])
def test_a_video_whose_file_is_not_in_the_store_stays(
    harm: str, desk: Desk, studio: Sandbox, name: str
) -> None:
    video = left(desk, name, rows=2)["r003"]
    file = Path(desk.rows(name)["r003"]["deliveries"][0]["uri"])
    content = file.read_bytes()
    file.unlink() if harm == "missing" else file.write_bytes(content[:-1] + b"!")
    first = prune(desk, name)
    assert (first.status, first.json["deleted"], has(studio, video)) == (3, 0, True)
    assert "verify" in first.json["videos"][0]["kept"]
    assert desk.call("verify", name, "--repair").status == 0
    assert (prune(desk, name).status, has(studio, video)) == (0, False)


def test_a_paid_video_that_was_never_stored_stays_until_that_is_said(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))
    desk.run(sheet, "--select", "r001")
    studio.plan_fault(on="render", do="corrupt")
    desk.run(sheet)
    studio.clear_faults()
    video, key = (desk.rows(name)["r002"][one] for one in ("video_id", "key"))
    desk.run(desk.sheet(sheet, simple_sheet(1, title=name)))
    first = prune(desk, name)
    assert (first.status, first.json["deleted"], has(studio, video)) == (3, 0, True)
    assert "it is not in the store, and cost 15 credits" in first.json["videos"][0]["kept"]
    second = prune(desk, name, "--undelivered")
    assert (second.status, second.json["deleted"], has(studio, video)) == (0, 1, False)
    # It is another attempt now, at a price that is asked about.
    ended = desk.run(desk.sheet(sheet, simple_sheet(2, title=name)))
    row = desk.rows(name)["r002"]
    assert (ended.status, row["state"], row["charged"]) == (0, "delivered", 30)
    assert studio.charged([key, row["key"]]) == {key: 1, row["key"]: 1}


def test_a_render_that_failed_and_cost_nothing_is_nothing_to_decide_about(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="render", do="fail", nth=1)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, title=name))
    assert desk.run(sheet).json["rows"] == {"total": 1, "failed": 1}
    video = desk.rows(name)["r001"]["video_id"]
    other = simple_sheet(2, title=f"another {name}").replace("r001", "r003")
    desk.run(desk.sheet(sheet, other), "--retire")
    quiet = prune(desk, name)
    assert (quiet.status, quiet.json["videos"], has(studio, video)) == (0, [], True)
    assert (prune(desk, name, "--undelivered").status, has(studio, video)) == (0, False)


def test_a_run_that_dies_between_the_deletion_and_its_record_is_repeated(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    video = left(desk, name, rows=2)["r003"]
    desk.environ["CALLSHEET_LEASE"] = "1s"
    desk.kill("prune", name, "--yes", at="service: after the answer (delete)")
    assert not has(studio, video)
    again = prune(desk, name)
    assert (again.status, again.json["deleted"]) == (0, 1)
    assert f"{video} was gone at the service" in desk.call("explain", name, "r003").out
    assert desk.call("reconcile", name).status == 0


@pytest.mark.safeguard(
    "tasks/aftercare/prune.py", 'elif one.verdict not in ("intact", "missing"):', "elif False:"
)
def test_files_in_the_store_go_only_if_they_are_what_was_delivered(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    left(desk, name)
    rows = desk.rows(name)
    prune(desk, name)
    files = {row: [Path(one["uri"]) for one in rows[row]["deliveries"]] for row in rows}
    changed = files["r002"][1]
    changed.write_text("a person's own captions")
    foreign = files["r003"][0].with_name("notes.txt")
    foreign.write_text("keep")
    listed = desk.call("prune", name, "--prune-store")
    assert (listed.status, files["r003"][0].exists()) == (4, True)
    assert all(str(one) in listed.out for one in files["r003"])
    done, again = (prune(desk, name, "--prune-store") for _ in range(2))
    assert (done.status, done.json["files_deleted"], again.json["files_deleted"]) == (3, 5, 0)
    assert all(one.exists() for one in [*files["r001"], changed, foreign])
    assert [*files["r003"][0].parent.iterdir()] == [foreign]
    assert desk.call("verify", name, "--select", "r001").status == 0
    history = desk.call("explain", name, "r003", "-v").out
    assert rows["r003"]["deliveries"][0]["sha256"] in history
    # Video and files are gone: to have it again is a new attempt.
    plan = desk.call("plan", desk.sheet(f"{name}.csv", simple_sheet(3, title=name)), "--json").json
    assert [one["action"] for one in plan["rows"]] == ["none", "make", "make"]


def test_what_was_delivered_long_ago_is_deleted_and_the_word_is_the_same_everywhere(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = keeping(desk, name, "30d")
    kept = desk.run(sheet, "--prune")
    row = desk.rows(name)["r001"]
    assert (kept.status, kept.json["prune"]["videos"]) == (0, [])
    assert has(studio, row["video_id"])
    keeping(desk, name, "0s")
    ended = desk.run(sheet, "--prune")
    assert (ended.status, ended.json["prune"]["deleted"]) == (0, 1)
    assert not has(studio, row["video_id"])
    assert desk.rows(name) == {"r001": row}
    words = "deleted at the service on "
    assert words in desk.call("video", "share", row["video_id"]).err
    assert words in desk.call("explain", name, "r001").out
    assert desk.call("reconcile", name).status == 0
    Path(row["deliveries"][0]["uri"]).unlink()
    for options in ((), ("--repair",)):
        (found,) = desk.call("verify", name, "--json", *options).json["problems"]
        assert words in (found["left"] or found["words"])
        assert found["problem"] == "missing"


def test_a_nightly_run_deletes_what_was_delivered_long_ago(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    (desk.folder / "inbox").mkdir()
    keeping(desk, name, "0s", folder="inbox")
    desk.sheet(f"inbox/{name}-more.csv", simple_sheet(1, title=f"{name} more"))
    night = ("nightly", str(desk.folder / "inbox"), "--approve-up-to", "100", "--json")
    desk.call(*night)
    # A sheet that needs no run is looked at, too.
    again = desk.call(*night)
    assert (again.status, again.json["charged"]) == (0, 0)
    assert not has(studio, desk.rows(name)["r001"]["video_id"])
    assert has(studio, desk.rows(f"{name}-more")["r001"]["video_id"])
    assert "by retention" in desk.call("explain", name, "r001").out


@pytest.mark.parametrize("store", [False, True])
def test_a_row_that_comes_back_to_a_lost_ledger_is_paid_again_only_if_its_file_is_gone(
    store: bool, desk: Desk, studio: Sandbox, name: str
) -> None:
    left(desk, name, rows=2)
    key = desk.rows(name)["r003"]["key"]
    prune(desk, name, *(["--prune-store"] if store else []))
    desk.lose_ledger()
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(3, title=name)))
    row = desk.rows(name)["r003"]
    assert (ended.status, ended.json["rows"]) == (0, {"total": 3, "delivered": 3}), ended.err
    assert (row["key"] == key) is not store
    assert studio.charged([key, row["key"]]) == dict.fromkeys({key, row["key"]}, 1)
    assert Path(row["deliveries"][0]["uri"]).exists()
    assert desk.call("reconcile", name).status == 0


@pytest.mark.safeguard("tasks/campaign/recovery.py", "if _was_stored(one):", "if False:")
def test_a_lost_ledger_asks_before_it_pays_for_a_video_whose_only_file_it_cannot_find(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    """It learns from the manifest what was deleted."""
    sheet = keeping(desk, name, "0s")
    desk.run(sheet, "--prune")
    creates, row = studio.creates(), desk.rows(name)["r001"]
    file = Path(row["deliveries"][0]["uri"])
    file.rename(file.with_suffix(".away"))
    desk.lose_ledger()
    asked = [desk.run(sheet) for _ in range(2)]
    file.with_suffix(".away").rename(file)
    found = desk.run(sheet)
    assert [one.status for one in (*asked, found)] == [4, 4, 0], found.err
    assert "its video was deleted at the service" in asked[0].err
    assert (studio.creates(), desk.rows(name)["r001"]["deliveries"]) == (creates, row["deliveries"])
    assert desk.call("reconcile", name).status == 0
    # It is made again when that is said.
    desk.lose_ledger()
    file.unlink()
    ended = desk.run(sheet, "--pay-again")
    assert (ended.status, ended.json["rows"]) == (0, {"total": 1, "delivered": 1}), ended.err
    assert desk.rows(name)["r001"]["key"] != row["key"]
