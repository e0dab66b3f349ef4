"""Columns for headers of your own: from `--map`, and from `columns.toml` next to the sheet.

What is written there by hand, under `[columns]`, holds for every sheet of the folder; what `check`
adds, only for sheets with just these headers. So an answer never changes how others are read.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.files import whole_file
from callsheet.tasks.sheet.headers import canonical_header
from callsheet.tasks.sheet.proposals import explain_column
from callsheet.tasks.sheet.synonyms import Answer, sheet_headers

#: The file next to a sheet that maps headers to columns.
FILE = "columns.toml"


def parse_map(words: Sequence[str]) -> dict[str, str]:
    """Return header -> column of `--map Headline=title`; raise BadInput for anything else."""
    found: dict[str, str] = {}
    for word in words:
        header, equals, column = word.rpartition("=")
        if not equals or not header.strip() or not column.strip():
            raise BadInput(
                f'--map "{word}" does not say which column a header means; nothing was spent',
                remedy="write `--map NAME=COLUMN`, NAME as in the sheet; use x_NAME to keep a "
                "column for yourself",
            )
        found[header.strip()] = _column(column.strip(), f"--map {word}")
    return found


class Known(NamedTuple):
    """What a `columns.toml` says: header -> column for every sheet, and answers for some."""

    columns: Mapping[str, str] = {}
    answers: tuple[Answer, ...] = ()


def read_known(folder: Path | None) -> Known:
    """Return what the `columns.toml` in a folder says; raise BadInput for a bad one."""
    if folder is None or not (folder / FILE).is_file():
        return Known()
    file = folder / FILE
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read: {error}; nothing was spent") from error
    found = said.get("sheets", [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise BadInput(f"{file}: [[sheets]] is not a list of tables; nothing was spent")
    answers = (
        Answer(
            str(one.get("sheet", "")),
            sheet_headers(map(str, one.get("headers", ()))),
            _columns(one.get("columns", {}), file),
        )
        for one in found
    )
    return Known(_columns(said.get("columns", {}), file), tuple(answers))


def _columns(said: object, file: Path) -> dict[str, str]:
    if not isinstance(said, dict) or not all(isinstance(one, str) for one in said.values()):
        raise BadInput(
            f'{file} has no [columns] of texts; write it like "Headline" = "title"; nothing was '
            "spent"
        )
    return {header: _column(column, str(file)) for header, column in said.items()}


def keep_answer(sheet: Path, headers: frozenset[str], said: Mapping[str, str]) -> Path:
    """Add header -> column for sheets with these headers to the `columns.toml` next to a sheet.

    What the sheet itself said of them is added to, and what another one said stays: it is the
    answer for all others. Returns the file.
    """
    known = read_known(sheet.parent)
    own = [one for one in known.answers if (one.sheet, one.headers) == (sheet.name, headers)]
    before = own[0].columns if own else {}
    answer = Answer(sheet.name, headers, {**before, **said})
    others = [answer if one in own else one for one in known.answers]
    lines = [*_TOP, *_pairs(known.columns)]
    for one in others if own else (*others, answer):
        lines += ["", "[[sheets]]", f"sheet = {_quoted(one.sheet)}"]
        lines += [f"headers = [{', '.join(map(_quoted, sorted(one.headers)))}]"]
        lines += ["[sheets.columns]", *_pairs(one.columns)]
    file = sheet.parent / FILE
    with whole_file(file) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())
    return file


_TOP = (
    "# Which column a header means: for every sheet in this folder, then for sheets with just",
    "# these headers.",
    "[columns]",
)


def _pairs(columns: Mapping[str, str]) -> list[str]:
    return [f"{_quoted(header)} = {_quoted(column)}" for header, column in columns.items()]


def _quoted(text: str) -> str:
    # TOML takes the text of JSON, but for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _column(column: str, place: str) -> str:
    name = canonical_header(column)
    if fault := explain_column(name):
        raise BadInput(f'{place}: "{column}" {fault}; nothing was spent')
    return name
