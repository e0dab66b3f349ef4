"""The columns of a sheet: their types, limits and meanings, also for YAML and JSON.

The twin of `cells`, which reads what stands here: a test holds them to each other. Words of a
closed list are offered as they are and allowed however they are capitalised and joined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from callsheet.tasks.sheet import cells
from callsheet.tasks.sheet.cells import CAPTIONS as _CAPTIONS
from callsheet.tasks.sheet.cells import JOINTS as _JOINTS
from callsheet.tasks.sheet.cells import MINUTES as _MINUTES
from callsheet.tasks.sheet.cells import SECONDS as _SECONDS
from callsheet.tasks.sheet.cells import SHAPES, UNITS
from callsheet.tasks.sheet.cells import TRUTH as _TRUTH
from callsheet.tasks.sheet.cells import WHOLE as _CELL_WHOLE
from callsheet.tasks.sheet.synonyms import PRIORITIES
from callsheet.tasks.sheet.text import CAMPAIGN as _CAMPAIGN
from callsheet.tasks.sheet.text import (
    CODE,
    DEVICES,
    EXPONENT,
    LANGUAGES,
    LONG_NUMBER,
    MAX_CELL_CHARACTERS,
    QUOTES,
    REGIONS,
    ROW,
)
from callsheet.tasks.sheet.trees import read_object, read_script, read_speech
from callsheet.tasks.values.amounts import MOST_RETRIES, parse_retries, parse_waves
from callsheet.tasks.values.briefs import CREATE, CaptionFormat, Json
from callsheet.tasks.values.requests import REQUESTS, AspectRatio

Form = dict[str, Any]

_JOINT = r"[\s_\-\u2010-\u2015]*"

_DIGITS = 10**15 - 1


def one_of(words: Iterable[str]) -> Form:
    """Return the form of a word of a closed list."""
    words = list(words)
    return {"anyOf": [{"enum": words}, _text(_any(map(_loosely, words)))]}


def ratio_of(words: tuple[str, ...]) -> Form:
    """Return the form of a shape: `9:16`, `9x16`, `portrait`, or as a time of day."""
    ways: list[str] = []
    for word in words:
        width, height = word.split(":")
        wide = rf"{width}\s*(?:[:xX×*/\-]|[bB][yY])\s*{height}"
        named = _any(_loosely(name) for name, ratio in SHAPES.items() if ratio == word)
        ways += [wide, named, rf"{named}[\s(,\-]+{wide}\)?", rf"{wide}[\s(,\-]+{named}\)?"]
        ways.append(rf"0?{width}:{height:0>2}(:00)?(\.0+)?")
    return {"anyOf": [{"enum": list(words)}, _text(_any(ways))]}


def seconds_among(lengths: tuple[int, ...]) -> Form:
    """Return the form of one of some lengths in seconds."""
    some = _any(map(str, lengths))
    clocks = _any(f"{n // 60}:{n % 60:02}" for n in lengths)
    ways = [
        rf"\+?0*{some}(\.0+)?",
        rf"{some}(?:,0{{1,3}})?(?:\s*{_SECOND})?",
        rf"0?{clocks}|00?:0?{clocks}|0?{clocks}:00",
    ]
    if minutes := [str(n // 60) for n in lengths if n % 60 == 0]:
        ways.append(rf"{_any(minutes)}\s*{_MINUTE}")
    return {"anyOf": [{"enum": list(lengths)}, _text(_any(ways))]}


def _text(pattern: str) -> Form:
    around = rf"[\s{re.escape(QUOTES)}]*"
    return {"type": "string", "pattern": rf"^{around}(?:{pattern}){around}$"}


def _any(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


def _loosely(word: str) -> str:
    """Return a pattern for a word in any case, its parts joined by any dash, space or `_`."""
    letters = (
        f"[{c.lower()}{c.upper()}]" if c.isalpha() and len(c.upper()) == 1 else re.escape(c)
        for c in word
    )
    return "".join(_JOINT if letter == re.escape("-") else letter for letter in letters)


def _language() -> str:
    """Return a pattern for a language: its code, or its name with a country before or after it."""
    named, region = (
        _any(r"[\s_,()/\-]+".join(map(_loosely, name.split())) for name in table)
        for table in (LANGUAGES, REGIONS)
    )
    gap = r"[\s_,()/\-]+"
    after = rf"(?:{gap}{region})?[\s)]*"
    return rf"{CODE}|{named}{after}|{region}{gap}{named}"


def _name(pattern: str, *refused: str) -> Form:
    """Return the form of a name that is safe as a file."""
    devices = rf"{_any(map(_loosely, sorted(DEVICES)))}(\..*)?"
    faults = [_text(one) for one in (r".*\.\..*", r".*\.", devices, *refused)]
    return {
        "anyOf": [
            {**_text(pattern), "not": {"anyOf": faults}},
            {"type": "number", "minimum": 0, "maximum": _DIGITS},
        ]
    }


TEXT: Form = {
    "type": ["string", "number", "boolean"],
    "maxLength": MAX_CELL_CHARACTERS,
}
_SECOND, _MINUTE = (rf"{_any(map(_loosely, words))}\.?" for words in (_SECONDS, _MINUTES))
#: Thousands that can be nothing else, and those of a number that must be whole.
_GROUPED = r"[1-9][0-9]{0,2}(?:(?:[\s'’][0-9]{3}){1,4}|(?:,[0-9]{3}){2,4}|(?:\.[0-9]{3}){2,4})"
_THOUSANDS = rf"{_GROUPED}|[1-9][0-9]{{0,2}},(?!000)[0-9]{{3}}|[0-9]{{1,15}},(?:00?|0{{4,9}})"
WHOLE: Form = {
    "anyOf": [
        {"type": "integer", "minimum": -_DIGITS, "maximum": _DIGITS},
        _text(rf"{_CELL_WHOLE}|-?(?:{_THOUSANDS})"),
    ]
}
PRIORITY: Form = {"anyOf": [WHOLE, _text(_any(map(_loosely, PRIORITIES)))]}
_LENGTHS = (
    r"\+?[0-9]{1,15}(\.0+)?",
    _THOUSANDS,
    rf"[0-9]{{1,6}}(?:[.,]0{{1,3}})?\s*{_SECOND}",
    rf"[0-9]{{1,6}}(?:[.,][0-9]{{1,3}})?\s*{_MINUTE}(?:\s*[0-9]{{1,6}}\s*(?:{_SECOND})?)?",
    r"[0-9]{1,2}:[0-5][0-9]",
    r"[0-9]{1,2}:[0-5][0-9]:(?!00)[0-5][0-9]",
)
SECONDS: Form = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": _DIGITS},
        _text(rf"(?=[^1-9]*[1-9])(?:{_any(_LENGTHS)})"),
    ]
}
_UNIT = _any(map(_loosely, UNITS))
_DECIMAL = r"(?![1-9][0-9]{0,2}[.,][0-9]{3}(?![0-9]))[0-9]{1,12}(?:[.,][0-9]{1,6}0*)?"
_MANY = (
    r"[1-9][0-9]{0,2}(?:(?:[\s'’][0-9]{3}){1,4}[.,][0-9]{1,6}|(?:,[0-9]{3}){1,4}\.[0-9]{1,6}"
    r"|(?:\.[0-9]{3}){1,4},[0-9]{1,6})"
)
AMOUNT: Form = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 10**12 - 1},
        _text(rf"(?:{_UNIT}\s*)?(?:{_MANY}|{_GROUPED}|{_DECIMAL})(?:\s*{_UNIT})?"),
    ]
}
LANGUAGE: Form = _text(_language())
TRUTH: Form = {"anyOf": [{"type": "boolean"}, {"enum": [0, 1]}, _text(_any(map(_loosely, _TRUTH)))]}
ROW_ID: Form = _name(ROW, EXPONENT, LONG_NUMBER)
ROW_ID["anyOf"].append({"type": "boolean"})
VIDEO_ID: Form = _text(cells.VIDEO_ID)
CANARY: Form = {"enum": ["yes", "no", "auto", True, False]}
EDITS: Form = {"enum": ["cheapest", "retake"]}
_PERCENT = r"(?!0+(?:\.0+)?%)(?:[0-9]{1,2}(?:\.[0-9]{1,6})?|100)%"
WAVES: Form = {
    "anyOf": [
        {"enum": ["no", False]},
        _text(rf"{_PERCENT}(?:\s*,\s*{_PERCENT})*"),
        {"type": "array", "items": _text(_PERCENT)},
    ]
}
MOMENT: Form = _text(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ][0-9]{1,2}:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?\s*(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
RETRIES: Form = {"enum": [*range(MOST_RETRIES + 1), "no", False]}
DURATION: Form = _text(r"(?:[0-9]+(?:\.[0-9]+)?[dhmsDHMS])+")
CAMPAIGN: Form = _name(_CAMPAIGN)
OBJECT: Form = {"anyOf": [{"type": "object"}, _text(r"\{[\s\S]*\}")]}
SCRIPT: Form = {"anyOf": [{"type": "string", "maxLength": MAX_CELL_CHARACTERS}, {"type": "object"}]}
WORDS: Form = {"anyOf": [TEXT, {"type": "array", "items": {"anyOf": [TEXT, {"type": "null"}]}}]}
PLACES: Form = WORDS

_CHOICES: Form = {
    "anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "object"}}],
}
MATRIX: Form = {
    "type": "object",
    "properties": {
        "axes": {"type": "object", "additionalProperties": WORDS},
        "exclude": _CHOICES,
        "include": _CHOICES,
        "id": TEXT,
        "fallback": LANGUAGE,
    },
    "additionalProperties": False,
}

_formats = [_loosely(word) for word in _CAPTIONS["both"]]
_joined = rf"{_JOINTS}*{_any(_formats)}(?:{_JOINTS}+{_any(_formats)})*{_JOINTS}*"
CAPTIONS: Form = {
    "anyOf": [
        {"enum": list(_CAPTIONS)},
        _text(_any([*map(_loosely, _CAPTIONS), _joined])),
        *(
            {"type": "array", "minItems": 1, "items": one}
            for one in (_text(_joined), one_of(["both"]), one_of(["none"]))
        ),
    ]
}


# Which columns there are: of which type, within which limits, and what they mean.
#
# The one place that says so, with `tasks.values.requests` for what an operation asks of the
# service: rows are validated by these models, headers are matched to them, and `callsheet schema`
# prints them.


#: One object of tool inputs, where a column for each (`fields.<name>`) will not do.
FIELDS = "fields"
#: `body.<name>` is a member of a clip's request as the service spells it.
BODY = "body"


@dataclass(frozen=True)
class Reads:
    """How a cell is read into the type it stands by, and what a document may hold there."""

    parse: Callable[..., Json]
    form: Mapping[str, Json]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return BeforeValidator(self.parse).__get_pydantic_core_schema__(source, handler)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Json]:
        return dict(self.form)


def _script(value: Json, info: ValidationInfo) -> Json:
    return read_script(value, folder=info.context)


def _speech(value: Json, info: ValidationInfo) -> Json:
    return read_speech(value, folder=info.context)


def _one_of(words: tuple[str, ...]) -> Reads:
    return Reads(cells.one_of(words), one_of(words))


def _seconds(member: FieldInfo, lengths: tuple[int, ...]) -> Reads:
    limits = {name: getattr(one, name) for one in member.metadata for name in ("ge", "le")
              if hasattr(one, name)}  # fmt: skip
    if lengths:
        said = " or ".join(str(one) for one in lengths)
    elif "le" in limits:
        lengths = tuple(range(limits["ge"], limits["le"] + 1))
        said = f"from {lengths[0]} to {lengths[-1]}"
    else:
        return Reads(cells.seconds, SECONDS)
    return Reads(cells.seconds_among(lengths, said), seconds_among(lengths))


#: What the service has a name for.
NAMES = ("tool", "voice_id", "music_id", "caption_style", "video_model")
_TEXT = Reads(cells.text, TEXT)
_WHOLE = Reads(cells.whole, WHOLE)
_OBJECT = Reads(read_object, OBJECT)


def _reads(name: str, member: FieldInfo) -> Reads:
    """Return how the cells of a column are read, by the type of the member they become."""
    kinds = [kind for kind in get_args(member.annotation) if kind is not NoneType]
    words = get_args(kinds[0]) if get_origin(kinds[0]) is Literal else ()
    if name == "script":
        return Reads(_speech if str in kinds else _script, SCRIPT)
    if kinds[0] == AspectRatio:
        return Reads(cells.ratio_of(words), ratio_of(words))
    if words and isinstance(words[0], str):
        return _one_of(words)
    if words or member.metadata:
        return _seconds(member, words)
    if kinds[0] == list[str]:
        return Reads(cells.places, PLACES)
    if name == "language":
        return Reads(cells.language, LANGUAGE)
    if name in NAMES:
        return Reads(cells.name, TEXT)
    return {str: _TEXT, int: _WHOLE}.get(kinds[0], _OBJECT)


class FreeText(NamedTuple):
    """Whether any text may stand in a column, and what reads it where it is not taken as it is."""

    free: bool
    parse: Callable[..., Json] | None = None


def is_free(column: FieldInfo) -> FreeText:
    """Say whether any text may stand in a column."""
    for one in column.metadata:
        if isinstance(one, Reads):
            if one.parse in (_script, _speech):
                return FreeText(True, one.parse)
            return FreeText(one is _TEXT)
    return FreeText(False)


class OwnColumns(BaseModel):
    """The columns that are Callsheet's own: any row may have them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str | None, Reads(cells.row_id, ROW_ID)] = Field(
        None,
        description="The row's name, unique in the campaign. It names the video's files. As long "
        "as you keep it, you can edit or move the row.",
    )
    uses: Annotated[str | None, Reads(cells.row_id, ROW_ID)] = Field(
        None, description="The id of another row, whose cells fill the empty cells of this row."
    )
    was: Annotated[str | None, Reads(cells.row_id, ROW_ID)] = Field(
        None,
        description="The id that the row had before, so that it keeps its videos, reviews and "
        "payments.",
    )
    operation: Annotated[str | None, _one_of(tuple(REQUESTS))] = Field(
        None, description="What to make: a video (create) unless you name one of the clips."
    )
    captions: Annotated[tuple[CaptionFormat, ...] | None, Reads(cells.captions, CAPTIONS)] = Field(
        None,
        description="Which caption files you get. Default: both for a video, none for a clip.",
    )
    enabled: Annotated[bool, Reads(cells.truth, TRUTH)] = Field(
        True,
        description="Whether to make the row. With no, it stays in the sheet and nothing is made.",
    )
    priority: Annotated[int, Reads(cells.priority, PRIORITY)] = Field(
        0, description="Rows with a higher number are made first."
    )
    max_credits: Annotated[Decimal | None, Reads(cells.amount, AMOUNT)] = Field(
        None, description="The most that one take of this row may cost, in credits."
    )
    deliver_after: Annotated[float | None, Reads(cells.day_begins, MOMENT)] = Field(
        None, description="Do not make the row before this date, like 2026-12-01, or time (UTC)."
    )
    deliver_by: Annotated[float | None, Reads(cells.day_ends, MOMENT)] = Field(
        None,
        description="The date or time (UTC) by which you need the video. Earlier ones are made "
        "first.",
    )
    tags: Annotated[tuple[str, ...], Reads(cells.words, WORDS)] = Field(
        (),
        description="Words to select rows by: a list, or separated by , ; or line breaks.",
    )
    cost_center: Annotated[str | None, _TEXT] = Field(
        None, description="The cost center that the credits are charged to."
    )
    notes: Annotated[str | None, _TEXT] = Field(
        None, description="Notes for people. Callsheet does nothing with them."
    )
    video_id: Annotated[str | None, Reads(cells.video_id, VIDEO_ID)] = Field(
        None,
        description="The id of a video that was made elsewhere. The row takes it over at no "
        "charge, and nothing is made.",
    )


def _row_of(operation: str, members: Mapping[str, FieldInfo]) -> type[OwnColumns]:
    """Return the model of the rows that ask for these members."""
    columns: dict[str, Any] = {
        name: (
            Annotated[member.annotation, _reads(name, member)],
            Field(None, description=member.description),
        )
        for name, member in members.items()
    }
    model: type[OwnColumns] = create_model(f"Row of {operation}", __base__=OwnColumns, **columns)
    return model


#: Every member that some operation has, as the first has it.
ASKED: dict[str, FieldInfo] = {}
for _request in REQUESTS.values():
    ASKED = {**ASKED, **{name: m for name, m in _request.model_fields.items() if name not in ASKED}}
#: How the rows of each operation are read.
ROWS = {name: _row_of(name, request.model_fields) for name, request in REQUESTS.items()}
#: How a column is read that stands for rows of any operation, as under `defaults`.
ANY_ROW = _row_of("any operation", ASKED)
#: The columns that no video has.
CLIP_COLUMNS = frozenset(ASKED) - frozenset(REQUESTS[CREATE].model_fields)


class Document(BaseModel):
    """The parts of a YAML or JSON sheet that is more than a list of rows."""

    model_config = ConfigDict(extra="forbid")

    campaign: Annotated[str | None, Reads(cells.text, CAMPAIGN)] = Field(
        None, description="The campaign's name; without one the file's name is taken."
    )
    budget: Annotated[Decimal | None, Reads(cells.amount, AMOUNT)] = Field(
        None, description="Credits the campaign may cost in all, over all its runs."
    )
    canary: Annotated[str | None, Reads(cells.canary, CANARY)] = Field(
        None,
        description="Make one video of each kind of row first: the others wait until you keep it "
        "(yes), or until its checks pass (auto).",
    )
    edits: Annotated[str | None, Reads(cells.edits, EDITS)] = Field(
        None,
        description="What a changed row gets: an edit of its video if that is enough "
        "(cheapest), or always a new video (retake).",
    )
    waves: Annotated[tuple[str, ...] | None, Reads(parse_waves, WAVES)] = Field(
        None,
        description="Parts of the rows, like [10%, 50%]: each part waits until you keep the videos "
        "of the one before.",
    )
    retry_failed: Annotated[int | None, Reads(parse_retries, RETRIES)] = Field(
        None,
        description="How many new attempts a row gets whose render fails, within its max_credits "
        "and the budget.",
    )
    names: Annotated[str | None, Reads(cells.text, TEXT)] = Field(
        None,
        description="What the files are called, with columns in braces, like "
        "{id}_{language}_v{take}.",
    )
    copies: Annotated[tuple[str, ...], Reads(cells.words, WORDS)] = Field(
        (),
        description="Addresses that finished files are copied to, like "
        "s3://bucket/{campaign}/{language}/{name}.mp4.",
    )
    keep_at_service: Annotated[float | None, Reads(cells.duration, DURATION)] = Field(
        None,
        description="How long the service keeps a delivered video, such as 30d; then it is "
        "deleted there.",
    )
    deliver_after: Annotated[float | None, Reads(cells.day_begins, MOMENT)] = Field(
        None, description="No row is made before this date, unless it says another."
    )
    deliver_by: Annotated[float | None, Reads(cells.day_ends, MOMENT)] = Field(
        None, description="When all videos are to be there, where a row does not say it."
    )
    defaults: dict[str, Json] | None = Field(
        None, description="Columns for every row that does not say them itself."
    )
    matrix: Annotated[dict[str, Json] | None, Reads(read_object, MATRIX)] = Field(
        None, description="Columns with several values: each row is made once per combination."
    )
    rows: list[dict[str, Json]] = Field(description="One video or clip each.")
