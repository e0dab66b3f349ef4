"""The JSON Schema of YAML and JSON sheets, made of the models by which their rows are read.

It knows columns by their own names; the reader also takes `Aspect Ratio`. What no schema can say is
the reader's alone: an id that is there twice, the same video twice, a file that is missing, text
that begins like JSON and is none, the size of a picture, characters that no one sees.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from callsheet.tasks.sheet.columns import (
    ANY_ROW,
    ASKED,
    CLIP_COLUMNS,
    FIELDS,
    ROWS,
    Document,
    Form,
    one_of,
)
from callsheet.tasks.sheet.headers import MATRIX_PATTERN, SCHEMA, TRANSLATION_PATTERN
from callsheet.tasks.sheet.text import MAX_ROWS
from callsheet.tasks.values.briefs import CREATE
from callsheet.tasks.values.requests import REQUESTS

_EMPTY: Form = {"enum": [None, "", [], {}]}
_BLANK: Form = {"$ref": "#/$defs/blank"}
#: A row alone can say these.
_NOT_SHARED: Form = {"id": _BLANK, "uses": _BLANK, "was": _BLANK}
_NO_INPUTS: Form = {"anyOf": [_BLANK, {"type": "object", "additionalProperties": _BLANK}]}
_INPUT, _MEMBER = r"^fields\.", r"^body\."
#: Columns that become a tool or a script in each video of the row.
_SOURCE_OF_SEVERAL = r"^script\.|^matrix\.(?:tool|script)$"
_PATTERNS: Form = {
    r"^fields\..": {"description": "One input of the tool."},
    r"^body\.(?!(?:idempotency_key|start_generation)$).": {
        "description": "A member of a clip's request, by the service's own name for it."
    },
    MATRIX_PATTERN: {"description": "Several values: the row is made once with each."},
    TRANSLATION_PATTERN: {"description": "The text of a column in one language."},
    "^x_": {"description": "Yours: kept, and never read."},
    "^cs_": {"description": "Written by a status sheet; left out when it is read again."},
}
#: An operation, something about the document, and what it then asks of the operation's rows.
Rule = tuple[str, Form | bool, Form | bool]
_CLIPS = tuple(name for name in ROWS if name != CREATE)


def sheet_schema() -> Form:
    """Return the schema of a whole sheet, draft 2020-12."""
    parts = _properties(Document)
    item: Form = {"anyOf": [{"$ref": "#/$defs/columns"}, _EMPTY]}
    rows: Form = {"maxItems": MAX_ROWS, "items": item, "contains": {"not": _EMPTY}}
    parts["rows"] = {"description": parts["rows"]["description"], "type": "array", **rows}
    parts["defaults"] = {
        "description": parts["defaults"]["description"],
        "anyOf": [
            {"$ref": "#/$defs/columns", "properties": _NOT_SHARED},
            _EMPTY,
        ],
    }
    tag = parts["defaults"]["anyOf"]
    parts["defaults"]["anyOf"] = [
        {
            "type": "object",
            "properties": {**_properties(ANY_ROW), **_NOT_SHARED},
            "patternProperties": {
                **_PATTERNS,
                r"^tag:\s*\S": {"description": "Defaults for rows with this tag.", "anyOf": tag},
            },
            "additionalProperties": False,
        },
        _EMPTY,
    ]
    rules = list(_rules())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A campaign sheet of Callsheet",
        "description": "A list of rows, or an object with the rows and what they share.",
        "type": ["object", "array"],
        "required": ["rows"],
        "properties": {**parts, SCHEMA: {"description": "Where this schema is."}},
        "additionalProperties": False,
        **rows,
        "allOf": list(_conditions(rules)),
        "$defs": {
            "blank": {"anyOf": [_EMPTY, {"type": "string", "pattern": r"^\s*$"}]},
            "columns": {
                "type": "object",
                "properties": _properties(ANY_ROW),
                "patternProperties": _PATTERNS,
                "additionalProperties": False,
            },
            "says-nothing": _row({"operation": _BLANK, "uses": _BLANK}),
            **{
                f"says-{name}": {
                    **_row({"operation": one_of([name]), "uses": _BLANK}),
                    "required": ["operation"],
                }
                for name in ROWS
            },
            **{f"rule-{number}": rule for number, (_, _, rule) in enumerate(rules)},
        },
    }


def described_columns() -> dict[str, str]:
    """Return every column of a row and what it means; `fields.NAME` stands for many."""
    own = {name: form["description"] for name, form in _properties(ANY_ROW).items()}
    return own | {
        f"{FIELDS}.NAME": "One input of the tool.",
        "body.NAME": "A member of a clip's request, by the service's own name for it.",
        "COLUMN.LANGUAGE": "The text of a column in one language, such as title.de.",
        "matrix.COLUMN": "Several values, with | between them: the row is made once with each.",
        "x_NAME": "Yours: kept, and never read.",
    }


def _properties(model: type[BaseModel]) -> Form:
    """Return what each column of a model may hold, nothing included."""
    return {name: _optional(form) for name, form in model.model_json_schema()["properties"].items()}


def _optional(form: Form) -> Form:
    said = {name: value for name, value in form.items() if name not in ("title", "default")}
    about = {"description": said.pop("description")}
    return {**about, "anyOf": [*(said["anyOf"] if set(said) == {"anyOf"} else [said]), _BLANK]}


def _conditions(rules: list[Rule]) -> Iterator[Form]:
    """Yield that each rule holds for the rows of its operation, said by them or by default."""
    by_default = {clip: _default(_says(clip)) for clip in _CLIPS}
    by_default[CREATE] = {"not": {"anyOf": list(by_default.values())}}
    for number, (operation, given, _) in enumerate(rules):
        rule: Form = {"$ref": f"#/$defs/rule-{number}"}
        yield {"if": given, "then": _rows({"if": _says(operation), "then": rule})}
        both = {"allOf": [given, by_default[operation]]}
        yield {"if": both, "then": _rows({"if": {"$ref": "#/$defs/says-nothing"}, "then": rule})}


def _rules() -> Iterator[Rule]:
    """Yield what rows of an operation need, given something about the document."""
    for operation in ROWS:
        yield operation, True, _own_rule(operation)
        for name, form in _narrower(operation).items():
            unfit = {"allOf": [_has(name), {"not": {"properties": {name: form}}}]}
            yield operation, _default(unfit), _has(name)
    yield from _video_sources()
    for clip in _CLIPS:
        for group in REQUESTS[clip].needs:
            yield from _clip_needs(clip, group)


def _own_rule(operation: str) -> Form:
    """Return what one row of an operation may hold at the same time."""
    taken = REQUESTS[operation].model_fields
    unwanted: Form = {name: _BLANK for name in ASKED if name not in taken}
    both = [{"not": {"allOf": [_has(name) for name in group]}}
            for group in REQUESTS[operation].needs if len(group) > 1]  # fmt: skip
    if operation == CREATE:
        no_inputs = {"properties": {FIELDS: _NO_INPUTS}, "patternProperties": {_INPUT: _BLANK}}
        return {
            "properties": unwanted,
            "patternProperties": {_MEMBER: _BLANK},
            "allOf": [*both, {"if": _has("script"), "then": no_inputs}],
        }
    return {
        "properties": {**unwanted, **_narrower(operation), FIELDS: _NO_INPUTS},
        "patternProperties": {_INPUT: _BLANK},
        **({"allOf": both} if both else {}),
    }


def _narrower(operation: str) -> Form:
    """Return the columns that this operation understands otherwise than a video."""
    general, own = _properties(ANY_ROW), _properties(ROWS[operation])
    return {
        name: own[name]
        for name in REQUESTS[operation].model_fields
        if own[name]["anyOf"] != general[name]["anyOf"]
    }


def _video_sources() -> Iterator[Rule]:
    tool, script = _has("tool"), _has("script")
    inputs: Form = {"anyOf": [_has(FIELDS), _has_some(_INPUT)]}
    some = [tool, script, _has_some(_SOURCE_OF_SEVERAL), _has_some("^tag:")]
    neither: Form = {"not": _default({"anyOf": some})}
    unclear = _default({"allOf": [script, {"anyOf": [tool, inputs]}]})
    yield CREATE, {"anyOf": [neither, unclear]}, {"anyOf": some}
    yield CREATE, {"not": _default(tool)}, {"if": inputs, "then": tool}
    # Defaults for clips would be lost on a row that does not say that it is a video.
    for_clips = _default({"anyOf": [*map(_has, sorted(CLIP_COLUMNS)), _has_some(_MEMBER)]})
    yield CREATE, for_clips, {"not": {"$ref": "#/$defs/says-nothing"}}


def _clip_needs(operation: str, group: tuple[str, ...]) -> Iterator[Rule]:
    named = [_has(name) for name in group]
    known: Form = {"anyOf": [*named, _has_some(_MEMBER)]}
    yield operation, {"not": _default(known)}, known
    if len(group) > 1:
        yield operation, _default({"allOf": named}), False
        for name in group:
            others = {other: _BLANK for other in group if other != name}
            yield operation, _default(_has(name)), {"properties": others}


def _says(operation: str) -> Form:
    return {"$ref": f"#/$defs/says-{operation}"}


def _has(name: str) -> Form:
    blank = _NO_INPUTS if name == FIELDS else _BLANK
    return {"type": "object", "required": [name], "properties": {name: {"not": blank}}}


def _has_some(pattern: str) -> Form:
    return {"type": "object", "not": {"patternProperties": {pattern: _BLANK}}}


def _default(form: Form) -> Form:
    return {"type": "object", "required": ["defaults"], "properties": {"defaults": form}}


def _row(columns: Form) -> Form:
    return {"type": "object", "minProperties": 1, "properties": columns}


def _rows(rule: Form) -> Form:
    return {"properties": {"rows": {"items": rule}}, "items": rule}
