"""What a diagnosis finds of one part, and what helps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from callsheet.tasks.errors import CallsheetError, shorten

#: What is said of an error that brings no words of its own on what helps.
RUNBOOK = "docs/operations.md says what to do, by symptom"
#: What one part may meet that is no reason not to look at the others.
TROUBLE = (CallsheetError, OSError, ValueError)


@dataclass(frozen=True, kw_only=True)
class PlaceFinding:
    """One thing that was found: fine, worth a note, or wrong, and then what helps."""

    part: str
    verdict: Literal["ok", "note", "wrong"]
    words: str
    remedy: str | None = None


def ok(part: str, words: str) -> PlaceFinding:
    """Say that a part is as it has to be."""
    return PlaceFinding(part=part, verdict="ok", words=words)


def note(part: str, words: str, remedy: str) -> PlaceFinding:
    """Say what is worth knowing, and keeps nobody from working."""
    return PlaceFinding(part=part, verdict="note", words=words, remedy=remedy)


def wrong(part: str, words: str, remedy: str) -> PlaceFinding:
    """Say what has to be mended."""
    return PlaceFinding(part=part, verdict="wrong", words=words, remedy=remedy)


def wrong_by(part: str, error: Exception) -> PlaceFinding:
    """Say what an error says that kept a part from working, or from being looked at."""
    if isinstance(error, CallsheetError):
        return wrong(part, str(error), error.remedy or RUNBOOK)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({shorten(str(error.filename), 80)})" if error.filename else ""
        words = f"it cannot be checked: {error.strerror.lower()}{where}"
        return wrong(part, words, "see that the path is the right one, and that you may enter it")
    return wrong(part, f"it cannot be checked: {shorten(str(error))}", RUNBOOK)


def each_of(part: str, look: Callable[[], Iterable[PlaceFinding]]) -> list[PlaceFinding]:
    """Return what is found of a part; what keeps it from being looked at is a finding, too."""
    found: list[PlaceFinding] = []
    try:
        found.extend(look())
    except TROUBLE as error:
        found.append(wrong_by(part, error))
    return found


async def all_of(part: str, findings: AsyncIterator[PlaceFinding]) -> list[PlaceFinding]:
    """Do the same where looking takes waiting."""
    found: list[PlaceFinding] = []
    try:
        async for one in findings:
            found.append(one)
    except TROUBLE as error:
        found.append(wrong_by(part, error))
    return found
