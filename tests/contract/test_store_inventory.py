"""What is in a store, as an auditor sees it: in a folder and in a bucket."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import StoreError
from callsheet.tasks.store import File, open_store
from callsheet.tasks.store.addresses import Places, place_of
from callsheet.tasks.store.store import Store, marked, name_below
from tests.stores import S3Server, rclone_s3

VIDEO = bytes(range(256)) * 100
SHA256 = hashlib.sha256(VIDEO).hexdigest()
NAME = "spring/a/a-take1.mp4"


@pytest.fixture(scope="module")
def rclone(tmp_path_factory: pytest.TempPathFactory):
    with rclone_s3(tmp_path_factory.mktemp("rclone")) as server:
        yield server


@pytest.fixture(params=["folder", "bucket"])
async def place(
    request: pytest.FixtureRequest,
    rclone: S3Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[Store, str]]:
    """A store and the address of one video that it has."""
    for name, value in rclone.environment().items():
        monkeypatch.setenv(name, value)
    root = str(tmp_path / "videos") if request.param == "folder" else f"s3://videos/{tmp_path.name}"
    store = open_store(root)
    file = File(name=NAME, source=VIDEO, kind="mp4", sha256=SHA256)
    (stored,) = await store.put(file, metadata={})
    await store.aclose()
    async with Places() as places:
        yield places.of(stored.uri), stored.uri


async def test_a_file_is_measured_read_and_listed(place, tmp_path: Path) -> None:
    there, uri = place
    assert await there.size(uri) == len(VIDEO)
    async with there.opened(uri, tmp_path / "spool") as path:
        assert path.read_bytes() == VIDEO
    assert not list((tmp_path / "spool").glob("*"))
    folder = uri.removesuffix(f"/{NAME.partition('/')[2]}")
    assert [(file.uri, file.bytes) for file in await there.below(folder)] == [(uri, len(VIDEO))]
    assert await there.below(folder + "-not") == []


async def test_what_is_not_there_is_not_an_error(place, tmp_path: Path) -> None:
    there, uri = place
    assert await there.size(uri + "x") is None
    async with there.opened(uri + "x", tmp_path / "spool") as path:
        assert path is None
    with pytest.raises(StoreError):
        await there.set_aside(uri + "x", "damaged-1")


async def test_setting_aside_loses_nothing(place, tmp_path: Path) -> None:
    there, uri = place
    aside = await there.set_aside(uri, "damaged-1")
    assert aside.endswith("a-take1.damaged-1.mp4")
    assert await there.size(uri) is None
    async with there.opened(aside, tmp_path / "spool") as path:
        assert path.read_bytes() == VIDEO


async def test_a_file_is_deleted_once_and_its_neighbors_stay(place) -> None:
    there, uri = place
    beside = await there.set_aside(uri, "old")

    for _ in range(2):
        await there.delete(uri)

    assert (await there.size(uri), await there.size(beside)) == (None, len(VIDEO))
    await there.delete(beside)
    assert await there.size(beside) is None
    await there.delete(beside.replace("/spring/", "/nowhere/"))


async def test_a_name_that_is_taken_by_another_file_is_left_alone(place, tmp_path: Path) -> None:
    there, uri = place
    store = open_store(uri.removesuffix(f"/{NAME}"))
    other = File(
        name=marked(NAME, "damaged-1"),
        source=b"other",
        kind="mp4",
        sha256=hashlib.sha256(b"other").hexdigest(),
    )
    await store.put(other, metadata={})
    await store.aclose()
    with pytest.raises(StoreError, match="already exists"):
        await there.set_aside(uri, "damaged-1")
    assert await there.size(uri) == len(VIDEO)


def test_addresses_are_told_apart() -> None:
    assert place_of("s3://videos/a/b.mp4") == "s3://videos"
    assert place_of("/srv/videos/b.mp4") == "/"
    assert name_below("s3://videos/out", "s3://videos/out/a/b.mp4") == "a/b.mp4"
    assert name_below("s3://videos/out", "s3://videos/outer/b.mp4") is None
