"""Makes text safe to show: takes out secrets and control characters, also in every log record.

Owns the patterns. What has no shape of its own (a webhook secret) is registered by value.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

_NAMES = (
    r"X-Amz-[A-Za-z-]+|X-Goog-[A-Za-z-]+|AWSAccessKeyId|Key-Pair-Id|Signature|sig|Policy"
    r"|code_verifier|device_code|user_code|code|client_secret|api_key"
    r"|(?:access_|refresh_|claim_)?token"
    # What a database or an S3 client takes as a parameter of its address.
    r"|(?:ssl)?password|passwd|pwd|(?:aws_)?secret_access_key|aws_session_token"
)
_MEMBERS = (
    r"(?:access_|refresh_|claim_)?token|(?:client_|webhook_)?secret|api_key|device_code"
    r"|user_code|code_verifier|password"
)
PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(mav|clm|whsec|csb)_[A-Za-z0-9_.~+/=-]+"), r"\1_***"),
    (re.compile(r"\b(Bearer|Basic)\s+(?!\*)[A-Za-z0-9_.~+/=-]+", re.I), r"\1 ***"),
    (re.compile(r"(https?://)[^\s/@\"'<>]+@", re.I), r"\1***@"),
    # Of any other address (a database, a mail server) the user may be shown. A password may hold
    # signs that should have been quoted: it ends at the last @ before the host.
    (re.compile(r"([a-z][a-z0-9+.-]*://[^\s:/@?#\"'<>]*):[^\s\"'<>]+@", re.I), r"\1:***@"),
    # A signed address is a secret as a whole: whatever its parameters are called.
    (re.compile(r"(https?://[^\s?#\"'<>]+)[?#][^\s\"'<>]+", re.I), r"\1?***"),
    (re.compile(r"(/[^\s?#\"'<>]*)\?[\w.~%-]+=[^\s\"'<>]*"), r"\1?***"),
    (re.compile(rf"\b({_NAMES})=[^&\s\"'<>]+", re.I), r"\1=***"),
    (re.compile(rf"(\b(?:{_MEMBERS})[\"']\s*:\s*[\"'])[^\"']+", re.I), r"\1***"),
)
#: Without any of these a text holds nothing that a pattern finds: most words and names.
_SUSPECT = re.compile(r"[_/=:]|bearer|basic", re.I)
#: Members whose value is a secret whatever it looks like.
_SECRET = re.compile(r"(?:.*_)?(?:token|secret|api_key|password|signature)", re.I)
_QUIET = ("httpx", "httpcore", "hpack", "aiohttp", "botocore", "urllib3", "s3transfer")
_values: set[str] = set()
#: stderr is the whole process's: one report at a time.
_reporting = threading.RLock()


def register_secret(value: str) -> None:
    """Have `value` taken out of every text from now on; very short values are not taken."""
    plain = value.strip()
    if len(plain) >= 6:
        _values.add(plain)


def redact(text: str) -> str:
    """Return `text` without tokens, signatures and query strings of addresses."""
    for value in sorted(_values, key=len, reverse=True):
        text = text.replace(value, "***")
    if not _SUSPECT.search(text):
        return text
    for pattern, instead in PATTERNS:
        text = pattern.sub(instead, text)
    return text


def redacted(value: Any) -> Any:
    """Return `value` without tokens, secrets and the query strings of addresses."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {
            redact(str(name)): "***" if inner and _SECRET.fullmatch(str(name)) else redacted(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [redacted(inner) for inner in value]
    return value


def unsigned(address: str) -> str:
    """Return an address as it is, or without its query when something in that signs it."""
    signed = re.search(rf"[?&](?:{_NAMES})=", address, re.I)
    return redact(address) if signed else address


class RedactingFilter(logging.Filter):
    """Redacts message, traceback and stack of every record, and replaces control characters."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite `record` in place, so that a later handler sees it redacted too."""
        try:
            message = record.getMessage()
        except Exception:  # a wrong format string must not take the program down
            message = f"{record.msg} {record.args}"
        record.msg, record.args = visible(redact(message)), None
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        # Gone as an object, or a handler that draws its own tracebacks would show it whole.
        record.exc_info = None
        if record.exc_text:
            record.exc_text = visible(redact(record.exc_text))
        if record.stack_info:
            record.stack_info = visible(redact(record.stack_info))
        return True


def install(handlers: Iterable[logging.Handler]) -> None:
    """Redact what `handlers` write, and quieten libraries that log whole addresses.

    On handlers and not on a logger: a logger's filter does not see its children's records.
    """
    for handler in handlers:
        if not any(isinstance(known, RedactingFilter) for known in handler.filters):
            handler.addFilter(RedactingFilter())
            handler.handleError = _redacted(handler.handleError)  # type: ignore[method-assign, assignment]
    for name in _QUIET:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


def _redacted(report: Callable[[logging.LogRecord], None]) -> Callable[[logging.LogRecord], None]:
    """Return a handler's report of a record that it could not write, without secrets.

    logging prints it past every filter: the error, the lines of source it went through, and all.
    """

    def report_redacted(record: logging.LogRecord) -> None:
        with _reporting, redirect_stderr(StringIO()) as said:
            report(record)
        if said.getvalue() and sys.stderr:
            sys.stderr.write(visible(redact(said.getvalue())))

    return report_redacted


# Makes text from outside safe to show: a control character must not reach a terminal or a log.
#
# Escape sequences can clear a screen, write to the clipboard or hide what a line says; characters
# that change the direction of text can make it read as something else. Newlines and tabs stay.


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_INSTEAD = "\ufffd"
#: All that a program may take for the end of a line, and what is shown instead.
_BREAKS = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BREAK = "\u21b5"


def visible(text: str) -> str:
    """Return text with a replacement character for each control character."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub(_INSTEAD, text)


def one_line(text: str) -> str:
    """Return text on one line: a sign for each line break, and no control character.

    For a title, a tag or another text of a sheet among the lines that Callsheet writes. With a
    line break of its own it could pass for one of them.
    """
    if text.isascii() and text.isprintable():
        return text
    return visible(_BREAKS.sub(_BREAK, text))


def visible_json(document: str) -> str:
    """Return JSON with an escape for each control character: programs read the same text."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def say(words: str) -> None:
    """Say something to the person at the terminal, whatever reads stdout."""
    print(visible(words), file=sys.stderr, flush=True)


def control_fault(text: str) -> str | None:
    """Return what is wrong with text that has a control character, else None."""
    found = _CONTROLS.search(text.replace("\r\n", "\n"))
    return f"has a control character (U+{ord(found[0]):04X})" if found else None
