"""What a page of the docs tells people to do: files to save, commands to type, words to click.

A page says it in blocks, in this order: a fenced block with `title="NAME"` is a file, a `console`
block has commands behind `$` and what they print. A console block with a title is a terminal of its
own, whose last command keeps running.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.programs import ROOT

DOCS = ROOT / "docs"


@dataclass(frozen=True)
class File:
    """A file that the reader saves."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that the reader types, and what the page says it prints."""

    words: str
    printed: str
    terminal: str = ""


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str


Step = File | Command | Prose


def steps_of(page: Path) -> Iterator[Step]:
    """Yield what a page says, in its order."""
    text = page.read_text(encoding="utf-8")
    prose: list[str] = []
    for found in re.finditer(r"^( *)```(\w+)(.*)\n((?s:.*?))^\1```$|^(.*)$", text, re.MULTILINE):
        indent, kind, title, block, line = found.groups()
        if kind is None and line.strip():
            prose.append(line.strip())
            continue
        if prose:
            yield Prose(" ".join(prose))
            prose = []
        if kind is not None:
            yield from _steps_in(kind, title, re.sub(f"^{indent}", "", block, flags=re.MULTILINE))
    if prose:
        yield Prose(" ".join(prose))


def _steps_in(kind: str, title: str, block: str) -> Iterator[Step]:
    name = next(iter(re.findall(r'title="([^"]+)"', title)), "")
    if kind != "console":
        if name:
            yield File(name, block)
        return
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        words, printed = re.match(r"((?:.*\\\n)*.*)\n?((?s:.*))", part).groups()  # type: ignore[union-attr]
        yield Command(words, printed, name)
