"""What is logged, and how a line of it looks: for people, or one JSON object a line.

The one place where logging is set up. What lines are about (campaign, row, take, night) is said by
`about` for all that is logged within. With JSON what is printed for people on stderr is a part of
the log, too: anyone who reads it finds no line that is none. Knows no settings but these two.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, TextIO

from callsheet.tasks.runtime.redact import install, redacted, visible_json

Form = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]
#: What a line may be about, as its record or `about` says it; `part` is one of `callsheet up`.
FIELDS = ("campaign", "row", "take", "night", "inbox", "part", "flow_run_id", "flow_run_name")
#: Lines for people at a terminal, and in a file that they read later.
BRIEF = "%(levelname)s %(name)s: %(message)s"
DATED = "%(asctime)s %(levelname)s %(message)s"
#: The logger of what is printed on stderr.
SAID = "callsheet.said"

Facts = Callable[[], Mapping[str, object]]
_about: ContextVar[tuple[Facts, ...]] = ContextVar("callsheet_about", default=())


class about:
    """`with about(facts):` lines say what `facts` returns at their moment; nothing until then."""

    __slots__ = ("_facts", "_token")

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def __enter__(self) -> None:
        self._token: Token[tuple[Facts, ...]] = _about.set((*_about.get(), self._facts))

    def __exit__(self, *_: object) -> None:
        _about.reset(self._token)


@dataclass(frozen=True)
class _Logging:
    """How it is logged now; without a level from warnings on, as JSON from information on."""

    form: Form = "text"
    level: Level | None = None
    verbose: bool = False
    layout: str = BRIEF

    @property
    def threshold(self) -> int:
        if self.verbose:
            return logging.DEBUG
        if self.level is not None:
            return logging.getLevelNamesMapping()[self.level.upper()]
        return logging.INFO if self.form == "json" else logging.WARNING


_now = _Logging()


def log_for_people(*, verbose: bool = False, layout: str = BRIEF) -> None:
    """Log on stderr in words, without secrets, unless JSON is asked for."""
    global _now
    _now = replace(_now, verbose=verbose, layout=layout)
    _set_up()


def log_as(form: Form, level: Level | None = None) -> None:
    """Log as the settings say; what is set up already for words stays where they say nothing."""
    global _now
    before, _now = _now, replace(_now, form=form, level=level)
    if form == "json" or before.form == "json":
        _set_up()
    elif level is not None:
        _set_levels()


def logs_json() -> bool:
    """Whether lines are JSON objects."""
    return _now.form == "json"


def pass_on(line: str, *, part: str) -> None:
    """Log a line that a part of ours, or Prefect's, wrote: as its own where that is JSON."""
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if isinstance(said, dict) and said.keys() >= {"time", "level", "message"}:
        under = sys.stderr.under if isinstance(sys.stderr, _Narration) else sys.stderr
        under.write(
            visible_json(json.dumps(redacted({**said, "part": part}), ensure_ascii=False)) + "\n"
        )
    else:
        logging.getLogger("callsheet.up").info("%s", line, extra={"part": part})


def _set_up() -> None:
    """Put one redacting handler on the root; third parties speak up from warnings on."""
    said = sys.stderr
    stderr = said.under if isinstance(said, _Narration) else said
    handler = logging.StreamHandler(stderr)
    install([handler])
    as_json = logs_json()
    handler.setFormatter(JsonLines() if as_json else logging.Formatter(_now.layout))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    _set_levels()
    sys.stderr = _Narration(stderr, handler) if as_json else stderr
    sys.excepthook = _log_uncaught if as_json else sys.__excepthook__
    threading.excepthook = _log_thread if as_json else threading.__excepthook__
    if as_json:
        _take_over(handler)


def _set_levels() -> None:
    logging.getLogger("callsheet").setLevel(_now.threshold)
    logging.root.setLevel(max(logging.WARNING, _now.threshold))


def _take_over(handler: logging.StreamHandler[TextIO]) -> None:
    """Have every logger that writes to the terminal by itself (Prefect's do) write such lines."""
    terminals = (handler.stream, sys.stderr, sys.__stderr__, sys.stdout, sys.__stdout__)
    for name in list(logging.root.manager.loggerDict):
        logger = logging.getLogger(name)
        for other in list(logger.handlers):
            stream = getattr(other, "stream", None)
            if isinstance(other, logging.StreamHandler) and stream in terminals:
                logger.removeHandler(other)
                logger.addHandler(handler)


class JsonLines(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, and what it is about."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line; its traceback is in it, and no secret."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(_facts(record))
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            line["exception"] = record.exc_text
        if record.stack_info:
            line["stack"] = record.stack_info
        return visible_json(json.dumps(redacted(line), ensure_ascii=False))


def facts_now() -> dict[str, object]:
    """Return what a line that were logged now would be about."""
    return {name: value for facts in _about.get() for name, value in _plain(facts())}


def _facts(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    for facts in _about.get():
        yield from _plain(facts())
    yield from _plain(vars(record))


def _plain(said: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name in FIELDS:
        value = said.get(name)
        if value is not None:
            yield name, value if isinstance(value, int) else str(value)


class _Narration(io.TextIOBase):
    """In the place of stderr: what is printed there for people becomes lines of the log.

    One `print` is one line, however many it would have been. It is no terminal: no one is asked
    anything where a program reads.
    """

    encoding = "utf-8"

    def __init__(self, under: TextIO, handler: logging.Handler) -> None:
        self.under = under
        self._handler = handler
        self._halves = threading.local()

    def write(self, text: str) -> int:
        whole = getattr(self._halves, "half", "") + text
        if whole.endswith("\n"):
            self._tell(whole)
        else:
            self._halves.half = whole
        return len(text)

    def flush(self) -> None:
        self._tell(getattr(self._halves, "half", ""))

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self.under.fileno()

    def _tell(self, text: str) -> None:
        self._halves.half = ""
        if words := text.strip("\n").rstrip():
            # So the command line begins what it ends with.
            ends = words.startswith(("callsheet: ", "Traceback "))
            level = logging.ERROR if ends else logging.INFO
            self._handler.handle(logging.LogRecord(SAID, level, "", 0, words, None, None))


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    logging.getLogger("callsheet").error("a fault in Callsheet", exc_info=(kind, error, trace))


def _log_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and args.exc_type is not SystemExit:
        _log_uncaught(args.exc_type, args.exc_value, args.exc_traceback)
