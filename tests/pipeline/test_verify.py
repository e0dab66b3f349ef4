"""`callsheet verify`: what is still in the store, and what can be brought back free."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox, simple_sheet
from tests.stores import S3Server, rclone_s3


@pytest.fixture
def studio(service: Sandbox) -> Iterator[Sandbox]:
    """The shared sandbox, where nothing is left to go wrong for others."""
    yield service
    service.clear_faults()


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[S3Server]:
    (tmp_path / "s3").mkdir()
    with rclone_s3(tmp_path / "s3") as server:
        yield server


def delivered(desk: Desk, name: str, rows: int = 2) -> dict[str, Path]:
    """Deliver a campaign; return where each file is, as `r001.mp4`."""
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(rows)))
    assert ended.status == 0, ended.err
    return {
        f"{row['row']}.{file['kind']}": Path(file["uri"])
        for row in desk.rows(name).values()
        for file in row["deliveries"]
    }


def problems(document: dict) -> dict[str, str]:
    return {f"{p['row']}.{p['kind']}": p["problem"] for p in document["problems"]}


@pytest.mark.merge
def test_what_is_missing_or_changed_is_found_and_brought_back_free(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    files = delivered(desk, name, rows=3)
    before = {file: path.read_bytes() for file, path in files.items()}
    whole = desk.call("verify", name, "--json")
    assert whole.status == 0, whole.err
    assert whole.json["files"] == {"total": 9, "intact": 9, "repaired": 0}
    assert whole.json["problems"] == whole.json["extra"] == []
    bought = len(studio.bought())
    files["r001.mp4"].unlink()
    files["r001.vtt"].unlink()
    damaged = bytearray(before["r002.mp4"])
    damaged[len(damaged) // 2] ^= 1
    files["r002.mp4"].write_bytes(damaged)
    files["r003.srt"].write_bytes(b"1\n")
    stray = files["r001.mp4"].parent / "notes.txt"
    stray.write_text("mine")

    found = desk.call("verify", name, "--json")
    wrong = {"r001.mp4": "missing", "r001.vtt": "missing",
             "r002.mp4": "changed", "r003.srt": "changed"}  # fmt: skip
    assert found.status == 3
    assert problems(found.json) == wrong
    assert [file["uri"] for file in found.json["extra"]] == [str(stray)]
    assert problems(desk.call("verify", name, "--quick", "--json").json) == {
        file: problem for file, problem in wrong.items() if file != "r002.mp4"
    }
    assert problems(desk.call("verify", name, "--select", "r002", "--json").json) == {
        "r002.mp4": "changed"
    }
    assert not files["r001.mp4"].exists()

    mended = desk.call("verify", name, "--repair", "--json")
    assert mended.status == 0, mended.err
    assert mended.json["files"]["repaired"] == 4
    assert {file: path.read_bytes() for file, path in files.items()} == before
    assert len(studio.bought()) == bought
    again = desk.call("verify", name, "--json")
    assert again.status == 0
    # The damaged files are kept under names of their own, and nobody's notes are touched.
    aside = {Path(file["uri"]) for file in again.json["extra"]} - {stray}
    assert {path.read_bytes() for path in aside} == {bytes(damaged), b"1\n"}
    assert all("damaged-" in path.name for path in aside)
    history = desk.call("explain", name, "r002", "--json").json["history"]
    assert [event["words"] for event in history if event["kind"] == "repair"]


def test_another_video_is_not_put_in_place_of_the_one_delivered(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    files = delivered(desk, name, rows=1)
    files["r001.mp4"].unlink()
    video = desk.rows(name)["r001"]["video_id"]
    studio.post(f"videos/{video}/voice", {"voice_id": "alto"})

    ended = desk.call("verify", name, "--repair", "--json")

    assert ended.status == 3
    (problem,) = ended.json["problems"]
    assert "another file" in problem["left"]
    assert not files["r001.mp4"].exists()


def test_a_video_that_is_gone_cannot_be_brought_back(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    files = delivered(desk, name, rows=1)
    files["r001.mp4"].write_bytes(b"not a video")
    video = desk.rows(name)["r001"]["video_id"]
    assert desk.call("video", "delete", video, "--yes").status == 0

    ended = desk.call("verify", name, "--repair", "--json")

    assert ended.status == 3
    assert "no longer has this video" in ended.json["problems"][0]["left"]
    assert files["r001.mp4"].read_bytes() == b"not a video"


def test_captions_that_are_asked_for_later_are_fetched_too(desk: Desk, name: str) -> None:
    text = simple_sheet(1, columns=",captions", cells=",none")
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    assert desk.call("verify", name).status == 0
    assert desk.run(desk.sheet(f"{name}.csv", text.replace(",none", ",srt"))).status == 0

    found = desk.call("verify", name, "--json")
    assert found.status == 3
    assert problems(found.json) == {"r001.srt": "wanting"}
    mended = desk.call("verify", name, "--repair", "--json")
    assert mended.status == 0, mended.err
    assert [file["kind"] for file in desk.rows(name)["r001"]["deliveries"]] == ["mp4", "srt"]
    assert desk.call("verify", name, "--json").json["files"]["intact"] == 2


@pytest.mark.merge
def test_a_service_in_trouble_is_not_a_verdict(desk: Desk, studio: Sandbox, name: str) -> None:
    files = delivered(desk, name, rows=1)
    files["r001.mp4"].unlink()
    studio.plan_fault(on="download", do="status", status=401)

    ended = desk.call("verify", name, "--repair", "--json")
    assert ended.status == 5
    studio.clear_faults()
    told = desk.call("verify", name)
    assert told.status == 3
    assert "missing" in told.out
    assert f"callsheet verify {name} --repair" in told.out
    assert desk.call("verify", "nobody").status == 2
    assert desk.call("verify", name, "--repair").status == 0
    assert files["r001.mp4"].exists()


@pytest.mark.merge
def test_a_bucket_is_looked_at_and_mended_like_a_folder(
    desk: Desk, bucket: S3Server, name: str
) -> None:
    server = bucket
    desk.environ |= {**server.environment(), "CALLSHEET_STORE": f"{server.address}/out"}
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(2))).status == 0
    key = f"out/{name}/{{0}}/{{0}}-take1.mp4"
    whole = server.read(key.format("r001"))
    server.client().delete_object(Bucket=server.bucket, Key=key.format("r001"))
    server.client().put_object(
        Bucket=server.bucket, Key=key.format("r002"), Body=whole[:-1] + b"\0\0"
    )

    found = desk.call("verify", name, "--json")
    assert found.status == 3
    assert problems(found.json) == {"r001.mp4": "missing", "r002.mp4": "changed"}

    mended = desk.call("verify", name, "--repair", "--json")
    assert mended.status == 0, mended.err
    assert (
        hashlib.sha256(server.read(key.format("r001"))).digest() == hashlib.sha256(whole).digest()
    )
    again = desk.call("verify", name, "--json")
    assert again.status == 0
    (aside,) = again.json["extra"]
    assert server.read(aside["uri"].removeprefix(f"{server.address}/")) == whole[:-1] + b"\0\0"
    client, listed = server.client(), {"Bucket": server.bucket}
    for entry in client.list_objects_v2(**listed)["Contents"]:
        client.delete_object(**listed, Key=entry["Key"])
    client.delete_bucket(**listed)
    gone = desk.call("verify", name)
    assert gone.status == 5
    assert gone.out.count("does not exist") == 1, gone.out
    assert "missing" not in gone.out
    desk.environ["AWS_ENDPOINT_URL_S3"] = "nowhere"
    lost = desk.call("verify", name, "--json", "--quick")
    assert lost.status == 5, "a store out of reach is not a verdict"
    assert set(problems(lost.json).values()) == {"unknown"}
