"""How much of the program one row goes through: the files and functions that run for it.

    python -m tests.bench.trace        a table: a new row, a retake, an edit of one scene

What a newcomer has to follow is what this counts. The commands run in this process, without
Prefect, against a sandbox; imports are not counted, nor what another process does.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

from tests.programs import Desk, sandbox
from tests.repository import PROGRAM, ROOT

#: Parts of a function, and what imports run.
_NO_FUNCTIONS = ("<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
_SCENES, _OTHER_SCENES = ["One two three.", "Four five."], ["One two three.", "Six seven."]


def main() -> None:
    """Print what each of the three goes through."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "service").mkdir()
        with sandbox(folder / "service", "--time-scale", "600") as service:
            desk = Desk(folder, dict(service.environ))
            # What is done once in a process is no row's.
            _call(desk, *_run(desk, "warm", _SCENES))
            service.empty_list()
            for what, scenes in {
                "a new row": _SCENES,
                "a retake": _SCENES,
                "an edit of one scene": _OTHER_SCENES,
            }.items():
                with traced() as codes:
                    if what == "a retake":
                        _call(desk, "retake", "spring", "a", "--yes", "--json")
                    _call(desk, *_run(desk, "spring", scenes))
                files = {code.co_filename for code in codes}
                print(f"{what:24}{len(files):6} files{len(codes):7} functions")


@contextmanager
def traced() -> Iterator[set[CodeType]]:
    """Yield a set that gets the functions of the program that are called meanwhile."""
    ours = tuple(str(ROOT / "src" / "callsheet" / name) for name in PROGRAM)
    codes: set[CodeType] = set()

    def heard(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = event == "call" and code.co_name not in _NO_FUNCTIONS
        if is_function and code.co_filename.startswith(ours):
            codes.add(code)

    threading.setprofile(heard)
    sys.setprofile(heard)
    try:
        yield codes
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _call(desk: Desk, *words: str) -> None:
    ended = desk.call(*words)
    assert ended.status == 0, ended.err


def _run(desk: Desk, name: str, scenes: list[str]) -> tuple[str, ...]:
    """Write a sheet of one row, and return the words that run it."""
    row = {"id": "a", "title": name, "voice_id": "anna", "duration_seconds": 10}
    sheet = {"campaign": name, "rows": [{**row, "script": {"scenes": scenes}}]}
    path = desk.sheet(f"{name}.json", json.dumps(sheet))
    return ("run", path, "--yes", "--json", "--without-prefect")


if __name__ == "__main__":
    main()
