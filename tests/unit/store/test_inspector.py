"""Videos that are inspected by other processes, and what happens when one does not answer."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.store import Inspector, inspect_video
from tests.programs import ROOT

#: Libraries that would make it as large as the process that it helps.
LARGE = "boto3 botocore httpx aiohttp sqlalchemy pydantic prefect pyarrow numpy"
#: A stand-in for the process: what it does with a line, after it said that it is there.
ODD = """#!{python}
import json, os, sys, time
print("{{}}", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    {does}
"""


@pytest.fixture
async def inspector() -> AsyncIterator[Inspector]:
    inspector = Inspector("yes")
    yield inspector
    await inspector.aclose()


def odd(tmp_path: Path, does: str) -> str:
    """Return a program that takes the place of Python."""
    program = tmp_path / "odd"
    program.write_text(ODD.format(python=sys.executable, does=does))
    program.chmod(0o700)
    return str(program)


def gone(pid: int) -> bool:
    # It may go while its file is being read.
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


async def ends(pid: int) -> None:
    while not gone(pid):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def started(inspector: Inspector, path: Path) -> int:
    await inspector.inspect(path, "no")
    (pid,) = inspector.pids
    return pid


@pytest.mark.parametrize("pictures", ["yes", "poster", "no"])
async def test_it_finds_what_would_be_found_here(inspector, video_path, pictures):
    assert await inspector.inspect(video_path, pictures) == inspect_video(video_path, pictures)
    assert len(inspector.pids) == 1


async def test_a_file_that_is_no_video_is_refused_by_it(inspector, tmp_path):
    (tmp_path / "page.mp4").write_text("<html>sorry</html>")
    with pytest.raises(VideoError) as told:
        await inspector.inspect(tmp_path / "page.mp4", "no")
    with pytest.raises(VideoError) as told_here:
        inspect_video(tmp_path / "page.mp4", "no")
    assert str(told.value) == str(told_here.value)
    assert len(inspector.pids) == 1


@pytest.mark.safeguard("tasks/store/inspector.py", "        raise _Gone\n", "        return None\n")
@pytest.mark.merge
async def test_what_it_was_at_when_it_ended_is_inspected_by_another(inspector, video_path, caplog):
    found = inspect_video(video_path, "no")
    for _ in range(4):
        await inspector.inspect(video_path, "no")
        pid = inspector.pids[-1]
        # Frozen, lest it is done before it ends.
        os.kill(pid, signal.SIGSTOP)
        asked = [asyncio.ensure_future(inspector.inspect(video_path, "no")) for _ in range(5)]
        await asyncio.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        assert await asyncio.gather(*asked) == [found] * 5
        await ends(pid)
    assert "the process that inspects videos ended" in caplog.text
    assert "Unknown child" not in caplog.text


async def test_processes_that_ended_while_they_waited_cost_no_video(inspector, video_path):
    await asyncio.gather(*(inspector.inspect(video_path, "no") for _ in range(8)))
    waiting = inspector.pids
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)
        await ends(pid)
    assert await inspector.inspect(video_path, "no") == inspect_video(video_path, "no")


@pytest.mark.safeguard(
    "tasks/store/inspector.py",
    "async with asyncio.timeout(seconds):",
    "async with asyncio.timeout(seconds + 30):",
)
@pytest.mark.merge
async def test_one_that_hangs_is_ended_and_its_video_is_inspected_by_another(video_path, caplog):
    inspector = Inspector("yes", timeout=5.0)
    pid = await started(inspector, video_path)
    os.kill(pid, signal.SIGSTOP)
    async with asyncio.timeout(30):
        await inspector.inspect(video_path, "no")
    await ends(pid)
    assert "a video was not inspected in 5 s" in caplog.text
    assert await started(inspector, video_path) != pid
    await inspector.aclose()


@pytest.mark.safeguard(
    "tasks/store/inspector.py",
    'raise VideoError("the process that inspected',
    'return None and ("the process that inspected',
)
@pytest.mark.parametrize(
    "does",
    [
        "os.abort()",
        "time.sleep(60)",
        "print('no JSON', flush=True)",
        "print(json.dumps({{'inspection': 'fine'}}), flush=True)",
        "print(json.dumps({{'inspection': {{}}}}), flush=True)",
        "print('x' * (1 << 25), flush=True)",
    ],
)
async def test_a_video_that_ends_every_process_is_none_and_is_not_inspected_here(
    video_path, tmp_path, does
):
    inspector = Inspector("yes", python=odd(tmp_path, does.format()), timeout=1.0)
    with pytest.raises(VideoError, match="did not survive"):
        await inspector.inspect(video_path, "no")
    await inspector.aclose()


async def test_more_videos_than_there_are_processes_are_not_late(video_path, tmp_path):
    does = "time.sleep(0.3); print(json.dumps({{'wrong': 'slow'}}), flush=True)"
    inspector = Inspector("yes", python=odd(tmp_path, does.format()), timeout=1.5)
    asked = (inspector.inspect(video_path, "no") for _ in range(8 * (os.cpu_count() or 1)))
    told = {str(one) for one in await asyncio.gather(*asked, return_exceptions=True)}
    assert told == {"slow"}
    await inspector.aclose()


async def test_a_large_video_has_more_time(tmp_path):
    (tmp_path / "large.mp4").touch()
    os.truncate(tmp_path / "large.mp4", 60_000_000)
    does = "time.sleep(1.5); print(json.dumps({{'wrong': 'slow'}}), flush=True)"
    inspector = Inspector("yes", python=odd(tmp_path, does.format()), timeout=0.5)
    with pytest.raises(VideoError, match="slow"):
        await inspector.inspect(tmp_path / "large.mp4", "no")
    await inspector.aclose()


async def test_the_process_of_a_video_that_is_not_awaited_any_more_is_ended(inspector, video_path):
    pid = await started(inspector, video_path)
    os.kill(pid, signal.SIGSTOP)
    asked = asyncio.ensure_future(inspector.inspect(video_path, "yes"))
    await asyncio.sleep(0.01)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    assert gone(pid)
    another = await started(inspector, video_path)
    await inspector.aclose()
    assert gone(another)


@pytest.mark.merge
@pytest.mark.parametrize("use", ["no", "auto"])
async def test_a_few_videos_are_inspected_here(use, video_path):
    inspector = Inspector(use)  # type: ignore[arg-type]
    found = inspect_video(video_path, "no")
    for _ in range(100):
        assert await inspector.inspect(video_path, "no") == found
    assert inspector.pids == []
    await inspector.aclose()


async def test_many_at_once_are_inspected_by_it(video_path):
    inspector = Inspector("auto")
    async with asyncio.timeout(60):
        while not inspector.pids:
            await asyncio.gather(*(inspector.inspect(video_path, "no") for _ in range(16)))
    await inspector.aclose()


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/false"])
async def test_where_it_cannot_be_started_all_is_done_here(video_path, python):
    inspector = Inspector("yes", python=python)
    found = inspect_video(video_path, "no")
    for _ in range(3):
        assert await inspector.inspect(video_path, "no") == found
    await inspector.aclose()


async def test_it_hears_no_signal_of_the_terminal_and_sees_no_secret(video_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret")
    monkeypatch.setenv("CALLSHEET_API_KEY", "mav_secret")
    inspector = Inspector("yes")
    pid = await started(inspector, video_path)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid, number)
    assert await started(inspector, video_path) == pid == os.getpgid(pid)
    assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()
    await inspector.aclose()


async def test_it_dies_with_its_parent(video_path):
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from callsheet.tasks.store import Inspector\n"
        "async def main():\n"
        "    inspector = Inspector('yes')\n"
        "    await inspector.inspect(Path(sys.argv[1]), 'no')\n"
        "    print(*inspector.pids, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    words = [sys.executable, "-c", code, str(video_path)]
    parent = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE)  # noqa: ASYNC220
    pid = int(parent.stdout.readline())
    assert not gone(pid)
    parent.kill()
    parent.communicate()
    async with asyncio.timeout(10):
        await ends(pid)


async def test_a_file_that_someone_took_away_is_missed_as_it_is_here(inspector, tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        await inspector.inspect(tmp_path / "gone.mp4", "no")
