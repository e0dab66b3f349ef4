"""What a diagnosis finds of one part, and what helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tasks.errors import CallsheetError


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


def note(part: str, words: str, remedy: str | None = None) -> PlaceFinding:
    """Say what is worth knowing, and keeps nobody from working."""
    return PlaceFinding(part=part, verdict="note", words=words, remedy=remedy)


def wrong(part: str, words: str, remedy: str | None = None) -> PlaceFinding:
    """Say what has to be mended."""
    return PlaceFinding(part=part, verdict="wrong", words=words, remedy=remedy)


def wrong_by(part: str, error: CallsheetError) -> PlaceFinding:
    """Say what an error says."""
    return wrong(part, str(error), error.remedy)
