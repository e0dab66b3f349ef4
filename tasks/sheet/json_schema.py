"""The JSON Schema of YAML and JSON sheets, for editors: names, types, choices and descriptions.

It is made of the columns by which rows are read. The reader takes more spellings, such as
`Aspect Ratio` and `portrait`, and alone knows which columns an operation needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from callsheet.tasks.sheet.columns import ANY_ROW, FIELDS, PARTS, Column
from callsheet.tasks.sheet.headers import MATRIX_PATTERN, SCHEMA, TRANSLATION_PATTERN

Form = dict[str, Any]

#: A row alone can say these.
_OWN = ("id", "uses", "was")
#: Columns of which there are many: what stands for them, their pattern, and what they mean.
_MANY = (
    (f"{FIELDS}.NAME", r"^fields\..", "One input of the tool."),
    ("body.NAME", r"^body\.(?!(?:idempotency_key|start_generation)$).",
     "A member of a clip's request, by the service's own name for it."),
    ("COLUMN.LANGUAGE", TRANSLATION_PATTERN,
     "The text of a column in one language, such as title.de."),
    ("matrix.COLUMN", MATRIX_PATTERN,
     "Several values, a list or with | between them: the row is made once with each."),
    ("x_NAME", "^x_", "Yours: kept, and never read."),
)  # fmt: skip
_PATTERNS: Form = {
    **{pattern: {"description": words} for _, pattern, words in _MANY},
    "^cs_": {"description": "Written by a status sheet; left out when it is read again."},
}
_ROW: Form = {"$ref": "#/$defs/columns"}


def sheet_schema() -> Form:
    """Return the schema of a whole sheet, draft 2020-12."""
    parts = _properties(PARTS)
    columns = _properties(ANY_ROW)
    rows: Form = {"items": _ROW}
    parts["rows"] = {"description": PARTS["rows"].description, "type": "array", **rows}
    shared = {name: form for name, form in columns.items() if name not in _OWN}
    by_tag = {r"^tag:\s*\S": {"description": "Defaults for rows with this tag.", **_ROW}}
    parts["defaults"] = {
        "description": parts["defaults"]["description"],
        **_object(shared, _PATTERNS | by_tag),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A campaign sheet of Callsheet",
        "description": "A list of rows, or an object with the rows and what they share.",
        **_object({**parts, SCHEMA: {"description": "Where this schema is."}}, {}),
        "type": ["object", "array"],
        "required": ["rows"],
        **rows,
        "$defs": {"columns": _object(columns, _PATTERNS)},
    }


def _object(properties: Form, patterns: Form) -> Form:
    named = {"patternProperties": patterns} if patterns else {}
    return {"type": "object", "properties": properties, **named, "additionalProperties": False}


def described_columns() -> dict[str, str]:
    """Return every column of a row and what it means; `fields.NAME` stands for many."""
    own = {name: form["description"] for name, form in _properties(ANY_ROW).items()}
    return own | {name: words for name, _, words in _MANY}


def _properties(columns: Mapping[str, Column]) -> Form:
    """Return what each column may hold."""
    return {
        name: {**TypeAdapter(column.holds | None).json_schema(), "description": column.description}
        for name, column in columns.items()
    }
