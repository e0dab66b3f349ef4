"""Names the first mistake in text that is meant to be JSON or YAML, in words.

The parsers' own words name their grammars, so what stands where they stopped is looked at instead.
"""

from __future__ import annotations

import json
import re
from typing import Any

from callsheet.tasks.runtime.errors import shorten

#: The line of a mistake, from 1, and what is wrong there.
Mistake = tuple[int, str]


# Mistakes in JSON: what may stand where the parser stopped, and what is said of it.


_UNCLOSED = 'a quote (") is not closed before the line ends; in a text a line break is written \\n'
#: A part of the parser's message, what stands around the place where it stopped, which is marked
#: by NUL (the mistake is where the match begins), and the words. The first that fits is told.
_JSON = (
    ("control character", r"\S\s*\0", _UNCLOSED),
    ("Unterminated", r"\0", _UNCLOSED),
    ("escape", r"\0", "a backslash stands where JSON has no use for it: write it twice (\\\\)"),
    ("", r"\0(?P<told>(?://|#)[^\n]*|/\*.*?(?:\*/|\Z))",
     '"{told}" is a comment, and JSON has none: take it out'),
    ("", r"(?:,\s*\0|\0,\s*)(?P<told>[\]}])",
     "a comma stands before the closing {told}: take it out"),
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
    ("", r"\0(?P<told>True|False|None)\b",
     "{told} is spelled otherwise in JSON: true, false or null"),
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
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"""
#: A part of the parser's message, what the value of a name begins with, and the words. The first
#: that fits is told.
_VALUES = (
    ("", rf"(?!{_QUOTED})(?P<told>[\"'])", "a quote ({told}) is opened and never closed"),
    ("", rf"(?!{_QUOTED}\s*(?:#|\Z))(?P<told>[\"'])",
     "the text goes on after its second {told}: put other quotes around all of it, like {like}"),
    ("escape", r"[\"']",
     "a backslash between double quotes means something else: use single ones, like {like}"),
    ("", r"\|[ +0-9-]*[^ +0-9-]", "after | a text begins on the next line"),
    ("", r"(?P<told>\[)(?!.*\])", "the {told} that opens here is never closed: ] is missing"),
    ("", r"(?P<told>{)(?!.*})", "the {told} that opens here is never closed: }} is missing"),
    ("", r"(?P<told>[@`%&*!]|>(?=[ +-]*[^ +-])|[?-](?= |\Z)|\[(?!.*\]\Z)|{(?!.*}\Z))",
     "a text cannot begin with {told}: put quotes around it, like {like}"),
    ("", r"[^\"'\[{](?:(?!\s#).)*?:(?:\s|\Z)",
     "a text with a colon in it needs quotes around it, like {like}"),
)  # fmt: skip
#: The same of a line in which no name has a value.
_LINES = (
    ("", r"[ ]*\t", "the line begins with a tab: indent with spaces"),
    ("", r"[ ]*(?P<told>-)(?P<value>[A-Za-z_]\w*:(?:\s.*)?)\Z",
     'a blank is missing after the dash: write "{told} {value}"'),
    ("", r"[ ]*(?P<told>(?:-[ ]+)*[A-Za-z_][\w .]*:)(?P<value>[^\s/].*)",
     'a blank is missing after the colon: write "{told} {value}"'),
)  # fmt: skip


def yaml_mistake(text: str, error: Any) -> Mistake | None:
    """Return the mistake at which the parser of YAML stopped; None where no one can tell."""
    problem, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if problem is None:
        return None
    lines = text.split("\n")
    begun = problem.line if context is None else context.line
    for number in dict.fromkeys((problem.line, begun, _above(lines, problem.line))):
        line = lines[number] if 0 <= number < len(lines) else ""
        if words := _wrong(line, str(error.problem)):
            return number + 1, words
    return _misplaced(lines, problem.line, context, str(error.context))


def _above(lines: list[str], number: int) -> int:
    """Return the last line above that is not blank, or -1."""
    number -= 1
    while number >= 0 and not lines[min(number, len(lines) - 1)].strip():
        number -= 1
    return number


def _wrong(line: str, said: str) -> str | None:
    """Return what is wrong with one line; None where nothing seems to be."""
    entry = _ENTRY.fullmatch(line) or _FLOW.fullmatch(line)
    text = entry["value"].strip() if entry else line
    for part, begins, words in _VALUES if entry else _LINES:
        if part in said and (found := re.match(begins, text)):
            told = {name: shorten(one) for name, one in found.groupdict().items()}
            return words.format(**told, like=_example(entry["start"], text) if entry else "")
    return None


def _example(start: str, value: str) -> str:
    """Return an entry with quotes around its value that leave it as it is."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    single = '"' in value or "\\" in value
    quoted = "'" + shorten(value.replace("'", "''")) + "'" if single else f'"{shorten(value)}"'
    return f"{start.strip(' -')} {quoted}".strip()


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
