"""Lines of the log: one JSON object each, what they are about, and no secret in any of them."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from callsheet.tasks.runtime.logs import about, log_as, log_for_people, pass_on
from callsheet.tasks.runtime.redact import register_secret

SIGNED = "https://videos.example/f.mp4?X-Amz-Signature=0123abcdef&X-Amz-Date=20261122"
KEY = "mav_live_aVerySecretKey"


@contextmanager
def written() -> Iterator[io.StringIO]:
    """What is written to stderr meanwhile; logging is as it was afterwards."""
    handlers, level, stderr = list(logging.root.handlers), logging.root.level, sys.stderr
    sys.stderr = text = io.StringIO()
    try:
        yield text
    finally:
        log_as("text")
        sys.stderr = stderr
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
        logging.getLogger("callsheet").setLevel(logging.NOTSET)


class Lines:
    """The lines that are logged as JSON."""

    def __init__(self, text: io.StringIO) -> None:
        self.text = text

    def __call__(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.getvalue().splitlines()]


@contextmanager
def logged() -> Iterator[Lines]:
    with written() as text:
        log_as("json", "debug")
        yield Lines(text)


def test_a_line_has_time_level_logger_and_message():
    with logged() as lines:
        logging.getLogger("callsheet.engine").warning("%d rows", 3)

        (line,) = lines()
        assert line.pop("time").endswith("Z")
        assert line == {"level": "warning", "logger": "callsheet.engine", "message": "3 rows"}


def test_a_line_says_what_it_is_about_from_the_outside_in():
    with logged() as lines:
        log = logging.getLogger("callsheet.engine")
        with about(lambda: {"night": "2026-11-22", "campaign": None}):
            with about(lambda: {"campaign": "spring", "row": "r1", "take": 2}):
                log.info("inside", extra={"row": "r2"})
            log.info("outside")

        inside, outside = lines()
        found = {name: inside[name] for name in ("night", "campaign", "row", "take")}
        assert found == {"night": "2026-11-22", "campaign": "spring", "row": "r2", "take": 2}
        assert (outside["night"], outside.get("campaign"), outside.get("row")) == (
            "2026-11-22",
            None,
            None,
        )


@pytest.mark.parametrize("name", ["asyncio", "httpx", "uvicorn.of_a_test", "prefect.of_a_test"])
def test_a_traceback_of_anybody_is_in_one_line(name, monkeypatch):
    # A server of an earlier test may have kept its lines to itself.
    monkeypatch.setattr(logging.getLogger(name.partition(".")[0]), "propagate", True)
    with logged() as lines:
        try:
            raise ValueError(f"at {SIGNED}\nwith {KEY}")
        except ValueError:
            logging.getLogger(name).exception("it broke")

        (line,) = lines()
        assert (line["logger"], line["message"]) == (name, "it broke")
        assert "Traceback" in line["exception"]
        assert "ValueError: at https://videos.example/f.mp4?***" in line["exception"]
        assert "SecretKey" not in json.dumps(line)


@pytest.mark.safeguard(
    "tasks/runtime/logs.py",
    "json.dumps(redacted(line), ensure_ascii=False)",
    "json.dumps(line, ensure_ascii=False)",
)
def test_no_secret_is_in_any_field():
    with logged() as lines:
        register_secret("hush-hush-hush")
        with about(lambda: {"campaign": f"c {KEY}", "row": SIGNED}):
            logging.getLogger("callsheet.x").info(
                "go to %s with %s", SIGNED, {"token": "hush-hush-hush"}
            )
            print(f"at {SIGNED} for hush-hush-hush", file=sys.stderr)
        pass_on(
            json.dumps({"time": "t", "level": "info", "message": SIGNED, "token": "abc"}), part="b"
        )

        assert len(lines()) == 3
        assert not [word for word in ("0123abcdef", "SecretKey", "hush-hush", "abc\"")
                    if word in lines.text.getvalue()]  # fmt: skip


def test_what_is_printed_for_people_is_one_line_a_print():
    with logged() as lines:
        print("made .callsheet", file=sys.stderr)
        print("callsheet: no\n  do this", file=sys.stderr)
        print("half", end="", file=sys.stderr, flush=True)
        print("", file=sys.stderr)

        assert [(line["level"], line["message"]) for line in lines()] == [
            ("info", "made .callsheet"),
            ("error", "callsheet: no\n  do this"),
            ("info", "half"),
        ]
        assert not sys.stderr.isatty()


def test_what_nobody_caught_is_one_line():
    with logged() as lines:
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()

        (line,) = lines()
        assert line["level"] == "error"
        assert "ZeroDivisionError" in line["exception"]


def test_lines_of_parts_keep_their_own_words():
    with logged() as lines:
        said = {"time": "t", "level": "info", "logger": "callsheet.receiver", "message": "heard"}
        pass_on(json.dumps(said), part="receiver")
        pass_on("12:00:00 | plain words", part="prefect")
        pass_on('{"a number": 1}', part="board")

        own, plain, odd = lines()
        assert own == {**said, "part": "receiver"}
        assert (plain["part"], plain["message"]) == ("prefect", "12:00:00 | plain words")
        assert (odd["part"], odd["message"]) == ("board", '{"a number": 1}')


@pytest.mark.parametrize(
    ("form", "level", "verbose", "said"),
    [
        ("text", None, False, ["warning", "error"]),
        ("text", "error", False, ["error"]),
        ("text", "info", False, ["info", "warning", "error"]),
        ("text", None, True, ["debug", "info", "warning", "error"]),
        ("json", None, False, ["info", "warning", "error"]),
        ("json", "warning", False, ["warning", "error"]),
    ],
)
def test_the_level_says_what_is_logged(form, level, verbose, said):
    with written() as stderr:
        log_for_people(verbose=verbose)
        log_as(form, level)
        for one in ("debug", "info", "warning", "error"):
            getattr(logging.getLogger("callsheet.x"), one)("it")
            logging.getLogger("httpx").info("of others no more than from warnings on")

        found = stderr.getvalue().splitlines()
        levels = [json.loads(line)["level"] if form == "json" else line.split()[0].lower()
                  for line in found]  # fmt: skip
        assert levels == said


def test_text_is_as_it_was():
    with written() as stderr:
        log_as("json")
        log_as("text")
        log_for_people()
        logging.getLogger("callsheet.engine").warning("so")
        print("and so", file=sys.stderr)

        assert stderr.getvalue() == "WARNING callsheet.engine: so\nand so\n"
