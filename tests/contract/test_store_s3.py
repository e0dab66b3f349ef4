"""The bucket store against real S3 servers of different manners."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.store import File, StoredFile
from callsheet.tasks.store.abilities import Abilities
from callsheet.tasks.store.bucket import BucketStore
from tests.stores import S3Server, bucket_store, moto_s3, rclone_s3
from tests.unit.store.s3_proxy import checking, s3_proxy

pytestmark = pytest.mark.merge

NAME = "spring/ad-1/ad-1-take1.mp4"
VIDEO = bytes(range(256)) * 1000

SEEN = {
    "rclone": Abilities(digest="md5", checks=True, conditional=False),
    "moto": Abilities(digest="sha256", checks=False, conditional=True),
    "amazon-like": Abilities(digest="sha256", checks=True, conditional=True),
}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, S3Server]]:
    with rclone_s3(tmp_path_factory.mktemp("rclone")) as rclone, moto_s3() as moto:
        yield {"rclone": rclone, "moto": moto, "amazon-like": moto}


@pytest.fixture
def seen() -> list[tuple[str, str]]:
    """The requests that came, each with its method and path."""
    return []


@pytest.fixture(params=["rclone", "moto", "amazon-like"])
async def s3(
    request: pytest.FixtureRequest,
    servers: dict[str, S3Server],
    monkeypatch: pytest.MonkeyPatch,
    seen: list[tuple[str, str]],
) -> AsyncIterator[S3Server]:
    kind = request.param
    trouble = checking if kind == "amazon-like" else None
    async with s3_proxy(servers[kind], trouble) as proxy:
        for name, value in proxy.server.environment().items():
            monkeypatch.setenv(name, value)
        proxy.seen = seen
        yield proxy.server


@pytest.fixture
async def store(s3: S3Server, request: pytest.FixtureRequest) -> AsyncIterator[BucketStore]:
    # A prefix of its own, so that tests on one server do not meet.
    prefix = hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    store = bucket_store(f"videos/{prefix}")
    yield store
    await store.aclose()


async def _put(store: BucketStore, data: bytes | Path, **labels: str):
    whole = data if isinstance(data, bytes) else data.read_bytes()
    sha256 = hashlib.sha256(whole).hexdigest()
    return (await store.put(_file(data, sha256), metadata=labels))[0]


def _file(data: bytes | Path, sha256: str) -> File:
    return File(name=NAME, source=data, kind="mp4", sha256=sha256)


async def _keys(s3: S3Server, store: BucketStore) -> list[str]:
    prefix = store.address.removeprefix(f"s3://{s3.bucket}/")
    keys = await asyncio.to_thread(s3.keys)
    return [key for key in keys if key.startswith(prefix)]


async def test_what_a_store_can_do_is_found_out_and_no_trace_is_left(s3, store, request) -> None:
    await store.check()
    assert await store._known() == SEEN[request.node.callspec.params["s3"]]
    assert await _keys(s3, store) == []


@pytest.mark.merge
async def test_a_video_is_stored_with_its_type_and_labels(s3, store, tmp_path) -> None:
    path = tmp_path / "video"
    path.write_bytes(VIDEO)
    stored = await _put(store, path, **{"callsheet-row": "ad-1", "callsheet-title": "Frühling\n€"})
    key = stored.uri.removeprefix(f"s3://{s3.bucket}/")
    assert stored.uri == f"{store.address}/{NAME}"
    assert (stored.bytes, stored.sha256) == (len(VIDEO), hashlib.sha256(VIDEO).hexdigest())
    assert await store.head(NAME) == stored
    assert await asyncio.to_thread(s3.read, key) == VIDEO
    head = await asyncio.to_thread(s3.client().head_object, Bucket=s3.bucket, Key=key)
    labels = {name.lower(): value for name, value in head["Metadata"].items()}
    assert head["ContentType"] == "video/mp4"
    assert labels["callsheet-sha256"] == stored.sha256
    assert labels["callsheet-title"] == "Fr%C3%BChling%0A%E2%82%AC"


@pytest.mark.parametrize("s3", ["rclone", "amazon-like"], indirect=True)
async def test_an_answer_that_names_the_digest_needs_no_second_look(store, seen) -> None:
    await store.check()
    seen.clear()
    await _put(store, VIDEO)
    methods = [method for method, _ in seen]
    # Where nothing stops a second writer, it is looked before; nowhere afterwards.
    conditional = (await store._known()).conditional
    assert methods == (["PUT"] if conditional else ["HEAD", "PUT"])


async def test_files_of_a_delivery_are_stored_together(store) -> None:
    def file(name: str, data: bytes) -> File:
        sha256 = hashlib.sha256(data).hexdigest()
        return File(name=name, source=data, kind=name[-3:], sha256=sha256)

    files = [file("a.mp4", VIDEO), file("a.srt", b"one"), file("a.vtt", b"two")]
    stored = await store.put(*files, metadata={})
    assert [one.sha256 for one in stored] == [file.sha256 for file in files]
    wrong = File(name="b.srt", source=b"one", kind="srt", sha256="0" * 64)
    with pytest.raises(StoreError, match="not the one"):
        await store.put(wrong, file("b.vtt", b"two"), metadata={})
    # What was sent beside it is not left half done.
    assert await store.head("b.vtt") is not None


@pytest.mark.crashpoint("bucket: after the HEAD")
async def test_storing_it_twice_is_a_no_op(store) -> None:
    assert await _put(store, VIDEO) == await _put(store, VIDEO)


@pytest.mark.safeguard(
    "tasks/store/bucket.py",
    "if free and abilities.conditional:",
    "if not free and abilities.conditional:",
)
@pytest.mark.parametrize("other", [b"shorter", bytes(len(VIDEO))])
async def test_another_file_is_left_alone(s3, store, other) -> None:
    stored = await _put(store, VIDEO)
    assert await _put(store, VIDEO) == stored
    with pytest.raises(StoreError, match="exists already") as caught:
        await _put(store, other)
    assert caught.value.conflict
    assert caught.value.permanent
    assert (await store.head(NAME)).sha256 == stored.sha256


async def test_of_many_at_once_exactly_one_wins(store) -> None:
    videos = [bytes([n]) * 5000 for n in range(6)]
    outcomes = await asyncio.gather(*(_put(store, f) for f in videos), return_exceptions=True)
    won = [outcome for outcome in outcomes if isinstance(outcome, StoredFile)]
    assert len(won) == 1
    assert sum(isinstance(outcome, StoreError) and outcome.conflict for outcome in outcomes) == 5
    assert (await store.head(NAME)).sha256 == won[0].sha256


async def test_replace_overwrites(store) -> None:
    await store.replace("manifest.json", b"{}", content_type="application/json")
    stored = await store.replace("manifest.json", b"[1]", content_type="application/json")
    assert stored.bytes == 3
    assert await store.head("manifest.json") == stored


async def test_a_file_that_changed_in_the_spool_is_not_stored(s3, store) -> None:
    with pytest.raises(StoreError, match="not the one"):
        await store.put(_file(VIDEO, "0" * 64), metadata={})
    assert await _keys(s3, store) == []


async def test_a_missing_bucket_is_named(s3) -> None:
    store = bucket_store(bucket="no-such-bucket")
    with pytest.raises(StoreUnusable, match="no-such-bucket does not exist") as caught:
        await store.check()
    assert caught.value.remedy
    with pytest.raises(StoreError, match="does not exist") as refused:
        await _put(store, VIDEO)
    assert refused.value.permanent
    await store.aclose()


@pytest.mark.parametrize("s3", ["rclone"], indirect=True)
async def test_a_digest_the_store_only_repeats_is_not_believed(s3, store) -> None:
    """rclone takes any SHA-256 for true and gives it back: a stranger's file may carry ours."""
    await store.check()
    key = f"{store.address}/{NAME}".removeprefix(f"s3://{s3.bucket}/")
    lie = base64.b64encode(hashlib.sha256(VIDEO).digest()).decode()
    others = bytes(len(VIDEO))
    put = s3.client().put_object
    await asyncio.to_thread(put, Bucket=s3.bucket, Key=key, Body=others, ChecksumSHA256=lie)
    assert (await store.head(NAME)).sha256 == hashlib.sha256(others).hexdigest()
    with pytest.raises(StoreError) as caught:
        await _put(store, VIDEO)
    assert caught.value.conflict


async def test_only_a_digest_that_the_store_has_checked_is_vouched_for(s3, store, request) -> None:
    stored = await _put(store, VIDEO)
    whole = bucket_store()
    vouched = await whole.vouched(stored.uri)
    await whole.aclose()
    kind = request.node.callspec.params["s3"]
    assert vouched == (stored.sha256 if kind == "amazon-like" else None)


async def test_what_can_be_made_again_is_kept_once_and_over_nobodys(s3, store, seen) -> None:
    await store.check()
    seen.clear()
    uri = await store.keep("ad-1.jpg", b"poster", content_type="image/jpeg")
    assert uri == f"{store.address}/ad-1.jpg"
    assert len(seen) <= 2
    assert await store.keep("ad-1.jpg", b"poster", content_type="image/jpeg") == uri
    assert await store.keep("ad-1.jpg", b"another", content_type="image/jpeg") is None
    key = uri.removeprefix(f"s3://{s3.bucket}/")
    assert await asyncio.to_thread(s3.read, key) == b"poster"
    head = await asyncio.to_thread(s3.client().head_object, Bucket=s3.bucket, Key=key)
    assert head["ContentType"] == "image/jpeg"


async def test_a_store_in_trouble_keeps_no_picture_and_says_nothing(monkeypatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    store = bucket_store("videos")
    assert await store.keep("ad-1.jpg", b"poster", content_type="image/jpeg") is None
    await store.aclose()
