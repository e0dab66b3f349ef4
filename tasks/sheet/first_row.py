"""What would be made of the first rows of a sheet, in words: to be read before headers are settled.

A text that stands under the wrong name shows here and nowhere else: every reading of a sheet is
without a mistake to a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callsheet.tasks.runtime.errors import Problem, shorten
from callsheet.tasks.sheet.headers import canonical_header, is_kept_only
from callsheet.tasks.sheet.speech import spoken_texts
from callsheet.tasks.sheet.table import Sheet
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.briefs import Brief, Json

#: Characters of a text that are shown.
SHOWN = 300
#: What is told of a video before all else, and what it is called.
_WORDS = {
    "tool": "Tool",
    "language": "Language",
    "duration_seconds": "Seconds",
    "aspect_ratio": "Shape",
    "voice_id": "Voice",
}


#: What of a row is told, and of it.
Told = tuple[tuple[str, str], ...]


def first_rows(
    sheet: Sheet | None, most: int, problems: Sequence[Problem] = ()
) -> tuple[Told, ...]:
    """Return (what, text) of each of the first rows that are to be made, `most` of them.

    Of a row with `problems`, in which nothing can be relied on, it is what these are.
    """
    groups: dict[str, list[Brief]] = {}
    for brief in sheet.briefs if sheet else ():
        if brief.enabled and (len(groups) < most or (brief.variant_of or brief.row) in groups):
            groups.setdefault(brief.variant_of or brief.row, []).append(brief)
    wrong: dict[int | None, list[Problem]] = {}
    for one in problems:
        wrong.setdefault(one.line, []).append(one)
    return tuple(
        tuple(
            (what, shorten(text, SHOWN))
            for what, text in (
                _faulty(of_row[0], name, wrong[of_row[0].line])
                if of_row[0].line in wrong
                else _told(of_row[0], [one.row for one in of_row])
            )
            if text
        )
        for name, of_row in groups.items()
    )


def _faulty(brief: Brief, name: str, problems: Sequence[Problem]) -> Iterator[tuple[str, str]]:
    """Yield what the cells of a row say, and what is wrong with others of them."""
    yield "Row", name
    wrong = {one.column for one in problems}
    said = {canonical_header(header): text for header, text in brief.cells}
    for column, word in {"title": "Title", **_WORDS, "script": "Says"}.items():
        yield word, "" if column in wrong else said.get(column, "")
    for one in problems:
        value = f'"{shorten(one.value)}" ' if one.value else ""
        words = f"{one.column or one.cell or ''} {value}{one.message.partition('; ')[0]}"
        yield "To fix", words.strip()


def _told(brief: Brief, variants: list[str]) -> Iterator[tuple[str, str]]:
    yield "Row", brief.row
    if len(variants) > 1:
        yield "Videos", f"{count(len(variants), 'video')}: {', '.join(variants)}"
    request = dict(brief.request)
    yield "Title", _text(request.pop("title", None))
    for name, word in _WORDS.items():
        yield word, _text(request.pop(name, None))
    spoken = " / ".join(spoken_texts(request))
    yield "Says", spoken or ("what the tool writes" if "tool" in brief.request else "nothing")
    request.pop("script", None)
    request.pop("narration", None)
    inputs = request.pop("fields", None)
    for name, value in sorted(request.items()):
        yield name.replace("_", " ").capitalize(), _text(value)
    for name, value in inputs.items() if isinstance(inputs, dict) else ():
        yield f"Input {name}", _text(value)
    yield "Tags", ", ".join(brief.tags)
    yield "Notes", brief.notes or ""
    for header, text in brief.cells:
        if is_kept_only(canonical_header(header)):
            yield header, text


def _text(value: Json) -> str:
    return "" if value is None else str(value)
