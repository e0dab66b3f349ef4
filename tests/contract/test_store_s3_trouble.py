"""The bucket store when the bucket, the keys or the network give trouble."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import traceback
from collections.abc import AsyncIterator, Iterator

import pytest
from aiohttp import web

from callsheet.tasks.runtime.errors import StoreError, StoreUnusable
from callsheet.tasks.store import File
from callsheet.tasks.store.bucket import BucketStore
from tests.stores import S3Server, bucket_store, moto_s3
from tests.unit.store.s3_proxy import S3Proxy, checking, refusal, s3_proxy

pytestmark = pytest.mark.merge

VIDEO = b"video" * 1000
SHA256 = hashlib.sha256(VIDEO).hexdigest()


@pytest.fixture(scope="module")
def moto() -> Iterator[S3Server]:
    with moto_s3() as server:
        yield server


@pytest.fixture
async def proxy(moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[S3Proxy]:
    async with s3_proxy(moto, checking) as proxy:
        for name, value in proxy.server.environment().items():
            monkeypatch.setenv(name, value)
        yield proxy


@pytest.fixture
async def store(proxy: S3Proxy, request: pytest.FixtureRequest) -> AsyncIterator[BucketStore]:
    store = bucket_store(hashlib.sha256(request.node.name.encode()).hexdigest()[:12])
    yield store
    await store.aclose()


async def _put(store: BucketStore, data: bytes = VIDEO):
    sha256 = hashlib.sha256(data).hexdigest()
    file = File(name="video.mp4", source=data, kind="mp4", sha256=sha256)
    return (await store.put(file, metadata={}))[0]


def _first(times: int, method: str, answer):
    """Make trouble for the first requests with `method`, then behave."""
    left = [times]

    async def trouble(request, body, forward):
        if request.method == method and left[0]:
            left[0] -= 1
            return await answer(request, body, forward)
        return await checking(request, body, forward)

    return trouble


def _refusing(status: int, code: str, header: str = "host", value: str = ""):
    """Refuse what has a header, of this value if one is given, and behave otherwise."""

    async def trouble(request, body, forward):
        if header in request.headers and value in request.headers[header]:
            return refusal(status, code)
        return await checking(request, body, forward)

    return trouble


async def test_a_lost_answer_to_an_upload_is_found_out(store, proxy):
    await store.check()

    async def stored_but_silent(request, body, forward):
        assert (await forward()).status == 200

    proxy.trouble = _first(1, "PUT", stored_but_silent)
    proxy.seen.clear()
    stored = await _put(store)
    assert stored.sha256 == SHA256
    assert proxy.count("PUT") == 2


@pytest.mark.parametrize(
    ("status", "code"),
    [(503, "SlowDown"), (500, "InternalError"), (409, "ConditionalRequestConflict"),
     (400, "RequestTimeout"), (400, "BadDigest"), (429, "TooManyRequests")],
)  # fmt: skip
async def test_trouble_that_passes_is_sat_out(store, proxy, status, code):
    await store.check()
    proxy.trouble = _first(3, "PUT", _refusing(status, code))
    assert (await _put(store)).sha256 == SHA256


async def test_attempts_at_a_busy_store_end(store, proxy):
    await store.check()
    proxy.trouble = _refusing(503, "SlowDown")
    proxy.seen.clear()
    with pytest.raises(StoreError, match="SlowDown") as caught:
        await _put(store)
    assert not caught.value.permanent
    assert proxy.count("PUT") == 5


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "is denied"),
        (400, "ExpiredToken", "expired"),
        (403, "InvalidAccessKeyId", "access key"),
        (403, "SignatureDoesNotMatch", "secret key"),
        (400, "AuthorizationHeaderMalformed", "another region"),
        (403, "RequestTimeTooSkewed", "clock"),
        (507, "XMinioStorageFull", "full"),
        (403, "SomethingNew", "SomethingNew"),
    ],
)
async def test_trouble_that_stays_is_told_in_a_sentence(store, proxy, caplog, status, code, words):
    caplog.set_level(logging.INFO)
    await store.check()
    proxy.trouble = _first(99, "PUT", _refusing(status, code))
    proxy.seen.clear()
    with pytest.raises(StoreError, match=words) as caught:
        await _put(store)
    assert caught.value.permanent
    assert proxy.count("PUT") == 1
    fresh = bucket_store("other")
    with pytest.raises(StoreUnusable, match=words) as unusable:
        await fresh.check()
    assert unusable.value.remedy
    told = [*traceback.format_exception(caught.value), *traceback.format_exception(unusable.value)]
    assert "canary" not in "".join(told) + caplog.text
    await fresh.aclose()


async def test_keys_that_may_write_but_not_look_are_found_out(store, proxy):
    async def forbidden(request, body, forward):
        return web.Response(status=403)

    proxy.trouble = _first(99, "HEAD", forbidden)
    with pytest.raises(StoreUnusable, match="denied") as caught:
        await store.check()
    assert "s3:GetObject" in caught.value.remedy


async def test_a_store_that_refuses_checksum_headers_gets_md5(store, proxy):
    async def old(request, body, forward):
        if "x-amz-checksum-sha256" in request.headers:
            return refusal(501, "NotImplemented")
        md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
        if request.method == "PUT" and request.headers.get("content-md5") != md5:
            return refusal(400, "BadDigest")
        return await forward()

    proxy.trouble = old
    await store.check()
    abilities = await store._known()
    assert (abilities.digest, abilities.checks, abilities.conditional) == ("md5", True, True)
    assert (await _put(store)).sha256 == SHA256


async def test_a_store_that_wants_signed_bodies_gets_them(store, proxy):
    proxy.trouble = _refusing(400, "InvalidRequest", "x-amz-content-sha256", "UNSIGNED-PAYLOAD")
    await store.check()
    assert (await _put(store)).sha256 == SHA256


async def test_an_answer_that_names_another_digest_proves_nothing(store, proxy):
    await store.check()

    async def forgetful(request, body, forward):
        if request.method == "PUT":
            return web.Response(headers={"ETag": '"0"', "x-amz-checksum-sha256": "AAAA"})
        return await checking(request, body, forward)

    proxy.trouble = forgetful
    with pytest.raises(StoreError, match="not what was sent"):
        await _put(store)


async def test_a_store_that_refuses_conditions_is_looked_at_first(store, proxy, caplog):
    proxy.trouble = _refusing(501, "NotImplemented", "if-none-match")
    await store.check()
    assert "looks before it writes" in caplog.text
    await _put(store)
    with pytest.raises(StoreError) as caught:
        await _put(store, b"other")
    assert caught.value.conflict


async def test_a_busy_moment_during_the_check_does_not_lower_the_guard(store, proxy):
    proxy.trouble = _refusing(503, "SlowDown", "if-none-match")
    with pytest.raises(StoreUnusable):
        await store.check()
    proxy.trouble = checking
    await store.check()
    assert (await store._known()).conditional


@pytest.mark.safeguard("tasks/store/bucket.py", "if there != wanted:", "if there is None:")
async def test_bytes_that_change_on_the_way_are_noticed(store, proxy):
    """A store that checks nothing, and a network that changes a byte."""

    async def careless(request, body, forward):
        answer = await forward()
        if request.method == "GET" and "list-type" not in request.query:
            return web.Response(body=b"X" + answer.body[1:], headers={"ETag": '"e"'})
        return answer

    proxy.trouble = careless
    with pytest.raises(StoreError, match="not what was sent"):
        await _put(store)


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, "no credentials"),
        ({"AWS_PROFILE": "nobody"}, "profile does not exist"),
        ({"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}, "127.0.0.1"),
        ({"AWS_ENDPOINT_URL_S3": "http://nowhere.invalid"}, "nowhere.invalid"),
        ({"AWS_ENDPOINT_URL_S3": "localhost:9000"}, "not an address"),
    ],
)
async def test_a_store_that_cannot_be_used_says_why(proxy, monkeypatch, environ, words):
    for name, value in environ.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    store = bucket_store()
    with pytest.raises(StoreUnusable, match=words) as caught:
        await asyncio.wait_for(store.check(), 30)
    assert caught.value.remedy
    await store.aclose()


async def test_a_video_too_large_for_one_upload_is_told_so(store, tmp_path):
    path = tmp_path / "video.mp4"
    with path.open("wb") as file:
        file.truncate(5 * 1024**3 + 1)
    file = File(name="f.mp4", source=path, kind="mp4", sha256=SHA256)
    with pytest.raises(StoreError, match="larger than") as caught:
        await store.put(file, metadata={})
    assert caught.value.permanent
