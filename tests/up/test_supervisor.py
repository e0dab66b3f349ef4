"""Programs that are kept up: in order, again when they die, and to their last words."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from callsheet.deployments.process import listen_on, origin_of
from callsheet.deployments.up.orphans import marked
from callsheet.deployments.up.programs import WITHIN, UpContext, board, is_answering
from callsheet.deployments.up.supervisor import LISTEN, SILENCES
from callsheet.deployments.up.up_file import last_up
from callsheet.tasks.runtime.errors import BadInput, CallsheetError
from callsheet.tasks.runtime.settings import load_settings
from tests.launcher import IMPORTS
from tests.programs import ROOT
from tests.up.conftest import Kept, keeping, until
from tests.web import Quiet, serving

pytestmark = pytest.mark.merge

SAYS = """
import json, time
print(json.dumps({"url": "http://here"}), flush=True)
time.sleep(600)
"""
DIES = "import sys; print('the disk is full', file=sys.stderr); sys.exit(7)"
#: Ends well the third time.
MENDS = """
import sys
from pathlib import Path
tries = Path(sys.argv[0] + 'tries')
count = int(tries.read_text()) + 1 if tries.exists() else 1
tries.write_text(str(count))
sys.exit(0 if count == 2 else 7)
"""


async def test_a_program_is_up_once_it_says_so(kept: Kept) -> None:
    kept.watch.keep(kept.program("board", SAYS, says=True))

    assert await kept.watch.are_up()

    found = last_up(kept.home)
    assert found.address("board") == "http://here"
    # Ctrl+C in our terminal does not reach it.
    pid = found.parts["board"].pid
    assert os.getsid(pid) == pid
    assert kept.watch.said("board") == {"url": "http://here"}


async def test_a_program_begins_after_what_it_needs(kept: Kept) -> None:
    note = kept.home / "made"
    first = f"import time; time.sleep(0.3); open({str(note)!r}, 'w').close()"
    kept.watch.keep(kept.program("deployments", first, once=True))
    then = f"import os, sys; os.stat({str(note)!r})\n{SAYS}"
    kept.watch.keep(kept.program("worker", then, says=True, needs=("deployments",)))

    assert await kept.watch.are_up()
    assert kept.watch.now.parts["worker"].restarts == 0


async def test_a_program_that_is_killed_is_started_again(kept: Kept) -> None:
    kept.watch.keep(kept.program("board", SAYS, says=True))
    await kept.watch.are_up()
    first = kept.watch.now.parts["board"].pid

    os.kill(first, signal.SIGKILL)

    await until(lambda: kept.watch.now.parts["board"].restarts == 1)
    await kept.watch.are_up()
    assert kept.watch.now.parts["board"].pid not in (None, first)
    again = "board | it was stopped by SIGKILL; restarting in 0 s"
    assert kept.told == ["board | is up", again, "board | is up"]


def take_its_log(kept: Kept) -> None:
    (kept.home / "up" / "board.log").unlink()


def stand_in_the_way(kept: Kept) -> None:
    """Leave no way to write down what is up, as a full disk does."""
    (kept.home / "up" / "up.tmp").mkdir()


@pytest.mark.parametrize("trouble", [take_its_log, stand_in_the_way])
async def test_trouble_with_files_ends_no_program(
    kept: Kept, trouble: Callable[[Kept], None]
) -> None:
    kept.watch.keep(kept.program("board", SAYS, says=True))
    await kept.watch.are_up()
    pid = kept.watch.now.parts["board"].pid
    trouble(kept)

    os.kill(pid, signal.SIGKILL)

    await until(lambda: kept.told[-1] == "board | is up" and len(kept.told) > 1)
    assert kept.watch.now.parts["board"].restarts == 1
    assert kept.watch.now.parts["board"].state == "up"


@pytest.mark.always
@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("print('hello', flush=True)\n" + SAYS, CallsheetError, "ended 3 times"),
        (DIES, CallsheetError, r"ended 3 times.*\n.*the disk is full"),
        ("raise SystemExit(2)", BadInput, "cannot be started"),
    ],
    ids=["says what nobody can read", "dies", "was given wrongly"],
)
async def test_what_does_not_come_up_is_the_end_with_its_last_words(
    kept: Kept, text: str, error: type[Exception], words: str
) -> None:
    kept.watch.keep(kept.program("board", text, says=True))

    with pytest.raises(error, match=words) as told:
        await kept.watch.are_up()

    assert error is BadInput or "board.log" in str(told.value.remedy)


@pytest.mark.always
async def test_a_program_that_mends_goes_on(kept: Kept) -> None:
    kept.watch.keep(kept.program("deployments", MENDS, once=True))

    assert await kept.watch.are_up()
    assert kept.watch.now.parts["deployments"].state == "done"


async def test_a_board_that_stands_still_is_replaced_and_a_slow_one_is_not(tmp_path: Path) -> None:
    settings = load_settings(environ={}, folder=tmp_path)
    with (
        listen_on(socket.AF_INET, ("127.0.0.1", 0), backlog=128) as listening,
        _counting(f"{origin_of(listening)}/live") as (page, asked),
    ):
        async with keeping(tmp_path, listen=0.05, within=0.25) as kept:
            around = UpContext(settings=settings, folder=tmp_path, mark=kept.mark)
            made = board(around, "127.0.0.1", listening, more=())
            environ = {**made.environ, "PYTHONPATH": IMPORTS}
            kept.watch.keep(replace(made, page=page, environ=environ))
            await kept.watch.are_up()
            pid = kept.watch.now.parts["board"].pid

            # Slow: it stands still most of the time, for twice as many questions as are allowed
            # to go without an answer.
            before = len(asked)
            while len(asked) < before + 2 * SILENCES:
                os.kill(pid, signal.SIGSTOP)
                await asyncio.sleep(0.1)
                os.kill(pid, signal.SIGCONT)
                await asyncio.sleep(0.05)
            assert kept.told == ["board | is up"]
            os.kill(pid, signal.SIGSTOP)
            await until(lambda: kept.watch.now.parts["board"].restarts == 1)
            await kept.watch.are_up()

            assert is_answering(page)
            assert kept.watch.now.parts["board"].pid not in (None, pid)
            hangs = f"board | it hangs: no answer to {SILENCES} checks"
            again = "board | it was stopped by SIGKILL; restarting in 0 s"
            assert kept.told == ["board | is up", hangs, again, "board | is up"]


def test_a_part_that_stands_still_is_killed_after_the_minutes_that_the_page_says() -> None:
    said = (ROOT / "docs" / "up.md").read_text()
    assert (LISTEN, SILENCES) == (30, 10)
    assert "every 30 seconds" in said
    assert "ten in a row unanswered" in said
    assert "after five minutes" in said
    # Waiting for an answer makes it no longer.
    assert WITHIN < LISTEN


@contextmanager
def _counting(page: str) -> Iterator[tuple[str, list[str]]]:
    """Serve what a page answers; yield where, and who asked."""
    asked: list[str] = []

    class Page(Quiet):
        def do_GET(self) -> None:
            asked.append(self.path)
            with suppress(OSError), urllib.request.urlopen(page, timeout=30) as answer:
                self.send_response(answer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

    with serving(Page) as url:
        yield url, asked


SERVES = """
import socket, sys, time
listening = socket.socket(fileno=int(sys.argv[1]))
answered, _ = listening.accept()
answered.recv(1000)
answered.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n")
time.sleep(600)
"""


async def test_a_port_is_ours_before_the_program_is_there_and_between_starts(kept: Kept) -> None:
    with listen_on(socket.AF_INET, ("127.0.0.1", 0), backlog=9) as listening:
        page = f"{origin_of(listening)}/api/health"
        program = kept.program("prefect", SERVES, answers=lambda _: is_answering(page))
        words = (*program.words, str(listening.fileno()))
        kept.watch.keep(replace(program, words=words, listening=listening))
        for restarts in range(2):
            # Somebody else's server never has it, however long ours takes.
            with pytest.raises(OSError, match="in use"):
                listen_on(socket.AF_INET, listening.getsockname(), backlog=9)
            await until(lambda n=restarts: kept.watch.now.parts["prefect"].restarts == n)
            await kept.watch.are_up()
            pid = kept.watch.now.parts["prefect"].pid
            os.kill(pid, signal.SIGKILL)
            await until(lambda n=restarts: kept.watch.now.parts["prefect"].restarts > n)


async def test_what_was_up_before_was_given_rightly(kept: Kept) -> None:
    away = kept.home / "away"
    refuses = f"""
import os
if os.path.exists({str(away)!r}):
    os.unlink({str(away)!r})
    raise SystemExit(2)
{SAYS}"""
    kept.watch.keep(kept.program("board", refuses, says=True))
    await kept.watch.are_up()
    pid = kept.watch.now.parts["board"].pid
    away.touch()

    os.kill(pid, signal.SIGKILL)

    await until(lambda: kept.told[-1] == "board | is up" and len(kept.told) > 1)
    assert kept.watch.now.parts["board"].restarts == 2


async def test_a_death_of_what_it_needs_is_not_its_own(kept: Kept) -> None:
    gone = kept.home / "gone"
    kept.watch.keep(kept.program("prefect", SAYS, says=True))
    needing = f"import os, sys\nif os.path.exists({str(gone)!r}): sys.exit(7)\n{SAYS}"
    kept.watch.keep(kept.program("worker", needing, says=True, needs=("prefect",)))
    await kept.watch.are_up()
    gone.touch()
    for part in ("prefect", "worker"):
        pid = kept.watch.now.parts[part].pid
        os.kill(pid, signal.SIGKILL)
    gone.unlink()

    await until(lambda: all(one.restarts for one in kept.watch.now.parts.values()))
    assert await kept.watch.are_up()


async def test_what_needs_others_ends_before_them_and_nothing_is_left(kept: Kept) -> None:
    order = kept.home / "order"
    tells = f"""
import signal, sys, time
def end(*_):
    time.sleep(0.5 if sys.argv[1] == 'worker' else 0)
    open({str(order)!r}, 'a').write(sys.argv[1] + ' ')
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
"""
    for name, needs in (("prefect", ()), ("worker", ("prefect",))):
        program = kept.program(name, tells.replace("sys.argv[1]", repr(name)) + SAYS, says=True)
        kept.watch.keep(type(program)(**{**vars(program), "needs": needs}))
    await kept.watch.are_up()

    kept.watch.stop()
    await kept.watch.end()

    assert order.read_text().split() == ["worker", "prefect"]
    assert marked(kept.mark) == {}


async def test_who_ends_what_is_left_is_there_again_when_killed(kept: Kept) -> None:
    def guards() -> list[psutil.Process]:
        found = []
        for one in psutil.Process().children():
            with suppress(psutil.NoSuchProcess):
                if one.cmdline()[-2:] == ["callsheet.deployments.up.orphans", kept.mark]:
                    found.append(one)
        return found

    await until(guards)
    (guard,) = guards()

    guard.kill()

    await until(lambda: [one for one in guards() if one != guard])


async def test_what_does_not_end_is_killed_when_asked_twice(kept: Kept) -> None:
    deaf = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SAYS}"
    kept.watch.keep(kept.program("board", deaf, says=True))
    await kept.watch.are_up()

    kept.watch.stop()
    kept.watch.stop()
    await kept.watch.end()

    assert marked(kept.mark) == {}
