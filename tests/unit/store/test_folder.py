"""A store that is a folder."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import ConfigurationError, StoreError, StoreUnusable
from callsheet.tasks.store import File, StoredFile, open_store
from callsheet.tasks.store.disk import TemporaryFile, open_locked

NAME = "spring/ad-1/ad-1-take1.mp4"


async def _put(store, data: bytes | Path, name: str = NAME):
    whole = data if isinstance(data, bytes) else data.read_bytes()
    sha256 = hashlib.sha256(whole).hexdigest()
    return (await store.put(_file(data, sha256, name), metadata={}))[0]


def _file(data: bytes | Path, sha256: str, name: str = NAME) -> File:
    return File(name=name, source=data, kind="mp4", sha256=sha256)


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "videos"))


async def test_a_video_is_stored_and_can_be_found(store, video_path, tmp_path) -> None:
    stored = await _put(store, video_path)
    assert stored == StoredFile(
        uri=str(tmp_path / "videos" / NAME),
        bytes=video_path.stat().st_size,
        sha256=hashlib.sha256(video_path.read_bytes()).hexdigest(),
    )
    assert Path(stored.uri).read_bytes() == video_path.read_bytes()
    assert await store.head(NAME) == stored
    assert await _put(store, video_path) == stored
    assert await store.head("spring/other.mp4") is None
    assert await store.head(f"{NAME}/below") is None


async def test_a_file_on_the_same_disk_is_taken_over_not_copied(store, tmp_path) -> None:
    spooled = tmp_path / "spooled"
    spooled.write_bytes(b"video")
    spooled.chmod(0o600)
    stored = Path((await _put(store, spooled)).uri)
    assert stored.samefile(spooled)
    # Who may look into the folder may look at the video.
    assert stored.stat().st_mode & 0o777 == stored.parent.stat().st_mode & 0o666


@pytest.mark.safeguard(
    "tasks/store/folder.py", "if there is not None and there.sha256 != sha256:", "if False:"
)
async def test_a_file_that_is_taken_over_takes_no_name_from_another(store, tmp_path) -> None:
    stored = await _put(store, b"one")
    spooled = tmp_path / "spooled"
    spooled.write_bytes(b"two")
    with pytest.raises(StoreError, match="exists already"):
        await _put(store, spooled)
    assert Path(stored.uri).read_bytes() == b"one"


@pytest.mark.parametrize("links", [True, False])
async def test_of_many_at_once_exactly_one_wins(store, tmp_path, links, monkeypatch) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    videos = [bytes([n]) * 100_000 for n in range(8)]
    outcomes = await asyncio.gather(*(_put(store, f) for f in videos), return_exceptions=True)
    won = [outcome for outcome in outcomes if isinstance(outcome, StoredFile)]
    lost = [outcome for outcome in outcomes if isinstance(outcome, StoreError)]
    assert len(won) == 1
    assert len(lost) == 7
    assert all(error.conflict for error in lost)
    assert Path(won[0].uri).read_bytes() == videos[outcomes.index(won[0])]
    assert [p.name for p in Path(won[0].uri).parent.iterdir()] == [Path(NAME).name]


def _no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, "no hard links here")


async def test_a_killed_writer_leaves_nothing_for_long(store, tmp_path) -> None:
    left = TemporaryFile(tmp_path / "videos" / NAME).path
    writing = left.with_name(".callsheet-0.part")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half a fi")
    # What another process writes just now is not touched.
    with open_locked(writing):
        stored = await _put(store, b"video")
    assert {p.name for p in Path(stored.uri).parent.iterdir()} == {Path(NAME).name, writing.name}


@pytest.mark.safeguard("tasks/store/folder.py", "if written.sha256 != sha256:", "if False:")
async def test_a_file_that_is_not_what_it_is_said_to_be_is_not_stored(store) -> None:
    with pytest.raises(StoreError, match="not what was downloaded"):
        await store.put(_file(b"video", "0" * 64), metadata={})
    assert await store.head(NAME) is None


async def test_a_folder_that_was_removed_meanwhile_is_made_again(store) -> None:
    stored = await _put(store, b"video")
    shutil.rmtree(Path(stored.uri).parent)
    assert await _put(store, b"video") == stored


async def test_a_reader_never_sees_half_a_manifest(store) -> None:
    texts = [bytes([65 + n]) * 200_000 for n in range(4)]
    first = await store.replace("manifest.json", texts[0], content_type="application/json")

    async def read() -> set[bytes]:
        return {await asyncio.to_thread(Path(first.uri).read_bytes) for _ in range(50)}

    writing = (store.replace("manifest.json", t, content_type="x") for t in texts)
    seen, *_ = await asyncio.gather(read(), *writing)
    assert seen <= set(texts)


@pytest.mark.parametrize("name", ["../video.mp4", "a/../../video.mp4", "/etc/video.mp4", "", "."])
async def test_names_do_not_lead_out_of_the_folder(store, name) -> None:
    with pytest.raises(StoreError, match="inside the store"):
        await _put(store, b"video", name)


async def test_links_do_not_lead_out_of_the_folder(store, tmp_path) -> None:
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "out").symlink_to(tmp_path)
    with pytest.raises(StoreError, match="inside the store"):
        await _put(store, b"video", "out/video.mp4")


async def test_a_folder_below_a_file_is_unusable(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    store = open_store(str(tmp_path / "file" / "videos"))
    with pytest.raises(StoreUnusable, match="cannot be written") as caught:
        await store.check()
    assert caught.value.remedy
    with pytest.raises(StoreError):
        await _put(store, b"video")


async def test_addresses(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert open_store("deliveries/").address == str(tmp_path / "deliveries")
    assert open_store("file:///srv/my%20videos").address == "/srv/my videos"
    assert open_store("~/videos").address == "/home/somebody/videos"
    assert open_store("s3://videos//a/b/").address == "s3://videos/a/b"


@pytest.mark.parametrize(
    "address",
    ["", " ", "gs://videos", "https://videos", "s3://", "s3:///prefix", "s3://key:secret@videos/x",
     "s3://videos?endpoint=x", "file://elsewhere/videos"],
)  # fmt: skip
def test_wrong_addresses_are_refused(address) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_store(address)
    assert caught.value.remedy
    assert "secret" not in str(caught.value)


async def test_what_can_be_made_again_is_kept_over_nobodys(store, tmp_path) -> None:
    uri = await store.keep("spring/a/a.jpg", b"poster", content_type="image/jpeg")
    assert uri == str(tmp_path / "videos" / "spring" / "a" / "a.jpg")
    assert await store.keep("spring/a/a.jpg", b"poster", content_type="image/jpeg") == uri
    assert await store.keep("spring/a/a.jpg", b"another", content_type="image/jpeg") is None
    assert await store.keep("../a.jpg", b"poster", content_type="image/jpeg") is None
    assert [path.name for path in Path(uri).parent.iterdir()] == ["a.jpg"]


async def test_a_disk_that_takes_no_picture_is_no_trouble(store, tmp_path) -> None:
    (tmp_path / "videos").write_text("a file is here")
    assert await store.keep("spring/a.jpg", b"poster", content_type="image/jpeg") is None
