"""A download that goes well, or is cut and goes on."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import random
import signal
import stat
import sys
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import StoreError
from callsheet.tasks.store import Fetcher
from callsheet.tasks.store.spool import BLOCK
from tests.unit.store.video_server import Answer, Request, VideoServer, always, answer, cut, honest

DOWNLOAD = """
import asyncio, sys
from pathlib import Path
from callsheet.tasks.store import Fetcher

async def main():
    async def url(): return sys.argv[2]
    async with Fetcher(spool=Path(sys.argv[1]), allow_http=True) as fetcher:
        await fetcher.fetch("row-1", url)

asyncio.run(main())
"""


async def test_it_brings_every_byte_with_both_digests(fetcher, server, video, spool):
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.path.read_bytes() == video
    assert fetched.bytes == len(video)
    assert fetched.sha256 == hashlib.sha256(video).hexdigest()
    assert fetched.content_type == "video/mp4"
    assert [path.name for path in spool.iterdir()] == ["row-1"]
    # The spool is for this user alone.
    assert stat.S_IMODE(spool.stat().st_mode) == 0o700
    assert stat.S_IMODE(fetched.path.stat().st_mode) == 0o600


async def test_a_cut_is_resumed_where_it_happened(fetcher, server, video):
    server.plan += [cut(1000), cut(5000)]
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.sha256 == hashlib.sha256(video).hexdigest()
    assert [r.headers.get("range") for r in server.requests] == [None, "bytes=1000-", "bytes=6000-"]
    assert server.requests[1].headers["if-range"] == '"one"'


async def test_a_stalled_download_is_given_up_and_resumed(fetcher, server, video):
    head = answer(200, video[:700], length=len(video), stall=True, ETag='"one"')
    server.plan.append(always(head))
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.path.read_bytes() == video
    assert server.requests[1].headers["range"] == "bytes=700-"


async def test_another_etag_starts_over(fetcher, server, video):
    other = bytes(reversed(video))

    def changed(server: VideoServer, request: Request):
        server.data, server.etag = video, '"two"'
        return honest(server, request)

    server.data = other
    server.plan += [cut(1000), changed]
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video


async def test_a_part_of_another_video_is_never_joined_on(fetcher, server, video):
    rest = video[1000:]
    span = f"bytes 1000-{len(video) - 1}/{len(video)}"
    server.plan += [cut(1000), always(answer(206, rest, ETag='"two"', Content_Range=span))]
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.path.read_bytes() == video
    assert server.requests[2].headers.get("range") is None


@pytest.mark.parametrize("span", ["bytes 900-999/{n}", "bytes 1000-9/99", "nonsense", None])
async def test_a_part_from_elsewhere_starts_over(fetcher, server, video, span):
    said = span and span.format(n=len(video))
    wrong = answer(206, b"x" * 100, ETag='"one"', Content_Range=said)
    server.plan += [cut(1000), always(wrong)]
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video


async def test_without_a_strong_etag_a_cut_starts_over(fetcher, server, video):
    server.etag = 'W/"weak"'
    server.plan.append(cut(1000))
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video
    assert "range" not in server.requests[1].headers


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
async def test_an_expired_address_is_replaced_and_the_download_goes_on(
    fetcher, server, video, status
):
    asked = []

    async def fresh_url() -> str:
        asked.append(1)
        return server.url

    server.plan += [cut(1000), always(answer(status, b"<Error>expired</Error>"))]
    assert (await fetcher.fetch("row-1", fresh_url)).path.read_bytes() == video
    assert len(asked) == 2
    assert server.requests[2].headers["range"] == "bytes=1000-"


async def test_a_server_that_lied_about_the_length_is_asked_for_all_of_it(fetcher, server, video):
    def ten_times(server: VideoServer, request: Request) -> Answer:
        raw = honest(server, request).raw
        return Answer(raw.replace(b"Content-Length: ", b"Content-Length: 1"))

    server.plan.append(ten_times)
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video
    # Everything came; the rest it had promised was not there (416); then the whole video again.
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_busy_server_is_asked_again(fetcher, server, video, pauses, status):
    server.plan += [always(answer(status, Retry_After="7"))] * 2
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video
    # Never sooner than asked; chance adds up to a tenth, here all of it.
    assert pauses == pytest.approx([7.7, 7.7])


async def test_attempts_end_and_a_server_that_wants_an_hour_is_left_alone(
    fetcher, server, pauses
) -> None:
    server.plan += [always(answer(503))] * 5
    with pytest.raises(StoreError, match="answered 503") as caught:
        await fetcher.fetch("row-1", server.fresh_url)
    assert not caught.value.permanent
    assert (len(server.requests), pauses) == (5, [0.5, 1.0, 2.0, 4.0])
    server.plan.append(always(answer(503, Retry_After="3600")))
    with pytest.raises(StoreError):
        await fetcher.fetch("row-1", server.fresh_url)
    assert (len(server.requests), len(pauses)) == (6, 4)


async def test_compression_nobody_asked_for_is_undone(fetcher, server, video):
    packed = gzip.compress(video)
    server.plan += [
        always(answer(200, packed[:500], length=len(packed), Content_Encoding="gzip")),
        always(answer(200, packed, Content_Encoding="gzip", ETag='"gz"')),
    ]
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video
    assert "range" not in server.requests[1].headers


async def test_a_video_without_a_length_is_believed_when_its_boxes_add_up(fetcher, server, video):
    server.plan += [
        always(answer(200, video[:-200], length=None)),
        always(answer(200, video, length=None)),
    ]
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video
    assert len(server.requests) == 2


async def test_a_large_video_comes_block_by_block_through_cuts(fetcher, server, spool):
    server.data = _large()
    server.plan += [cut(3 * BLOCK + 7), cut(5), cut(2 * BLOCK)]
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.sha256 == hashlib.sha256(server.data).hexdigest()
    assert hashlib.sha256(fetched.path.read_bytes()).hexdigest() == fetched.sha256
    assert fetched.bytes == len(server.data)
    starts = [3 * BLOCK + 7, 3 * BLOCK + 12, 5 * BLOCK + 12]
    assert [r.headers.get("range") for r in server.requests[1:]] == [f"bytes={n}-" for n in starts]
    assert [path.name for path in spool.iterdir()] == ["row-1"]


def stalled(data: bytes):
    """Send half of a large video, and no more."""
    return always(answer(200, data[: 4 * BLOCK], length=len(data), stall=True, ETag='"one"'))


async def until_some_is_there(part: Path) -> None:
    async with asyncio.timeout(60):
        while not part.exists() or part.stat().st_size < BLOCK:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_download_that_is_cancelled_leaves_nothing(fetcher, server, spool) -> None:
    server.data = _large()
    server.plan.append(stalled(server.data))
    call = asyncio.create_task(fetcher.fetch("row-1", server.fresh_url))
    await until_some_is_there(spool / "row-1.part")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert list(spool.iterdir()) == []
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.sha256 == hashlib.sha256(server.data).hexdigest()
    assert "range" not in server.requests[1].headers


async def test_what_a_killed_download_left_is_thrown_away(fetcher, server, spool) -> None:
    server.data = _large()
    server.plan.append(stalled(server.data))
    words = ("-c", DOWNLOAD, str(spool), server.url)
    process = await asyncio.create_subprocess_exec(sys.executable, *words, cwd=Path.cwd())
    await until_some_is_there(spool / "row-1.part")
    process.send_signal(signal.SIGKILL)
    await process.wait()
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.path.read_bytes() == server.data
    assert "range" not in server.requests[1].headers
    assert [path.name for path in spool.iterdir()] == ["row-1"]


def _large() -> bytes:
    return random.Random(1).randbytes(8 * BLOCK + 12345)


@pytest.mark.parametrize(
    "signed",
    [
        "sig=a%2Fb%7E+c&x=%e2%82%ac&empty=&again=1&again=2",
        "Policy=eyJ{}|\\^`\"<>&Key-Pair-Id=~K'(1)*!;,$@[]",
        "sig=1?/:@%zz%&&==",
    ],
)
async def test_every_byte_of_a_signature_arrives_as_it_was_given(fetcher, server, signed):
    async def address() -> str:
        return f"http://127.0.0.1:{server.port}/a%2fb/../c;v=1//video.mp4?{signed}#part"

    await fetcher.fetch("row-1", address)
    (request,) = server.requests
    assert request.target == f"/a%2fb/../c;v=1//video.mp4?{signed}"
    assert "authorization" not in request.headers
    assert request.headers["accept-encoding"] == "identity"


async def test_names_that_are_paths_stay_in_the_spool(fetcher, server, spool):
    fetched = await fetcher.fetch("../../etc/passwd", server.fresh_url)
    assert fetched.path.parent == spool


async def test_two_downloads_of_one_name_do_not_mix(fetcher, server, spool):
    server.data = _large()
    server.plan.append(always(answer(200, server.data[: 2 * BLOCK], length=len(server.data))))
    tangled = []

    async def while_busy(_: float) -> None:
        with pytest.raises(StoreError, match="another run"):
            await fetcher.fetch("row-1", server.fresh_url)
        tangled.append(1)

    async with Fetcher(spool=spool, allow_http=True, sleep=while_busy) as cut_off:
        fetched = await cut_off.fetch("row-1", server.fresh_url)
    assert tangled
    assert Path(fetched.path).read_bytes() == server.data


async def test_a_server_that_ignores_range_is_read_from_the_start(fetcher, server, video) -> None:
    server.plan += [cut(1000), always(answer(200, video, ETag='"one"'))]
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video
