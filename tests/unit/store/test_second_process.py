"""Work that is done by a second process, and what becomes of it when that does not answer."""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.runtime.errors import StoreError, VideoError
from callsheet.tasks.store import File, SecondProcess, VideoFile, inspect_apart, open_store
from callsheet.tasks.store.inspection import inspect_closely_apart
from callsheet.tasks.store.second_process import load_answer
from tests.programs import ROOT

HERE = "done here"
#: Libraries that would make it as large as the process that it helps.
LARGE = "boto3 botocore httpx aiohttp sqlalchemy pydantic prefect pandas numpy"


@pytest.fixture
async def second() -> AsyncIterator[SecondProcess]:
    second = SecondProcess("yes")
    yield second
    await second.aclose()


async def here() -> Any:
    return HERE


def refuse(path: Path) -> None:
    raise StoreError(f"{path} is taken", permanent=True, conflict=True)


def slowly(path: Path) -> int:
    time.sleep(1.5)
    return os.getpid()


def break_oddly(_: object) -> None:
    raise OddError(lambda: None)


class OddError(Exception):
    """One that cannot be told to another process as it is."""


def gone(pid: int) -> bool:
    # It may go while its file is being read.
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


async def ends(pid: int) -> None:
    while not gone(pid):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_a_video_is_looked_at_and_stored_by_it(second, video, video_path, tmp_path) -> None:
    store = open_store(str(tmp_path / "videos"), second)
    pid = await second.do(os.getpid, here=here)
    found = await inspect_apart(video_path, second)
    closely = await inspect_closely_apart(video_path, "yes", second)
    spooled = tmp_path / "spooled.mp4"
    spooled.write_bytes(video)
    sha256 = "0" * 64
    with pytest.raises(StoreError, match="not what was downloaded"):
        await store.put(
            File(kind="mp4", name="a/a.mp4", source=spooled, sha256=sha256), metadata={}
        )
    assert found == closely.video == VideoFile(2.0, 320, 180, has_sound=True)
    assert closely.poster
    assert closely.strip
    assert not (tmp_path / "videos" / "a" / "a.mp4").exists()
    # It was not lost on the way, which would have had all of it done here.
    assert await second.do(os.getpid, here=here) == second.pid == pid != os.getpid()
    await store.aclose()


@pytest.mark.parametrize(
    ("work", "given", "error", "words"),
    [
        (refuse, Path("a.mp4"), StoreError, "a.mp4 is taken"),
        (break_oddly, 1, RuntimeError, "OddError"),
        (os.stat, "/nowhere", FileNotFoundError, "nowhere"),
    ],
)
async def test_what_goes_wrong_there_is_told_as_if_it_were_here(
    second: SecondProcess, work: Callable[..., Any], given: object, error: type, words: str
) -> None:
    with pytest.raises(error, match=words) as told:
        await second.do(work, given, here=here)
    if isinstance(told.value, StoreError):
        assert (told.value.permanent, told.value.conflict) == (True, True)


async def test_a_file_that_is_no_video_is_refused_by_it(second, tmp_path) -> None:
    (tmp_path / "page.mp4").write_text("<html>sorry</html>")
    with pytest.raises(VideoError):
        await inspect_apart(tmp_path / "page.mp4", second)


async def test_what_it_was_at_when_it_ended_is_done_here_and_it_is_started_again(
    second: SecondProcess, caplog: pytest.LogCaptureFixture
) -> None:
    pids = [await second.do(os.getpid, here=here)]
    for _ in range(2):
        waiting = [asyncio.ensure_future(second.do(time.sleep, 60, here=here)) for _ in range(3)]
        await asyncio.sleep(0)
        os.kill(pids[-1], signal.SIGKILL)
        assert await asyncio.gather(*waiting) == [HERE] * 3
        pids.append(await second.do(os.getpid, here=here))
    os.kill(pids[-1], signal.SIGKILL)
    await ends(pids[-1])

    # One that ends again and again is not started for ever.
    assert await second.do(os.getpid, here=here) == HERE
    assert len({*pids}) == 3
    assert "ended; what it was at is done here" in caplog.text


@pytest.mark.parametrize("when", ["before it is asked", "while it is at work"])
async def test_one_that_hangs_is_ended_and_its_work_is_done_here(
    when: str, caplog: pytest.LogCaptureFixture
) -> None:
    second = SecondProcess("yes", timeout=1.0)
    pid = await second.do(os.getpid, here=here)
    if when == "before it is asked":
        os.kill(pid, signal.SIGSTOP)
    waiting = [asyncio.ensure_future(second.do(time.sleep, 60, here=here)) for _ in range(5)]
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        assert await asyncio.gather(*waiting) == [HERE] * 5
    await ends(pid)

    # Another one is there for what comes next.
    assert await second.do(os.getpid, here=here) not in (HERE, pid)
    assert caplog.text.count("did not finish sleep in 1 s: it is ended") == 1
    await second.aclose()


async def test_work_that_waits_for_its_turn_is_not_late(caplog: pytest.LogCaptureFixture) -> None:
    second = SecondProcess("yes", timeout=1.5)
    await second.do(os.getpid, here=here)
    many = [second.do(time.sleep, 0.5, here=here) for _ in range(8 * (os.cpu_count() or 1))]
    assert await asyncio.gather(*many) == [None] * len(many)
    assert not caplog.text
    await second.aclose()


async def test_a_large_video_has_more_time(tmp_path: Path) -> None:
    (tmp_path / "large.mp4").touch()
    os.truncate(tmp_path / "large.mp4", 60_000_000)
    second = SecondProcess("yes", timeout=0.5)
    await second.do(os.getpid, here=here)
    assert await second.do(slowly, tmp_path / "large.mp4", here=here) == second.pid
    await second.aclose()


async def test_what_makes_no_sense_is_not_believed(second: SecondProcess) -> None:
    # It is of no module that this process has: it cannot be read, and is done here.
    code = (
        "import sys, types; odd = sys.modules['odd'] = types.ModuleType('odd'); "
        "odd.A = type('A', (), {'__module__': 'odd'})"
    )
    await second.do(exec, code, here=here)
    assert await second.do(eval, "__import__('odd').A()", here=here) == HERE


@pytest.mark.parametrize("call", ["__import__('os').system", "eval", "exec", "print"])
async def test_an_answer_calls_nothing(second: SecondProcess, tmp_path: Path, call: str) -> None:
    # What a video that took the second process over would answer with.
    (tmp_path / "here").mkdir()
    made = f"{tmp_path}/here/made"
    words = f"touch {made}" if "system" in call else f"open({made!r}, 'w')"
    code = f"type('A', (), {{'__reduce__': lambda _: ({call}, ({words!r},))}})()"

    assert await second.do(eval, code, here=here) == HERE

    assert not [*(tmp_path / "here").iterdir()]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("callsheet.tasks.store.second_process", "subprocess.Popen"),
        ("callsheet.tasks.store.folder", "Path"),
        ("this", "OSError"),
    ],
)
def test_what_a_module_of_ours_imports_is_nothing_to_answer_with(module: str, name: str) -> None:
    words = b"".join(b"\x8c" + bytes([len(word)]) + word.encode() for word in (module, name))
    with pytest.raises(pickle.UnpicklingError, match="nothing to answer with"):
        load_answer(b"\x80\x04" + words + b"\x93.")


async def test_whoever_goes_away_meanwhile_takes_nothing_along(
    second: SecondProcess, tmp_path: Path
) -> None:
    pid = await second.do(os.getpid, here=here)
    code = f"import time; time.sleep(0.2); open({str(tmp_path / 'a')!r}, 'w').close()"
    asked = asyncio.ensure_future(second.do(exec, code, here=here))
    await asyncio.sleep(0.05)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    await second.aclose()
    assert (tmp_path / "a").exists()
    assert gone(pid)


@pytest.mark.parametrize("use", ["no", "auto"])
async def test_a_little_work_is_done_here(use: str) -> None:
    second = SecondProcess(use)  # type: ignore[arg-type]
    for _ in range(100):
        assert await second.do(os.getpid, here=here) == HERE
    assert second.pid is None
    await second.aclose()


async def test_much_work_at_once_is_done_by_it(video_path: Path) -> None:
    second = SecondProcess("auto")

    async def some_time() -> object:
        await asyncio.sleep(0.001)
        return HERE

    async with asyncio.timeout(60):
        while second.pid is None:
            await asyncio.gather(*(second.do(os.getpid, here=some_time) for _ in range(16)))
    assert await second.do(os.getpid, here=here) == second.pid
    await second.aclose()


async def test_where_it_cannot_be_started_all_is_done_here() -> None:
    second = SecondProcess("yes", python="/nowhere/python")
    assert [await second.do(os.getpid, here=here) for _ in range(3)] == [HERE] * 3
    broken = SecondProcess("yes", python="/bin/false")
    assert await broken.do(os.getpid, here=here) == HERE
    await second.aclose()
    await broken.aclose()


async def test_it_hears_no_signal_of_the_terminal_and_sees_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret")
    monkeypatch.setenv("CALLSHEET_API_KEY", "mav_secret")
    second = SecondProcess("yes")
    environ = await second.do(eval, "dict(__import__('os').environ)", here=here)
    assert second.pid is not None
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(second.pid, number)
    assert await second.do(os.getpgid, 0, here=here) == second.pid
    assert "secret" not in str(environ)
    await second.aclose()


async def test_it_dies_with_its_parent() -> None:
    code = (
        "import asyncio, os, time\n"
        "from callsheet.tasks.store import SecondProcess\n"
        "async def main():\n"
        "    second = SecondProcess('yes')\n"
        "    print(await second.do(os.getpid, here=None), flush=True)\n"
        "    await second.do(time.sleep, 60, here=None)\n"
        "asyncio.run(main())\n"
    )
    words = [sys.executable, "-c", code]
    parent = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE)  # noqa: ASYNC220
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert not gone(pid)
    parent.kill()
    parent.communicate()
    async with asyncio.timeout(10):
        await ends(pid)


async def test_it_is_small(second: SecondProcess) -> None:
    code = f"[name for name in {LARGE.split()} if name in __import__('sys').modules]"
    assert await second.do(eval, code, here=here) == []


async def test_what_it_was_writing_when_it_hung_does_not_stay(tmp_path: Path) -> None:
    second = SecondProcess("yes", timeout=1.0)
    store = open_store(str(tmp_path), second)
    # This process has looked through the folder before.
    await store.replace("a/1.srt", b"1", content_type="text/plain")
    pid = await second.do(os.getpid, here=here)
    # As far as it comes: a draft without all of its bytes.
    (tmp_path / "a" / ".callsheet-0123456789abcdef.part").write_bytes(b"")
    os.kill(pid, signal.SIGSTOP)

    sha256 = hashlib.sha256(b"2").hexdigest()
    await store.put(File(kind="srt", name="a/2.srt", source=b"2", sha256=sha256), metadata={})

    assert sorted(file.name for file in (tmp_path / "a").iterdir()) == ["1.srt", "2.srt"]
    await store.aclose()
    await second.aclose()
