"""What would be made of the first row of a sheet, in words: to be read before headers are settled.

A text that stands under the wrong name shows here and nowhere else: every reading of a sheet is
without a mistake to a program.
"""

from __future__ import annotations

from collections.abc import Iterator

from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.sheet.headers import canonical_header, is_kept_only
from callsheet.tasks.sheet.speech import spoken_texts
from callsheet.tasks.sheet.table import Sheet
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.briefs import Brief, Json

#: Characters of a text that are shown.
SHOWN = 300
_WORDS = {"aspect_ratio": "Shape", "duration_seconds": "Seconds", "voice_id": "Voice"}


def first_row(sheet: Sheet | None) -> tuple[tuple[str, str], ...]:
    """Return (what, text) of the first row that can be made; nothing where none can be."""
    brief = next((one for one in sheet.briefs if one.enabled), None) if sheet else None
    if sheet is None or brief is None:
        return ()
    variants = [one.row for one in sheet.briefs if brief.variant_of in (one.variant_of, None)]
    of_row = variants if brief.variant_of else [brief.row]
    return tuple((what, shorten(text, SHOWN)) for what, text in _told(brief, of_row) if text)


def _told(brief: Brief, variants: list[str]) -> Iterator[tuple[str, str]]:
    yield "Row", brief.row
    if len(variants) > 1:
        yield "Videos", f"{count(len(variants), 'video')}: {', '.join(variants)}"
    request = dict(brief.request)
    yield "Title", _text(request.pop("title", None))
    spoken = " / ".join(spoken_texts(request))
    yield "Says", spoken or ("what the tool writes" if "tool" in request else "nothing")
    request.pop("script", None)
    request.pop("narration", None)
    inputs = request.pop("fields", None)
    for name, value in sorted(request.items()):
        yield _WORDS.get(name, name.replace("_", " ").capitalize()), _text(value)
    for name, value in inputs.items() if isinstance(inputs, dict) else ():
        yield f"Input {name}", _text(value)
    yield "Tags", ", ".join(brief.tags)
    yield "Notes", brief.notes or ""
    for header, text in brief.cells:
        if is_kept_only(canonical_header(header)):
            yield header, text


def _text(value: Json) -> str:
    return "" if value is None else str(value)
