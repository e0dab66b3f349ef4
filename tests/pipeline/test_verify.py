"""`callsheet verify`: what is still in the store, and what can be brought back free.

And `plan --refresh` and `--repair`: what changed since delivery, there and at the service.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Desk, Sandbox, simple_sheet
from tests.stores import S3Server, rclone_s3

pytestmark = pytest.mark.merge


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[S3Server]:
    (tmp_path / "s3").mkdir()
    with rclone_s3(tmp_path / "s3") as server:
        yield server


def delivered(desk: Desk, name: str, rows: int = 2) -> dict[str, Path]:
    """Deliver a campaign; return where each file is, as `r001.mp4`."""
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(rows, title=f"Title {name}")))
    assert ended.status == 0, ended.err
    return {
        f"{row['row']}.{file['kind']}": Path(file["uri"])
        for row in desk.rows(name).values()
        for file in row["deliveries"]
    }


def verify(desk: Desk, name: str, *words: str, status: int) -> dict[str, Any]:
    ended = desk.call("verify", name, "--json", *words)
    assert ended.status == status, ended.err
    return ended.json


def problems(document: dict[str, Any]) -> dict[str, str]:
    return {f"{p['row']}.{p['kind']}": p["problem"] for p in document["problems"]}


def test_what_is_missing_or_changed_is_found_and_brought_back_free(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    files = delivered(desk, name, rows=3)
    before = {file: path.read_bytes() for file, path in files.items()}
    whole = verify(desk, name, status=0)
    assert whole["files"] == {"total": 9, "intact": 9, "repaired": 0}
    assert whole["problems"] == whole["extra"] == []
    bought = len(studio.bought())
    files["r001.mp4"].unlink()
    files["r001.vtt"].unlink()
    damaged = bytearray(before["r002.mp4"])
    damaged[len(damaged) // 2] ^= 1
    files["r002.mp4"].write_bytes(damaged)
    files["r003.srt"].write_bytes(b"1\n")
    stray = files["r001.mp4"].parent / "notes.txt"
    stray.write_text("mine")
    found = verify(desk, name, status=3)
    quick = {"r001.mp4": "missing", "r001.vtt": "missing", "r003.srt": "changed"}
    assert problems(found) == {**quick, "r002.mp4": "changed"}
    assert [file["uri"] for file in found["extra"]] == [str(stray)]
    assert problems(verify(desk, name, "--quick", status=3)) == quick
    assert problems(verify(desk, name, "--select", "r002", status=3)) == {"r002.mp4": "changed"}
    assert not files["r001.mp4"].exists()
    assert verify(desk, name, "--repair", status=0)["files"]["repaired"] == 4
    assert {file: path.read_bytes() for file, path in files.items()} == before
    assert len(studio.bought()) == bought
    # The damaged files are kept under names of their own, and nobody's notes are touched.
    again = verify(desk, name, status=0)
    aside = {Path(file["uri"]) for file in again["extra"]} - {stray}
    assert {path.read_bytes() for path in aside} == {bytes(damaged), b"1\n"}
    assert all("damaged-" in path.name for path in aside)
    history = desk.call("explain", name, "r002", "--json").json["history"]
    assert [event["words"] for event in history if event["kind"] == "repair"]


@pytest.mark.safeguard(
    "tasks/aftercare/repairs.py",
    "if one.file is not None and sha256 != one.file.sha256:",
    "if one.file is not None and sha256 == one.kind:",
)
@pytest.mark.always
def test_a_video_that_is_another_one_or_gone_is_not_put_in_its_place(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    files = delivered(desk, name)
    files["r001.mp4"].unlink()
    files["r002.mp4"].write_bytes(b"not a video")
    other, gone = (row["video_id"] for row in desk.rows(name).values())
    studio.post(f"videos/{other}/voice", {"voice_id": "alto"})
    assert desk.call("video", "delete", gone, "--yes").status == 0
    ended = verify(desk, name, "--repair", status=3)
    left = {one["row"]: one["left"] for one in ended["problems"]}
    assert "another file" in left["r001"]
    assert "no longer has this video" in left["r002"]
    assert not files["r001.mp4"].exists()
    assert files["r002.mp4"].read_bytes() == b"not a video"


@pytest.mark.always
def test_captions_that_are_asked_for_later_are_fetched_too(desk: Desk, name: str) -> None:
    text = simple_sheet(1, columns=",captions", cells=",none")
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    assert desk.call("verify", name).status == 0
    assert desk.run(desk.sheet(f"{name}.csv", text.replace(",none", ",srt"))).status == 0
    assert problems(verify(desk, name, status=3)) == {"r001.srt": "wanting"}
    verify(desk, name, "--repair", status=0)
    assert [file["kind"] for file in desk.rows(name)["r001"]["deliveries"]] == ["mp4", "srt"]
    assert verify(desk, name, status=0)["files"]["intact"] == 2


def test_a_service_in_trouble_is_not_a_verdict(desk: Desk, studio: Sandbox, name: str) -> None:
    files = delivered(desk, name, rows=1)
    files["r001.mp4"].unlink()
    studio.plan_fault(on="download", do="status", status=401)
    verify(desk, name, "--repair", status=5)
    studio.clear_faults()
    told = desk.call("verify", name)
    assert (told.status, "missing" in told.out) == (3, True)
    assert f"callsheet verify {name} --repair" in told.out
    assert desk.call("verify", "nobody").status == 2
    assert desk.call("verify", name, "--repair").status == 0
    assert files["r001.mp4"].exists()


def test_a_bucket_is_looked_at_and_mended_like_a_folder(
    desk: Desk, bucket: S3Server, name: str
) -> None:
    desk.environ |= {**bucket.environment(), "CALLSHEET_STORE": f"{bucket.address}/out"}
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(2))).status == 0
    client, at = bucket.client(), {"Bucket": bucket.bucket}
    lost, changed = (f"out/{name}/{row}/{row}-take1.mp4" for row in ("r001", "r002"))
    whole = bucket.read(lost)
    client.delete_object(**at, Key=lost)
    client.put_object(**at, Key=changed, Body=whole[:-1] + b"\0\0")
    found = verify(desk, name, status=3)
    assert problems(found) == {"r001.mp4": "missing", "r002.mp4": "changed"}
    verify(desk, name, "--repair", status=0)
    assert bucket.read(lost) == whole
    (aside,) = verify(desk, name, status=0)["extra"]
    assert bucket.read(aside["uri"].removeprefix(f"{bucket.address}/")) == whole[:-1] + b"\0\0"
    for entry in client.list_objects_v2(**at)["Contents"]:
        client.delete_object(**at, Key=entry["Key"])
    client.delete_bucket(**at)
    gone = desk.call("verify", name)
    assert (gone.status, gone.out.count("does not exist"), "missing" in gone.out) == (5, 1, False)
    desk.environ["AWS_ENDPOINT_URL_S3"] = "nowhere"
    lost_store = verify(desk, name, "--quick", status=5)
    assert set(problems(lost_store).values()) == {"unknown"}, "out of reach is not a verdict"


def drift(desk: Desk, sheet: str, *words: str) -> dict[tuple[str | None, str], dict[str, Any]]:
    ended = desk.call("plan", sheet, "--refresh", "--json", *words)
    assert ended.status == 0, ended.err
    return {(one["row"], one["where"]): one for one in ended.json["drift"]}


@pytest.mark.safeguard(
    "tasks/aftercare/repairs.py",
    "if not options.repair or not found.findings:",
    "if not found.findings:",
)
def test_what_changed_outside_is_listed_and_what_is_free_is_repaired(
    shared: Desk, studio: Sandbox, name: str
) -> None:
    desk, sheet = shared, f"{name}.csv"
    desk.sheet(sheet, simple_sheet(6, title=f"Title {name}"))
    # Nothing is looked for before a sheet was run.
    assert "drift" not in desk.call("plan", sheet, "--refresh", "--json").json
    files = delivered(desk, name, rows=6)
    assert drift(desk, sheet, "--detailed-exitcode") == {}
    before = {file: path.read_bytes() for file, path in files.items()}
    video = {row: line["video_id"] for row, line in desk.rows(name).items()}
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
    free = {("r003", "store"), ("r004", "store"), (None, "store")}
    others = {("r001", "service"), ("r002", "service"), ("r005", "store")}
    assert found.keys() == free | others
    assert 'its title at the service is "New" now' in found["r001", "service"]["what"]
    assert found["r002", "service"]["remedy"] is None
    lost = found["r005", "store"]
    assert (lost["cost"], "retake" in lost["remedy"]) == (15, True)
    assert {one["cost"] for one in found.values()} == {0, 15}
    assert drift(desk, sheet, "--select", "r003").keys() == {("r003", "store"), (None, "store")}
    assert not status.exists(), "a plan without --repair changes nothing"
    fixed = drift(desk, sheet, "--repair")
    assert {key for key, one in fixed.items() if one["repaired"]} == free
    there = {file: path.read_bytes() for file, path in files.items() if path.exists()}
    assert there == {file: data for file, data in before.items() if file != "r005.mp4"}
    assert status.exists()
    assert drift(desk, sheet).keys() == others
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
    assert desk.rows(name)["r005"]["take"] == 2
    assert [one for one in drift(desk, sheet).values() if "take2" in one["what"]] == []
