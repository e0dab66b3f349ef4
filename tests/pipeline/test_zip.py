"""`callsheet export --zip`: videos, captions and status sheet of a campaign in one file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

from tests.programs import Desk, simple_sheet


@pytest.fixture
def made(desk: Desk, name: str) -> Path:
    """The folder of a campaign with r001 to r003, of which r002 is kept."""
    sheet = desk.folder / f"{name}.csv"
    sheet.write_text(simple_sheet(3, columns=",tags", cells=",new"))
    assert desk.call("run", sheet.name, "--yes", "--without-prefect").status == 0
    assert desk.call("review", name, "r002", "keep").status == 0
    return desk.folder / "deliveries" / name


def status_of(archive: ZipFile, name: str) -> dict[str, dict[str, str]]:
    text = archive.read(f"{name}/status.csv").decode("utf-8-sig")
    return {line["cs_row"]: line for line in csv.DictReader(io.StringIO(text))}


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ((), {"r001", "r002", "r003"}),
        (("--kept",), {"r002"}),
        (("--select", "r001,r003"), {"r001", "r003"}),
        (("--select", "tag:new,!r001", "--kept"), {"r002"}),
    ],
)
def test_the_zip_has_what_was_chosen(
    desk: Desk, made: Path, name: str, words: tuple[str, ...], rows: set[str]
) -> None:
    ended = desk.call("export", name, "--zip", "v.zip", *words, "--json")

    assert (ended.status, ended.json["videos"], ended.json["missing"]) == (0, len(rows), [])
    with ZipFile(desk.folder / "v.zip") as archive:
        assert archive.testzip() is None
        kinds = ("mp4", "srt", "vtt")
        files = {f"{row}/{row}-take1.{kind}" for row in rows for kind in kinds}
        assert set(archive.namelist()) == {f"{name}/{one}" for one in (*files, "status.csv")}
        for one in files:
            assert archive.read(f"{name}/{one}") == (made / one).read_bytes()
        video = archive.getinfo(f"{name}/{min(rows)}/{min(rows)}-take1.mp4")
        assert video.compress_type == ZIP_STORED
        status = status_of(archive, name)
    assert {row: line["cs_file_mp4"] for row, line in status.items()} == {
        row: f"{name}/{row}/{row}-take1.mp4" for row in rows
    }


def test_what_is_missing_or_damaged_is_told_in_the_zip_and_by_the_exit_status(
    desk: Desk, made: Path, name: str
) -> None:
    (made / "r001" / "r001-take1.srt").unlink()
    (made / "r003" / "r003-take1.mp4").write_bytes(b"half a video")

    ended = desk.call("export", name, "--zip", "v.zip", "--json")

    assert (ended.status, ended.json["videos"]) == (3, 2)
    assert ended.json["missing"] == [
        f"{name}/r001/r001-take1.srt", f"{name}/r003/r003-take1.mp4",
    ]  # fmt: skip
    assert f"callsheet verify {name} --repair" in ended.err
    with ZipFile(desk.folder / "v.zip") as archive:
        assert not set(ended.json["missing"]) & set(archive.namelist())
        status = status_of(archive, name)
    assert status["r001"]["cs_file_srt"] == "MISSING: it is not in the store"
    words = "MISSING: the file in the store is not the one that was delivered"
    assert status["r003"]["cs_file_mp4"] == words


@pytest.mark.merge
@pytest.mark.parametrize(
    "words",
    [
        ("--zip", "v.zip", "--select", "r009"),
        ("--zip", "v.zip", "--select", "r001", "--kept"),
        ("--zip", "v.zip", "-o", "rows.csv"),
        ("--zip", "no/such/folder.zip"),
        ("--kept",),
        ("--select", "r001", "-o", "rows.csv"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_writes_nothing(
    desk: Desk, made: Path, name: str, words: tuple[str, ...]
) -> None:
    assert desk.call("export", name, *words).status == 2
    assert not list(desk.folder.glob("*v.zip*"))
