"""Files of finished videos: their names, links to them, and copies at other places.

A name that a file has stays, and nothing is ever overwritten.
"""

from __future__ import annotations

import csv
import io
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import Desk, Finished, Sandbox, simple_sheet
from tests.stores import NEXT_KEY, S3Server, rclone_s3

pytestmark = pytest.mark.merge

SHEET = """campaign: {name}
{head}
defaults: {{tool: product-launch, duration_seconds: 5, captions: {captions}}}
rows:
  - {{id: a, fields: {{product: Mug}}, x_brand: Acme}}
  - {{id: b, fields: {{product: Cup}}, x_brand: Bolt}}
"""


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with rclone_s3(tmp_path_factory.mktemp("s3")) as server, server.in_environment():
        yield server


@pytest.fixture
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


def run(desk: Desk, name: str, *, captions: str = "none", **head: object) -> Finished:
    """Run a sheet of two videos with `copies` or `names`."""
    said = "\n".join(f"{what}: {value!r}" for what, value in head.items())
    desk.sheet("s.yaml", SHEET.format(name=name, head=said, captions=captions))
    return desk.run("s.yaml")


def copied(desk: Desk, name: str, *places: object) -> Finished:
    return run(desk, name, copies=[str(one) for one in places], captions="srt")


def files_in(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.safeguard("tasks/campaign/outputs.py", "yield own", "yield path")
def test_files_are_copied_to_a_folder_and_a_bucket_once(
    desk: Desk, name: str, out: Path, bucket: S3Server
) -> None:
    desk.environ["CALLSHEET_STORE"] = "deliveries"
    places = (f"file:{out}/{{brand}}/{{name}}.mp4", f"{bucket.address}/{name}/{{row}}.mp4")
    assert copied(desk, name, *places).status == 0
    made, own = files_in(out), files_in(desk.folder / "deliveries" / name)
    rows = (("Acme", "a"), ("Bolt", "b"))
    assert set(made) == {f"{b}/{r}-take1.{kind}" for b, r in rows for kind in ("mp4", "srt")}
    assert all(own[f"{Path(one).name[0]}/{Path(one).name}"] == data for one, data in made.items())
    assert bucket.read(f"{name}/b.mp4") == own["b/b-take1.mp4"]
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*.mp4")}
    again = desk.run("s.yaml")
    assert (again.status, again.json["credits"]["charged_this_run"]) == (0, 0)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.mp4")} == times
    assert [one["held"] for one in desk.rows(name)["a"]["copies"]] == [None] * 4
    assert desk.call("verify", name, "--quick").status == 0
    # To change a copy changes no delivered video.
    (out / "Acme" / "a-take1.mp4").write_bytes(b"cut by somebody")
    assert files_in(desk.folder / "deliveries" / name) == own
    for words in ((), ("--quick",)):
        told = desk.call("verify", name, *words)
        assert (told.status, "a-take1.mp4" in told.out) == (3, True)


@pytest.mark.safeguard(
    "tasks/campaign/outputs.py", "return replace(copy, fault=str(error))", "return copy"
)
def test_what_is_in_the_way_holds_the_copy_and_not_the_video(
    desk: Desk, name: str, out: Path
) -> None:
    theirs = out / "a-take1.mp4"
    theirs.write_bytes(b"somebody else's")
    address = f"file:{out}/{{name}}.mp4"
    first = copied(desk, name, address)
    assert (first.status, first.json["rows"]["delivered"]) == (3, 2)
    assert "1 copy is on hold" in first.err
    assert f"{theirs} exists already and is another file" in first.err
    assert theirs.read_bytes() == b"somebody else's"
    assert (out / "b-take1.mp4").exists()
    held = [one["uri"] for one in desk.rows(name)["a"]["copies"] if one["held"]]
    assert held == [str(theirs)]
    status = desk.folder / "deliveries" / name / "status.csv"
    assert "(on hold: " in status.read_text()
    theirs.unlink()
    assert copied(desk, name, address).status == 0
    assert "(on hold: " not in status.read_text()
    assert desk.call("verify", name).status == 0
    theirs.unlink()
    assert desk.call("verify", name).status == 3
    repaired = desk.call("verify", name, "--repair")
    assert (repaired.status, "copied again" in repaired.out) == (0, True)
    assert desk.run("s.yaml").status == 0


@pytest.mark.safeguard(
    "tasks/aftercare/repairs.py",
    'one.file is not None and one.repair == "refetch"',
    'one.file is not None and one.repair in ("refetch", "copy")',
)
def test_a_lost_copy_of_a_video_that_is_in_the_store_takes_no_retake(
    desk: Desk, service: Sandbox, name: str, out: Path
) -> None:
    assert copied(desk, name, f"file:{out}/{{name}}.mp4").status == 0
    service.delete(desk.rows(name)["a"]["video_id"])
    (out / "a-take1.mp4").unlink()
    found = desk.call("plan", "s.yaml", "--refresh", "--json").json["drift"]
    assert [(one["where"], one["cost"]) for one in found] == [("service", 0), ("store", 0)]
    assert not any("retake" in str(one["remedy"]) for one in found)
    fixed = desk.call("plan", "s.yaml", "--repair", "--json").json["drift"]
    assert [one["repaired"] for one in fixed] == [None, "copied again"]
    assert (out / "a-take1.mp4").exists()


def test_a_place_that_is_not_there_holds_every_copy_and_is_tried_once(
    desk: Desk, name: str
) -> None:
    ended = copied(desk, name, "file:/proc/nowhere/{name}.mp4")
    assert (ended.status, ended.json["rows"]["delivered"]) == (3, 2)
    assert "4 copies are on hold: videos cannot be written to /proc/nowhere" in ended.err
    assert 'copies "file:/proc/nowhere/{name}.mp4" is where finished files' in ended.err


@pytest.mark.always
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("file:/out/{brnd}/{name}.mp4", "did you mean brand?"),
        ("s3://bucket/video.mp4", 'is also what the video of row "a" (line 5) is called'),
        ("s3://bucket/{x_brand}/../{name}.mp4", "has a part that begins with a dot"),
        ("ftp://host/{name}.mp4", "is not an address like s3://bucket"),
        ("out/{name}.mp4", "is not an address like s3://bucket"),
        ("s3://bucket/", "has a folder without a name"),
    ],
)
def test_a_wrong_address_is_found_before_the_service_is_contacted(
    desk: Desk, name: str, address: str, words: str
) -> None:
    desk.environ = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "k"}
    ended = copied(desk, name, address)
    assert (ended.status, words in ended.err) == (2, True), ended.err


def stored(desk: Desk, name: str) -> set[str]:
    found = Path(desk.folder / "deliveries" / name).rglob("*.*")
    return {path.name for path in found if path.suffix in (".mp4", ".srt")}


@pytest.mark.safeguard(
    "tasks/engine/deliver.py",
    "for file in known.files.values() if known is not None else ():",
    "for file in [] if known is None else list(known.files.values())[:0]:",
)
def test_files_are_named_and_keep_their_names(desk: Desk, name: str) -> None:
    assert run(desk, name, names="{brand}_{id}_v{take}").status == 0
    first = {"Acme_a_v1.mp4", "Bolt_b_v1.mp4"}
    assert stored(desk, name) == first
    assert run(desk, name, names="{id}-{brand}-{take:02}", captions="srt").status == 0
    assert stored(desk, name) == first
    # What is added to a take goes next to its video; a new take has the new name.
    assert desk.call("verify", name, "--repair").status == 0
    assert stored(desk, name) >= {"Acme_a_v1.srt", "Bolt_b_v1.srt"}
    retake = ("retake", name, "a", "--because", "logo", "--run", "--yes")
    assert desk.call(*retake, here=True).status == 0
    assert {one for one in stored(desk, name) if one.endswith("mp4")} == {
        *first, "a-Acme-02.mp4"
    }  # fmt: skip
    assert desk.call("verify", name).status == 0
    # A new ledger finds files under the names that they have.
    desk.lose_ledger()
    before = stored(desk, name)
    assert run(desk, name, names="{id}", captions="srt").status == 0
    assert stored(desk, name) == before
    assert desk.call("status", name, "--json").json["credits"]["charged"] == 45


def test_two_takes_or_videos_never_share_a_name(desk: Desk, name: str) -> None:
    assert run(desk, name, names="{brand}").status == 0
    retake = ("retake", name, "a", "--because", "logo", "--run", "--yes")
    assert desk.call(*retake, here=True).status == 0
    assert stored(desk, name) == {"Acme.mp4", "Acme-take2.mp4", "Bolt.mp4"}
    desk.environ = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "k"}
    refused = run(desk, f"{name}-2", names="video_v{take}")
    assert refused.status == 2, "nothing is asked of the service"


def linked(desk: Desk, name: str, **settings: str) -> Finished:
    desk.environ |= {f"CALLSHEET_{setting.upper()}": value for setting, value in settings.items()}
    return desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)))


def links_in(status: bytes) -> dict[str, str]:
    lines = csv.DictReader(io.StringIO(status.decode("utf-8-sig"), newline=""))
    return {line["cs_row"]: line["cs_link"] for line in lines}


@pytest.mark.always
def test_each_video_has_its_link_and_each_run_says_so_once(desk: Desk, name: str) -> None:
    folder = desk.folder / "deliveries" / name
    assert linked(desk, name, links="public https://cdn.example/v").status == 0
    assert links_in((folder / "status.csv").read_bytes()) == {
        row: f"https://cdn.example/v/{name}/{row}/{row}-take1.mp4" for row in ("r001", "r002")
    }
    assert "cdn.example" not in (folder / "manifest.json").read_text()
    files = [folder / file for file in ("status.csv", "manifest.json")]
    before = [file.stat().st_mtime_ns for file in files]
    assert linked(desk, name).status == 0
    assert [file.stat().st_mtime_ns for file in files] == before
    assert desk.call("verify", name, "--json").json["extra"] == []


def test_signed_links_open_the_video_in_a_bucket(desk: Desk, name: str, bucket: S3Server) -> None:
    store, status = f"{bucket.address}/signed", f"signed/{name}/status.csv"
    assert linked(desk, name, store=store, links="presigned 1h").status == 0
    links = links_in(bucket.read(status))
    assert len(links) == 2
    for link in links.values():
        with urllib.request.urlopen(link, timeout=30) as answer:
            assert answer.read(7)
    # Links end with the key that signed them: the next run makes them anew with its own.
    desk.environ["AWS_ACCESS_KEY_ID"] = NEXT_KEY
    assert linked(desk, name).status == 0
    assert f"Credential={NEXT_KEY}%2F" in links_in(bucket.read(status))["r001"]
    taken = desk.call("export", name, "--zip", "v.zip", "--json")
    assert (taken.status, taken.json["videos"], taken.json["missing"]) == (0, 2, [])


@pytest.mark.always
@pytest.mark.parametrize(
    ("links", "words"),
    [
        ("presigned 1h", "needs a store in a bucket"),
        ("signed 7d", "neither like presigned 7d"),
    ],
)
def test_links_that_cannot_be_made_are_told_before_anything_is_spent(
    desk: Desk, name: str, links: str, words: str
) -> None:
    ended = linked(desk, name, links=links)
    assert (ended.status, words in ended.err) == (2, True), ended.err
