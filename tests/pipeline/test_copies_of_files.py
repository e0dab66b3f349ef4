"""`copies`: finished files at other places too, each once, and nothing is ever overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import Desk, Finished, Sandbox
from tests.stores import S3Server, rclone_s3

SHEET = """campaign: {name}
copies: {copies}
defaults: {{tool: product-launch, duration_seconds: 5, captions: srt}}
rows:
  - {{id: a, fields: {{product: Mug}}, x_brand: Acme}}
  - {{id: b, fields: {{product: Cup}}, x_brand: Bolt}}
"""


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with rclone_s3(tmp_path_factory.mktemp("s3")) as server, server.in_environment():
        yield server


def run(desk: Desk, name: str, *copies: object) -> Finished:
    text = SHEET.format(name=name, copies=[str(one) for one in copies])
    (desk.folder / "s.yaml").write_text(text)
    return desk.call("run", "s.yaml", "--yes", "--without-prefect", "--json")


def files_in(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.merge
def test_files_are_copied_to_a_folder_and_a_bucket_once(
    desk: Desk, name: str, tmp_path_factory: pytest.TempPathFactory, bucket: S3Server
) -> None:
    out = tmp_path_factory.mktemp("out")
    desk.environ["CALLSHEET_STORE"] = "deliveries"
    places = (f"file:{out}/{{brand}}/{{name}}.mp4", f"{bucket.address}/{name}/{{row}}.mp4")

    assert run(desk, name, *places).status == 0

    made = files_in(out)
    own = files_in(desk.folder / "deliveries" / name)
    assert set(made) == {f"{b}/{r}-take1.{k}" for b, r in (("Acme", "a"), ("Bolt", "b"))
                         for k in ("mp4", "srt")}  # fmt: skip
    assert all(own[f"{Path(one).name[0]}/{Path(one).name}"] == data for one, data in made.items())
    video = bucket.client().get_object(Bucket=bucket.bucket, Key=f"{name}/b.mp4")["Body"].read()
    assert video == own["b/b-take1.mp4"]
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*.mp4")}

    again = desk.call("run", "s.yaml", "--yes", "--without-prefect", "--json")

    assert (again.status, again.json["credits"]["charged_this_run"]) == (0, 0)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.mp4")} == times
    copies = desk.call("rows", name, "--json").lines[0]["copies"]
    assert [one["held"] for one in copies] == [None] * 4
    assert desk.call("verify", name, "--quick").status == 0
    # To change a copy changes no delivered video.
    (out / "Acme" / "a-take1.mp4").write_bytes(b"cut by somebody")
    assert files_in(desk.folder / "deliveries" / name) == own
    for words in ((), ("--quick",)):
        told = desk.call("verify", name, *words)
        assert (told.status, "a-take1.mp4" in told.out) == (3, True)


@pytest.mark.merge
def test_what_is_in_the_way_holds_the_copy_and_not_the_video(
    desk: Desk, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    theirs = out / "a-take1.mp4"
    theirs.write_bytes(b"somebody else's")
    address = f"file:{out}/{{name}}.mp4"

    first = run(desk, name, address)

    assert (first.status, first.json["rows"]["delivered"]) == (3, 2)
    assert "1 copy is on hold" in first.err
    assert f"{theirs} exists already and is another file" in first.err
    assert theirs.read_bytes() == b"somebody else's"
    assert (out / "b-take1.mp4").exists()
    held = [one for one in desk.call("rows", name, "--json").lines[0]["copies"] if one["held"]]
    assert [one["uri"] for one in held] == [str(theirs)]
    status = desk.folder / "deliveries" / name / "status.csv"
    assert "(on hold: " in status.read_text()
    theirs.unlink()
    assert run(desk, name, address).status == 0
    assert "(on hold: " not in status.read_text()
    assert desk.call("verify", name).status == 0

    theirs.unlink()
    assert desk.call("verify", name).status == 3
    repaired = desk.call("verify", name, "--repair")
    assert (repaired.status, "copied again" in repaired.out) == (0, True)
    assert desk.call("run", "s.yaml", "--yes", "--without-prefect").status == 0


@pytest.mark.merge
def test_a_lost_copy_of_a_video_that_is_in_the_store_takes_no_retake(
    desk: Desk, service: Sandbox, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    assert run(desk, name, f"file:{out}/{{name}}.mp4").status == 0
    row = desk.call("rows", name, "--json").lines[0]
    service.delete(row["video_id"])
    (out / "a-take1.mp4").unlink()

    found = desk.call("plan", "s.yaml", "--refresh", "--json").json["drift"]

    assert [(one["where"], one["cost"]) for one in found] == [("service", 0), ("store", 0)]
    assert not any("retake" in str(one["remedy"]) for one in found)
    fixed = desk.call("plan", "s.yaml", "--repair", "--json").json["drift"]
    assert [one["repaired"] for one in fixed] == [None, "copied again"]
    assert (out / "a-take1.mp4").exists()


@pytest.mark.merge
def test_a_place_that_is_not_there_holds_every_copy_and_is_tried_once(
    desk: Desk, name: str
) -> None:
    ended = run(desk, name, "file:/proc/nowhere/{name}.mp4")
    assert (ended.status, ended.json["rows"]["delivered"]) == (3, 2)
    assert "4 copies are on hold: videos cannot be written to /proc/nowhere" in ended.err
    assert 'copies "file:/proc/nowhere/{name}.mp4" is where finished files' in ended.err


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("file:/out/{brnd}/{name}.mp4", "did you mean brand?"),
        ("s3://bucket/video.mp4", 'is also what the video of row "a" (line 5) is called'),
        ("s3://bucket/{x_brand}/../{name}.mp4", "has a part that begins with a dot"),
        ("file:/../{name}.mp4", "has a part that begins with a dot"),
        ("ftp://host/{name}.mp4", "is not an address like s3://bucket"),
        ("out/{name}.mp4", "is not an address like s3://bucket"),
        ("s3://bucket/", "has a folder without a name"),
    ],
)
def test_a_wrong_address_is_found_before_the_service_is_contacted(
    desk: Desk, name: str, address: str, words: str
) -> None:
    desk.environ = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "k"}
    ended = run(desk, name, address)
    assert (ended.status, words in ended.err) == (2, True), ended.err
