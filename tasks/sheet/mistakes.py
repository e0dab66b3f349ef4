"""Names the first mistake in text that is meant to be JSON or YAML, in words.

The parsers' own words name their grammars, so what stands where they stopped is looked at instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from callsheet.tasks.runtime.errors import shorten

#: The line of a mistake, from 1, and what is wrong there.
Mistake = tuple[int, str]


# Mistakes in JSON: what may stand where the parser stopped, and what is said of it.


#: A part of the parser's message, what stands around the place where it stopped, which is marked
#: by NUL (the mistake is where the match begins), and the words. The first that fits is told.
_JSON = (
    ("control character", r"\S\s*\0", 'a quote (") is not closed before the line ends; in a text a '
     "line break is written \\n"),
    ("Unterminated", r"\0", 'a quote (") is not closed before the line ends; in a text a line '
     "break is written \\n"),
    ("escape", r"\0", "a backslash stands where JSON has no use for it: write it twice (\\\\)"),
    ("", r"\0(?P<told>(?://|#)[^\n]*|/\*.*?(?:\*/|\Z))",
     '"{told}" is a comment, and JSON has none: take it out'),
    ("", r",\s*\0(?P<told>[\]}])", "a comma stands before the closing {told}: take it out"),
    ("", r"\0,\s*(?P<told>[\]}])", "a comma stands before the closing {told}: take it out"),
    ("", r"\0,", "a comma has nothing before it: take it out"),
    ("", r"\A\s*\0\Z", "it is empty"),
    ("Extra data", r"\0", "it goes on after its end: put all rows into one list, [ ... ]"),
    ("", r"\0'(?P<told>(?:[^'\\\n]|\\.)*)'",
     '"{told}" stands in single quotes: JSON wants straight double ones (")'),
    ("", r"\0[“”„«»](?P<told>[^“”„«»\n]*)[“”„«»]",
     '"{told}" stands in curly quotes: JSON wants straight double ones (")'),
    ("", r"0\0(?P<told>[0-9][0-9.]*)",
     'the number 0{told} begins with 0: put quotes around it ("0{told}")'),
    ("':' delimiter", r"\S\s*\0", "a colon (:) is missing after the name"),
    ("',' delimiter", r"\S\s*\0\]", "}} is missing before the closing ]"),
    ("',' delimiter", r"\S\s*\0}", "] is missing before the closing }}"),
    ("',' delimiter", r'"\s*\0[^"{\[]', 'a quote (") stands inside a text: write \\" for it'),
    ("',' delimiter", r"\S\s*\0.", "a comma is missing at the end"),
    ("", r":\s*\0[,\]}]", 'a name has no value: write "" after its colon'),
    ("", r"\0True\b", "True is spelled true in JSON"),
    ("", r"\0False\b", "False is spelled false in JSON"),
    ("", r"\0None\b", "None is spelled null in JSON"),
    ("", r"\0(?P<told>[^\s,:\[\]{}\"]+)",
     '"{told}" stands without quotes: put straight ones (") around it'),
    ("", r"\0(?P<told>.)", "{told} stands where it cannot"),
)  # fmt: skip
#: Characters that are looked at before and after a place.
_NEAR = 200
_LANDMARK = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[\[\]{}]|\n')


def json_mistake(error: json.JSONDecodeError) -> Mistake:
    """Return the mistake at which the parser of JSON stopped."""
    text = error.doc
    place = len(text) - len(text[error.pos :].lstrip())
    begin = max(0, place - _NEAR)
    near = f"{text[begin:place]}\0{text[place : place + _NEAR]}"
    for said, around, words in _JSON:
        if said in error.msg and (found := re.search(around, near, re.DOTALL)):
            told = {name: shorten(part) for name, part in found.groupdict().items()}
            return _line_at(text, begin + found.start()), words.format(**told)
    return _never_closed(text)


def _line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _never_closed(text: str) -> Mistake:
    """Return the innermost bracket that is never closed."""
    opened = [("{", 0)]
    for landmark in _LANDMARK.finditer(text):
        if landmark[0] in ("{", "["):
            opened.append((landmark[0], landmark.start()))
        elif landmark[0] in ("}", "]") and len(opened) > 1:
            opened.pop()
    sign, place = opened[-1]
    closing = "]" if sign == "[" else "}"
    words = f"the {sign} that opens here is never closed: {closing} is missing"
    return _line_at(text, place), words


# Mistakes in YAML: the line at which the parser stopped is looked at, and those that lead to it.


_ENTRY = re.compile(
    r"(?P<start>[ ]*(?:-[ ]+)*(?P<key>[^\s:#\"'\[\]{}-][^:#\"']*):[ ]+)(?P<value>.*)"
)
_FLOW = re.compile(r"(?P<start>[ ]*(?:-[ ]+)*)(?P<value>[\[{].*)")
_WHOLE_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?""")
_START_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_NO_BLANK = re.compile(r"(?P<start>[ ]*(?:-[ ]+)*[A-Za-z_][\w .]*:)(?P<value>[^\s/].*)")
_NO_BLANK_AFTER_DASH = re.compile(r"(?P<start>[ ]*-)(?P<value>[A-Za-z_]\w*:(?:\s.*)?)")
_TAB = re.compile(r"[ ]*\t")


def yaml_mistake(text: str, error: Any) -> Mistake | None:
    """Return the mistake at which the parser of YAML stopped; None where no one can tell."""
    problem, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if problem is None:
        return None
    lines = text.split("\n")
    begun = problem.line if context is None else context.line
    for number in dict.fromkeys((problem.line, begun, _above(lines, problem.line))):
        line = lines[number] if 0 <= number < len(lines) else ""
        if words := next(_wrong(line, str(error.problem)), None):
            return number + 1, words
    return _misplaced(lines, problem.line, context, str(error.context))


def _above(lines: list[str], number: int) -> int:
    """Return the last line above that is not blank, or -1."""
    number -= 1
    while number >= 0 and not lines[min(number, len(lines) - 1)].strip():
        number -= 1
    return number


def _wrong(line: str, said: str) -> Iterator[str]:
    """Yield what is wrong with one line."""
    if _TAB.match(line):
        yield "the line begins with a tab: indent with spaces"
    if entry := _ENTRY.fullmatch(line) or _FLOW.fullmatch(line):
        yield from _wrong_value(entry["start"].strip(" -"), entry["value"].strip(), said)
    for sign, pattern in (("dash", _NO_BLANK_AFTER_DASH), ("colon", _NO_BLANK)):
        if glued := pattern.fullmatch(line):
            meant = f"{glued['start']} {glued['value']}"
            yield f'a blank is missing after the {sign}: write "{shorten(meant)}"'


def _wrong_value(name: str, value: str, said: str) -> Iterator[str]:
    """Yield what is wrong with a value."""
    first = value[:1]
    closing = {"[": "]", "{": "}"}.get(first)
    if first and first in "\"'":
        yield from _wrong_quotes(name, value, said)
    elif first == "|" and value[1:].strip(" +-0123456789"):
        yield "after | a text begins on the next line"
    elif closing and closing not in value:
        yield f"the {first} that opens here is never closed: {closing} is missing"
    elif first and (
        first in "@`%&*!"
        or (first == ">" and value[1:].strip(" +-"))
        or (first in "-?" and value[1:2] in ("", " "))
        or (closing and not value.endswith(closing))
    ):
        words = f"a text cannot begin with {first}: put quotes around it, like"
        yield f"{words} {_example(name, value)}"
    elif not closing and re.search(r":(?:\s|$)", re.split(r"\s#", value)[0]):
        yield f"a text with a colon in it needs quotes around it, like {_example(name, value)}"


def _wrong_quotes(name: str, value: str, said: str) -> Iterator[str]:
    first = value[0]
    inner = value[1:-1] if value.endswith(first) and len(value) > 1 else value
    if not _START_QUOTED.match(value):
        yield f"a quote ({first}) is opened and never closed"
    elif not _WHOLE_QUOTED.fullmatch(value):
        words = (
            f"the text goes on after its second {first}: put other quotes around all of it, like"
        )
        yield f"{words} {_example(name, inner)}"
    elif "escape" in said:
        words = "a backslash between double quotes means something else: use single ones, like"
        yield f"{words} {name} {_quoted(inner)}"


def _quoted(value: str) -> str:
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def _example(name: str, value: str) -> str:
    quote = "'" if '"' in value else '"'
    return f"{name} {quote}{shorten(value)}{quote}"


def _misplaced(lines: list[str], number: int, context: Any, said: str) -> Mistake:
    """Say that a line stands where nothing above leads to it."""
    if number >= len(lines):
        return len(lines), "the text ends where more is expected"
    if context is not None and ":" not in lines[context.line]:
        begun = _above(lines, context.line)
        if begun >= 0 and lines[begun].rstrip().endswith(("|", ">")):
            words = f"the line belongs to the text that line {begun + 1} begins: indent it further"
            return context.line + 1, words
        return context.line + 1, (
            'the line is no "name: value": if it goes on with the text above, indent it further, '
            "and put quotes around the whole text"
        )
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
    return number + 1, words


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
