"""What is wrong in a text that is meant to be JSON, in words, and the text with it mended.

A mended text is used for nothing but to find what else is wrong. Mending moves no line.
"""

from __future__ import annotations

import json
import re

from callsheet.tasks.errors import shorten
from callsheet.tasks.sheet.findings import Mistake

_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_QUOTED = re.compile(r"'((?:[^'\\\n]|\\.)*)'|[“”„«»]([^“”„«»\n]*)[“”„«»]")
_NUMBER = re.compile(r"[0-9][0-9.]*")
_BARE = re.compile(r"[^\s,:\[\]{}\"]+")
_LANDMARK = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[\[\]{}]|\n')


def find_mistake(text: str, error: json.JSONDecodeError) -> Mistake:
    """Return the mistake at which the parser stopped."""
    stop = _Stop(text, error)
    ways = (stop.in_a_text, stop.comment, stop.comma, stop.end, stop.quotes, stop.zeros, stop.gap)
    found = next((mistake for way in ways if (mistake := way())), None)
    return found or stop.bare_word() or stop.says(f"{stop.here} stands where it cannot")


class _Stop:
    """Where the parser stopped: the next sign and the one before it, blanks left out."""

    def __init__(self, text: str, error: json.JSONDecodeError) -> None:
        self.text, self.error = text, error
        self.at = error.pos + len(text[error.pos :]) - len(text[error.pos :].lstrip())
        self.end_before = len(text[: self.at].rstrip())
        self.here = text[self.at : self.at + 1]
        self.previous = text[self.end_before - 1 : self.end_before]

    def says(self, words: str, place: int | None = None) -> Mistake:
        return Mistake(self.text.count("\n", 0, self.at if place is None else place) + 1, words)

    def mended(self, words: str, start: int, end: int, new: str) -> Mistake:
        text = self.text[:start] + new + self.text[end:]
        return self.says(words, start)._replace(mended=text)

    def in_a_text(self) -> Mistake | None:
        place, said = self.error.pos, self.error.msg
        if "control character" in said or "Unterminated" in said:
            words = (
                'a quote (") is not closed before the line ends; in a text a line break is written '
                "\\n"
            )
            return self.says(words, place)
        if "escape" in said:
            words = "a backslash stands where JSON has no use for it: write it twice (\\\\)"
            return self.mended(words, place, place + 1, "\\\\")
        return None

    def comment(self) -> Mistake | None:
        if not (found := _COMMENT.match(self.text, self.at)):
            return None
        words = f'"{shorten(found[0])}" is a comment, and JSON has none: take it out'
        return self.mended(words, self.at, found.end(), re.sub(r"[^\n]", " ", found[0]))

    def comma(self) -> Mistake | None:
        place = self.at if self.here == "," else self.end_before - 1
        following = self.text[place + 1 :].lstrip()[:1]
        if place < 0 or self.text[place] != ",":
            return None
        if following in ("]", "}"):
            words = f"a comma stands before the closing {following}: take it out"
        elif self.here == ",":
            words = "a comma has nothing before it: take it out"
        else:
            return None
        return self.mended(words, place, place + 1, " ")

    def end(self) -> Mistake | None:
        if not self.text.strip():
            return self.says("it is empty")
        if "Extra data" in self.error.msg:
            return self.says("it goes on after its end: put all rows into one list, [ ... ]")
        if self.here:
            return None
        sign, line = _last_open(self.text)
        closing = "]" if sign == "[" else "}"
        return Mistake(line, f"the {sign} that opens here is never closed: {closing} is missing")

    def quotes(self) -> Mistake | None:
        if not (found := _QUOTED.match(self.text, self.at)):
            return None
        inner = (found[1] or found[2] or "").replace("\\'", "'").replace('"', '\\"')
        kind = "single" if self.here == "'" else "curly"
        words = f'"{shorten(inner)}" stands in {kind} quotes: JSON wants straight double ones (")'
        return self.mended(words, self.at, found.end(), f'"{inner}"')

    def zeros(self) -> Mistake | None:
        start = self.end_before - 1
        if self.previous != "0" or not self.here.isdigit():
            return None
        number = _NUMBER.match(self.text, start)
        digits = number[0] if number else "0"
        words = f'the number {digits} begins with 0: put quotes around it ("{digits}")'
        return self.mended(words, start, start + len(digits), f'"{digits}"')

    def gap(self) -> Mistake | None:
        before = self.end_before
        if "':' delimiter" in self.error.msg:
            return self.mended("a colon (:) is missing after the name", before, before, ":")
        if "',' delimiter" in self.error.msg and self.here in "]}":
            missing = "}" if self.here == "]" else "]"
            words = f"{missing} is missing before the closing {self.here}"
            return self.mended(words, before, before, missing)
        if "',' delimiter" in self.error.msg:
            if self.previous == '"' and self.here not in '"{[':
                return self.says('a quote (") stands inside a text: write \\" for it')
            return self.mended("a comma is missing at the end", before, before, ",")
        if self.previous == ":" and self.here in ",]}":
            words = 'a name has no value: write "" after its colon'
            return self.mended(words, before, before, '""')
        return None

    def bare_word(self) -> Mistake | None:
        if not (word := _BARE.match(self.text, self.at)):
            return None
        words = f'"{shorten(word[0])}" stands without quotes: put straight ones (") around it'
        if word[0] in ("True", "False", "None"):
            plain = {"True": "true", "False": "false", "None": "null"}[word[0]]
            return self.mended(f"{word[0]} is spelled {plain} in JSON", self.at, word.end(), plain)
        return self.mended(words, self.at, word.end(), json.dumps(word[0]))


def _last_open(text: str) -> tuple[str, int]:
    """Return the innermost bracket that is never closed, and its line."""
    line = 1
    opened: list[tuple[str, int]] = [("{", 1)]
    for landmark in _LANDMARK.finditer(text):
        if landmark[0] == "\n":
            line += 1
        elif landmark[0] in ("{", "["):
            opened.append((landmark[0], line))
        elif landmark[0] in ("}", "]") and len(opened) > 1:
            opened.pop()
    return opened[-1]
