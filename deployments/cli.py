"""`callsheet`: the command line.

Owns the words a person types and how errors are told. Every command lives in a file of its own
under `commands/` and is imported only when it is called, so that help answers at once.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from callsheet.deployments.parser import parse
from callsheet.tasks.runtime.redact import say, visible_json

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

    from callsheet.tasks.runtime.errors import CallsheetError, Problem


_ROOM = "free some space, then run the same command again; what was paid for is in the ledger"

#: How a remedy says that the command is to be run again, and with which options.
_AGAIN = re.compile(r"run the (?:same )?command again(?: with `([^`]*)`)?")

#: Commands that share the file of another command; there, the function has the command's name.
FILES = {
    "contact_sheet": "export",
    "logout": "login",
    "nights": "nightly",
    "schema": "tools",
    "show_plan": "plan",
    "webhooks": "video",
    "whoami": "login",
}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its exit status; or answer the shell that completes one."""
    if "_ARGCOMPLETE" in os.environ:
        from callsheet.deployments.completion import complete

        complete()
    _open_closed_streams()
    _outlive_readers()
    _escape_what_cannot_be_printed()
    sys.exit(execute(sys.argv[1:] if argv is None else argv))


def _open_closed_streams() -> None:
    """Lead standard streams that a person or a service manager closed (`>&-`) to nowhere.

    Otherwise the next file that is opened, such as a video, gets the number of the closed stream,
    and programs that we start write their messages into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The system gives the lowest number that is free.
            opened = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(opened, True)
            setattr(sys, name, os.fdopen(opened, "w" if number else "r", encoding="utf-8"))


class _Outliving(io.FileIO):
    """A standard stream whose reader may leave: what is written after that goes nowhere."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        super().__init__(stream.fileno(), "w", closefd=False)
        # Without it the file would be closed.
        self._stream = stream
        # A terminal that was closed answers EIO, as a broken disk does.
        self._gone = {errno.EPIPE, errno.EIO} if self.isatty() else {errno.EPIPE}

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in self._gone:
                raise
            return memoryview(data).nbytes


def _outlive_readers() -> None:
    """Go on where nobody reads any more what is printed (`callsheet run ... | head -1`).

    A run that has begun to pay is not to stop for that, nor to end with another status.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # Neither the consoles of Windows nor what tests put in place of a stream.
        if type(getattr(stream.buffer, "raw", stream.buffer)) is not io.FileIO:
            continue
        raw = _Outliving(stream)
        outliving = io.TextIOWrapper(
            raw if stream.write_through else io.BufferedWriter(raw),
            encoding=stream.encoding,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, outliving)


def _escape_what_cannot_be_printed() -> None:
    """Print letters that a terminal's encoding lacks as `\\u6f22`, which JSON reads as the letter.

    The consoles of Windows know 256 letters, and a title may have any.
    """
    import codecs

    def escaped(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        return json.dumps(error.object[error.start : error.end])[1:-1], error.end

    codecs.register_error("callsheet", escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="callsheet")


def execute(words: Sequence[str]) -> int:
    """Parse and run a command; every error becomes a sentence and an exit status."""
    from callsheet.tasks.runtime.errors import CallsheetError
    from callsheet.tasks.runtime.home import named_profile
    from callsheet.tasks.runtime.process import lasting, raise_file_limit
    from callsheet.tasks.runtime.suggest import remember_typed, suggest_for

    remember_typed(words)
    args = argparse.Namespace(json="--json" in words, verbose=False)
    if os.environ.get("CALLSHEET_LOG") == "json":
        # What is wrong with the words or the settings is told so, too.
        from callsheet.tasks.runtime.logs import log_as

        log_as("json")
    try:
        args = parse(words)
        _check_texts(words)
        args.profile = args.profile or named_profile(os.environ)
        suggest_for(args.profile, sandbox=getattr(args, "sandbox", False))
        # The servers that a command brings along inherit it.
        raise_file_limit()
        with lasting():
            name = args.command.replace("-", "_")
            command = importlib.import_module(
                f"callsheet.deployments.commands.{FILES.get(name, name)}"
            )
        start = getattr(command, name if name in FILES else "main")
        status: int = start(args)
        sys.stdout.flush()
        return status
    except CallsheetError as error:
        _tell(error, args)
        return error.exit_status
    except KeyboardInterrupt:
        again = "run the same command again to continue"
        say(_with_command(f"stopped; {again}"))
        if getattr(args, "json", False):
            # What was spent by then is not known here; the ledger has it.
            told = {"error": "stopped", "exit": 5, "spent": None, "remedy": again}
            print(visible_json(json.dumps(told)))
        return 5
    except Exception as error:
        return _tell_fault(error, args)


def _check_texts(words: Sequence[str]) -> None:
    """Raise BadInput where a folder, a word or a setting cannot be written down as it was given.

    Ledger and reports are UTF-8; Python reads names of files in the encoding of the locale.
    """
    from callsheet.tasks.runtime.errors import BadInput

    try:
        given = {"the path of the current folder": os.getcwd()}
    except FileNotFoundError:
        remedy = "change to another folder (`cd`), then run the command again"
        raise BadInput("the current folder was deleted", remedy=remedy) from None
    given |= {f"word {number} of the command": word for number, word in enumerate(words, start=1)}
    given |= {name: said for name, said in os.environ.items() if name.startswith("CALLSHEET_")}
    for what, text in given.items():
        try:
            text.encode()
        except UnicodeEncodeError:
            if sys.getfilesystemencoding() == "utf-8":
                raise BadInput(f"{what} is not UTF-8", remedy="write it in UTF-8") from None
            raise BadInput(
                f"{what} has letters that this locale cannot read",
                remedy="set LC_ALL=C.UTF-8 and PYTHONUTF8=1, then run it again",
            ) from None


def _tell(error: CallsheetError, args: argparse.Namespace) -> None:
    from textwrap import indent

    from callsheet.tasks.runtime.errors import NOTHING_SPENT, Parked, SheetError, grouped
    from callsheet.tasks.runtime.redact import one_line, redact, visible
    from callsheet.tasks.values.amounts import as_number

    found = (error.problems, error.notes) if isinstance(error, SheetError) else ((), ())
    problems, notes = ([one_line(redact(str(one))) for one in kind] for kind in found)
    for note in notes:
        say(f"note {note}")
    untold = [one for one in found[0] if one not in getattr(error, "told", ())]
    for problem in grouped(untold):
        if problem not in str(error):
            say(one_line(redact(problem)))
    words = one_line(redact(str(error)).rstrip("."))
    # Known, and not concluded from the exit status.
    if error.spent == 0 and NOTHING_SPENT not in words:
        words += f"; {NOTHING_SPENT}"
    say(f"callsheet: {words}")
    if isinstance(error, Parked):
        from callsheet.deployments.terminal import say_moment

        say(f"  not before {say_moment(error.until, up=True)}")
    remedy = redact(_filled(error.remedy, args)) if error.remedy else None
    if remedy:
        say(indent(visible(redact(_with_command(remedy))), "  "))
    if getattr(args, "json", False):
        told = {
            "error": words,
            "exit": error.exit_status,
            "spent": as_number(error.spent),
            "remedy": remedy,
        }
        document: dict[str, object] = {**error.document, **told}
        if problems:
            document["problems"] = problems
            document["places"] = [_place(one) for one in found[0]]
            document["notes"] = notes
        if isinstance(error, Parked):
            document["not_before"] = f"{error.until:%Y-%m-%dT%H:%M:%SZ}"
        print(visible_json(json.dumps(document, ensure_ascii=False)))
    if args.verbose:
        _tell_where(error)


def _place(problem: Problem) -> dict[str, object]:
    """Return where a problem is, for programs; its words are in `problems`, in the same order."""
    from callsheet.tasks.runtime.redact import redact

    value = None if problem.value is None else redact(problem.value)
    place = {"line": problem.line, "row": problem.row, "column": problem.column}
    return {**place, "value": value}


def _filled(remedy: str, args: argparse.Namespace) -> str:
    """Put the sheet that was named into the commands of a remedy."""
    sheet = getattr(args, "sheet", None)
    if not sheet or sheet == "-":
        return remedy
    return remedy.replace(" SHEET", f" {shlex.quote(sheet)}")


def _with_command(remedy: str) -> str:
    """Put the whole command below a remedy that says to run it again, for pasting."""
    from callsheet.tasks.runtime.redact import redact
    from callsheet.tasks.runtime.suggest import typed_again

    found = _AGAIN.search(remedy)
    command = typed_again(*shlex.split(found[1] or "")) if found else None
    # What signs an address is not shown, and without it the command would not work.
    return remedy if command is None or redact(command) != command else f"{remedy}:\n{command}"


def _leave_stdout() -> None:
    """Have what is left in its buffer go nowhere, instead of failing once more at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_fault(error: Exception, args: argparse.Namespace) -> int:
    """Say of what no command foresaw where it is told more of; return the exit status."""
    from callsheet.tasks.runtime.errors import CallsheetError
    from callsheet.tasks.runtime.redact import redact, visible

    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        # Not as a document: it may be stdout that has no room.
        args.json = False
        _tell(CallsheetError("the disk is full", remedy=_ROOM), args)
        _leave_stdout()
        return 1
    if args.verbose:
        _tell_where(error)
    say(
        f"callsheet: a fault in Callsheet: {visible(redact(str(error) or repr(error)))}\n"
        "  What was paid for is in the ledger (`callsheet status`). Run again with -v to see "
        "where it happened."
    )
    return 1


def _tell_where(error: Exception) -> None:
    """Show where an error comes from, without what was secret there."""
    import traceback

    from callsheet.tasks.runtime.redact import redact

    say(redact("".join(traceback.format_exception(error))))


if __name__ == "__main__":
    main()
