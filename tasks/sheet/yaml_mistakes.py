"""What is wrong in a text that is meant to be YAML, in words, and the text with it mended.

The parser's own words name its grammar, so the lines it points at are looked at instead. A mended
text is used for nothing but to find what else is wrong. Mending moves no line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from callsheet.tasks.errors import shorten
from callsheet.tasks.sheet.findings import Mistake

_ENTRY = re.compile(
    r"(?P<start>[ ]*(?:-[ ]+)*(?P<key>[^\s:#\"'\[\]{}-][^:#\"']*):[ ]+)(?P<value>.*)"
)
_FLOW = re.compile(r"(?P<start>[ ]*(?:-[ ]+)*)(?P<value>[\[{].*)")
_WHOLE_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?""")
_START_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_NO_BLANK = re.compile(r"(?P<start>[ ]*(?:-[ ]+)*[A-Za-z_][\w .]*:)(?P<value>[^\s/].*)")
_NO_BLANK_AFTER_DASH = re.compile(r"(?P<start>[ ]*-)(?P<value>[A-Za-z_]\w*:(?:\s.*)?)")
_FLOW_RATIO = re.compile(r"(?<=[\s{,])([0-9]+:[0-9]+)(?=\s*[,}])")
_TAB = re.compile(r"[ ]*\t")


def find_mistake(text: str, error: Any) -> Mistake | None:
    """Return the mistake at which the parser stopped, or None where nobody can tell."""
    problem, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    lines = text.split("\n")
    if problem is None:
        return None
    if (tabbed := _tabs(lines, problem.line)) is not None:
        return tabbed
    begun = problem.line if context is None else context.line
    for number in dict.fromkeys((problem.line, begun, _above(lines, problem.line))):
        if 0 <= number < len(lines):
            for words, line in _wrong(lines[number], str(error.problem)):
                mended = [*lines[:number], line or "", *lines[number + 1 :]]
                return Mistake(number + 1, words, "\n".join(mended) if line else None)
    return _misplaced(lines, problem.line, context, str(error.context))


def _above(lines: list[str], number: int) -> int:
    """Return the last line above that is not blank, or -1."""
    number -= 1
    while number >= 0 and not lines[min(number, len(lines) - 1)].strip():
        number -= 1
    return number


def _tabs(lines: list[str], number: int) -> Mistake | None:
    if number >= len(lines) or not _TAB.match(lines[number]):
        return None
    others = sum(bool(_TAB.match(line)) for line in lines) - 1
    also = f", and so {'does' if others == 1 else 'do'} {others} more" if others else ""
    return Mistake(number + 1, f"the line begins with a tab{also}: indent with spaces")


def _wrong(line: str, said: str) -> Iterator[tuple[str, str | None]]:
    """Yield what is wrong with one line, and the line as it was meant where that is clear."""
    ratio = _FLOW_RATIO.sub(r'"\1"', line)
    if "':'" in said and ratio != line:
        yield "", ratio
    if entry := _ENTRY.fullmatch(line) or _FLOW.fullmatch(line):
        start, value = entry["start"], entry["value"].strip()
        for words, meant in _wrong_value(start.strip(" -"), value, said):
            yield words, None if meant is None else f"{start}{meant}"
    for sign, pattern in (("dash", _NO_BLANK_AFTER_DASH), ("colon", _NO_BLANK)):
        if glued := pattern.fullmatch(line):
            meant = f"{glued['start']} {glued['value']}"
            yield f'a blank is missing after the {sign}: write "{shorten(meant)}"', meant


def _wrong_value(name: str, value: str, said: str) -> Iterator[tuple[str, str | None]]:
    """Yield what is wrong with a value, and how it was meant where that is clear."""
    first = value[:1]
    closing = {"[": "]", "{": "}"}.get(first)
    if first and first in "\"'":
        yield from _wrong_quotes(name, value, said)
    elif first == "|" and value[1:].strip(" +-0123456789"):
        yield "after | a text begins on the next line", None
    elif closing and closing not in value:
        yield f"the {first} that opens here is never closed: {closing} is missing", value + closing
    elif first and (
        first in "@`%&*!"
        or (first == ">" and value[1:].strip(" +-"))
        or (first in "-?" and value[1:2] in ("", " "))
        or (closing and not value.endswith(closing))
    ):
        words = f"a text cannot begin with {first}: put quotes around it, like"
        yield f"{words} {_example(name, value)}", _quoted(value)
    elif not closing and re.search(r":(?:\s|$)", re.split(r"\s#", value)[0]):
        words = "a text with a colon in it needs quotes around it, like"
        yield f"{words} {_example(name, value)}", _quoted(value)


def _wrong_quotes(name: str, value: str, said: str) -> Iterator[tuple[str, str | None]]:
    first = value[0]
    inner = value[1:-1] if value.endswith(first) and len(value) > 1 else value
    if not _START_QUOTED.match(value):
        yield f"a quote ({first}) is opened and never closed", f"{value}{first}"
    elif not _WHOLE_QUOTED.fullmatch(value):
        words = (
            f"the text goes on after its second {first}: put other quotes around all of it, like"
        )
        yield f"{words} {_example(name, inner)}", _quoted(inner)
    elif "escape" in said:
        words = "a backslash between double quotes means something else: use single ones, like"
        yield f"{words} {name} {_quoted(inner)}", _quoted(inner)


def _quoted(value: str) -> str:
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def _example(name: str, value: str) -> str:
    quote = "'" if '"' in value else '"'
    return f"{name} {quote}{shorten(value)}{quote}"


def _misplaced(lines: list[str], number: int, context: Any, said: str) -> Mistake:
    """Say that a line stands where nothing above leads to it."""
    if number >= len(lines):
        return Mistake(len(lines), "the text ends where more is expected")
    if context is not None and ":" not in lines[context.line]:
        return _keyless(lines, context.line)
    line, indent, above = lines[number], _indent(lines[number]), _above(lines, number)
    if "flow" in said:
        words = "something between the brackets cannot be read: is a comma missing or too much?"
    elif context is not None and indent == context.column and line.lstrip()[:1] != "-":
        words = (
            'the line begins a row without a dash: write "- " in front of it, or indent it like '
            "the other names of the row above"
        )
    else:
        spaces = "space" if indent == 1 else "spaces"
        words = (
            f"the line is indented by {indent} {spaces}, which fits nothing above it (line "
            f"{above + 1} has {_indent(lines[above])}): the names of a row stand exactly below "
            "each other"
        )
    return Mistake(number + 1, words)


def _keyless(lines: list[str], number: int) -> Mistake:
    above = _above(lines, number)
    if above >= 0 and lines[above].rstrip().endswith(("|", ">")):
        words = f"the line belongs to the text that line {above + 1} begins: indent it further"
    else:
        words = (
            'the line is no "name: value": if it goes on with the text above, indent it further, '
            "and put quotes around the whole text"
        )
    return Mistake(number + 1, words)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
