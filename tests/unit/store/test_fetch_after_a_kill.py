"""What another process makes of the part that a killed one left."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

from callsheet.tasks.store.spool import Part, Source
from tests.unit.store.video_server import VideoServer, answer, cut

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


async def _killed_download(server: VideoServer, spool: Path, at_least: int) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DOWNLOAD, str(spool), server.url, cwd=Path.cwd()
    )
    part, note = spool / "row-1.part", spool / "row-1.part.json"
    for _ in range(600):
        if note.exists() and part.exists() and part.stat().st_size >= at_least:
            break
        await asyncio.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert part.stat().st_size >= at_least


def _stalling(server: VideoServer, request: object):
    half = len(server.data) // 2
    return answer(200, server.data[:half], length=len(server.data), stall=True, ETag=server.etag)


async def test_a_killed_download_is_resumed_by_the_next_process(
    fetcher, server, video, spool
) -> None:
    server.data = video * 16  # more than what is hashed and written at a time
    server.plan.append(_stalling)
    await _killed_download(server, spool, at_least=256 * 1024)
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.path.read_bytes() == server.data
    start = int(server.requests[1].headers["range"].removeprefix("bytes=").rstrip("-"))
    assert start >= 256 * 1024


async def test_a_part_without_its_note_is_begun_again(fetcher, server, video, spool) -> None:
    spool.mkdir()
    (spool / "row-1.part").write_bytes(b"of unknown origin")
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video
    assert "range" not in server.requests[0].headers


async def test_a_part_from_before_a_restart_of_the_machine_is_begun_again(
    fetcher, server, video, spool
) -> None:
    spool.mkdir()
    (spool / "row-1.part").write_bytes(b"\0" * 1000)
    note = {"etag": '"one"', "total": len(video), "content_type": None, "boot": "another"}
    (spool / "row-1.part.json").write_text(json.dumps(note))
    assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video
    assert "range" not in server.requests[0].headers


async def test_a_broken_note_is_no_obstacle(fetcher, server, video, spool) -> None:
    spool.mkdir()
    (spool / "row-1.part").write_bytes(b"x")
    for note in ("", "[]", '{"boot": 1}', '{"surprise": 1, "boot": null}', "\x00"):
        (spool / "row-1.part.json").write_text(note)
        assert (await fetcher.fetch("row-1", server.fresh_url)).path.read_bytes() == video


async def test_a_part_that_was_already_whole_is_not_sent_again(
    fetcher, server, video, spool
) -> None:
    server.plan.append(cut(len(video) - 1))
    # The last byte arrives by a second process, which dies before it can give the file its name.
    part_bytes = video
    spool.mkdir()
    (spool / "row-1.part").write_bytes(part_bytes)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    note = {"etag": '"one"', "total": len(video), "content_type": "video/mp4", "boot": boot}
    (spool / "row-1.part.json").write_text(json.dumps(note))
    server.plan.clear()
    fetched = await fetcher.fetch("row-1", server.fresh_url)
    assert fetched.path.read_bytes() == video
    assert fetched.content_type == "video/mp4"
    assert len(server.requests) == 1


async def test_an_old_note_does_not_vouch_for_new_bytes(spool) -> None:
    first = Part(spool, "row-1")
    first.begin(Source('"one"', 10**6))
    first.take(b"1" * 300_000)
    first.put(first.block())
    first.close()
    second = Part(spool, "row-1")
    second.resume()
    assert second.size == 300_000
    second.begin(Source(None, 10**6))  # The same address, now answered without an ETag.
    second.take(b"2" * 300_000)
    second.put(second.block())
    second.close()
    third = Part(spool, "row-1")
    third.resume()
    assert third.size == 0
