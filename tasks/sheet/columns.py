"""The columns of a sheet: their types, limits and meanings, also for YAML and JSON.

`cells` reads what people type in them; an editor is told of types and choices, not of every
spelling.
"""

from __future__ import annotations

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
    ValidationInfo,
    WithJsonSchema,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from callsheet.tasks.sheet import cells
from callsheet.tasks.sheet.trees import read_object, read_script, read_speech
from callsheet.tasks.values.amounts import parse_retries, parse_waves
from callsheet.tasks.values.briefs import CREATE, CaptionFormat, Json
from callsheet.tasks.values.requests import REQUESTS, AspectRatio

# What a document may hold in a column, for editors: a parser reads more spellings than these.


def _choice(words: Iterable[str | int]) -> Any:
    return Literal[tuple(words)]


_NUMBERED = int | str
_AMOUNT = float | str
_WORD = str | float | bool
_WORDS = list[_WORD | None] | _WORD
_TREE = dict[str, Any] | str
_CANARY = _choice(("yes", "no", "auto")) | bool
_CAPTIONS = _choice(cells.CAPTIONS) | list[str]
_MATRIX = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "axes": {"type": "object"},
                "exclude": {"type": "array", "items": {"type": "object"}},
                "include": {"type": "array", "items": {"type": "object"}},
                "id": {"type": "string"},
                "fallback": {"type": "string"},
            },
            "additionalProperties": False,
        }
    ),
]


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
    holds: Any = str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        before = BeforeValidator(self.parse, json_schema_input_type=self.holds | None)
        return before.__get_pydantic_core_schema__(source, handler)


def _script(value: Json, info: ValidationInfo) -> Json:
    return read_script(value, folder=info.context)


def _speech(value: Json, info: ValidationInfo) -> Json:
    return read_speech(value, folder=info.context)


def _one_of(words: tuple[str, ...]) -> Reads:
    return Reads(cells.one_of(words), _choice(words))


def _seconds(member: FieldInfo, lengths: tuple[int, ...]) -> Reads:
    limits = {name: getattr(one, name) for one in member.metadata for name in ("ge", "le")
              if hasattr(one, name)}  # fmt: skip
    if lengths:
        said = " or ".join(str(one) for one in lengths)
    elif "le" in limits:
        lengths = tuple(range(limits["ge"], limits["le"] + 1))
        said = f"from {lengths[0]} to {lengths[-1]}"
    else:
        return Reads(cells.seconds, _NUMBERED)
    return Reads(cells.seconds_among(lengths, said), _choice(lengths))


#: What the service has a name for.
NAMES = ("tool", "voice_id", "music_id", "caption_style", "video_model")
_TEXT = Reads(cells.text, _WORD)
_WHOLE = Reads(cells.whole, _NUMBERED)
_OBJECT = Reads(read_object, _TREE)


def _reads(name: str, member: FieldInfo) -> Reads:
    """Return how the cells of a column are read, by the type of the member they become."""
    kinds = [kind for kind in get_args(member.annotation) if kind is not NoneType]
    words = get_args(kinds[0]) if get_origin(kinds[0]) is Literal else ()
    if name == "script":
        return Reads(_speech if str in kinds else _script, _TREE)
    if kinds[0] == AspectRatio:
        return Reads(cells.ratio_of(words), _choice(words))
    if words and isinstance(words[0], str):
        return _one_of(words)
    if words or member.metadata:
        return _seconds(member, words)
    if kinds[0] == list[str]:
        return Reads(cells.places, _WORDS)
    if name == "language":
        return Reads(cells.language)
    if name in NAMES:
        return Reads(cells.name, _WORD)
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

    id: Annotated[str | None, Reads(cells.row_id, _NUMBERED)] = Field(
        None,
        description="The row's name, unique in the campaign. It names the video's files. As long "
        "as you keep it, you can edit or move the row.",
    )
    uses: Annotated[str | None, Reads(cells.row_id, _NUMBERED)] = Field(
        None, description="The id of another row, whose cells fill the empty cells of this row."
    )
    was: Annotated[str | None, Reads(cells.row_id, _NUMBERED)] = Field(
        None,
        description="The id that the row had before, so that it keeps its videos, reviews and "
        "payments.",
    )
    operation: Annotated[str | None, _one_of(tuple(REQUESTS))] = Field(
        None, description="What to make: a video (create) unless you name one of the clips."
    )
    captions: Annotated[tuple[CaptionFormat, ...] | None, Reads(cells.captions, _CAPTIONS)] = Field(
        None,
        description="Which caption files you get. Default: both for a video, none for a clip.",
    )
    enabled: Annotated[bool, Reads(cells.truth, bool | int | str)] = Field(
        True,
        description="Whether to make the row. With no, it stays in the sheet and nothing is made.",
    )
    priority: Annotated[int, Reads(cells.priority, _NUMBERED)] = Field(
        0, description="Rows with a higher number are made first."
    )
    max_credits: Annotated[Decimal | None, Reads(cells.amount, _AMOUNT)] = Field(
        None, description="The most that one take of this row may cost, in credits."
    )
    deliver_after: Annotated[float | None, Reads(cells.day_begins)] = Field(
        None, description="Do not make the row before this date, like 2026-12-01, or time (UTC)."
    )
    deliver_by: Annotated[float | None, Reads(cells.day_ends)] = Field(
        None,
        description="The date or time (UTC) by which you need the video. Earlier ones are made "
        "first.",
    )
    tags: Annotated[tuple[str, ...], Reads(cells.words, _WORDS)] = Field(
        (),
        description="Words to select rows by: a list, or separated by , ; or line breaks.",
    )
    cost_center: Annotated[str | None, _TEXT] = Field(
        None, description="The cost center that the credits are charged to."
    )
    notes: Annotated[str | None, _TEXT] = Field(
        None, description="Notes for people. Callsheet does nothing with them."
    )
    video_id: Annotated[str | None, Reads(cells.video_id)] = Field(
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

    campaign: Annotated[str | None, Reads(cells.text, _NUMBERED)] = Field(
        None, description="The campaign's name; without one the file's name is taken."
    )
    budget: Annotated[Decimal | None, Reads(cells.amount, _AMOUNT)] = Field(
        None, description="Credits the campaign may cost in all, over all its runs."
    )
    canary: Annotated[str | None, Reads(cells.canary, _CANARY)] = Field(
        None,
        description="Make one video of each kind of row first: the others wait until you keep it "
        "(yes), or until its checks pass (auto).",
    )
    edits: Annotated[str | None, Reads(cells.edits, _choice(("cheapest", "retake")))] = Field(
        None,
        description="What a changed row gets: an edit of its video if that is enough "
        "(cheapest), or always a new video (retake).",
    )
    waves: Annotated[tuple[str, ...] | None, Reads(parse_waves, list[str] | str)] = Field(
        None,
        description="Parts of the rows, like [10%, 50%]: each part waits until you keep the videos "
        "of the one before.",
    )
    retry_failed: Annotated[int | None, Reads(parse_retries, int | _choice(("no",)))] = Field(
        None,
        description="How many new attempts a row gets whose render fails, within its max_credits "
        "and the budget.",
    )
    names: Annotated[str | None, Reads(cells.text)] = Field(
        None,
        description="What the files are called, with columns in braces, like "
        "{id}_{language}_v{take}.",
    )
    copies: Annotated[tuple[str, ...], Reads(cells.words, _WORDS)] = Field(
        (),
        description="Addresses that finished files are copied to, like "
        "s3://bucket/{campaign}/{language}/{name}.mp4.",
    )
    keep_at_service: Annotated[float | None, Reads(cells.duration)] = Field(
        None,
        description="How long the service keeps a delivered video, such as 30d; then it is "
        "deleted there.",
    )
    deliver_after: Annotated[float | None, Reads(cells.day_begins)] = Field(
        None, description="No row is made before this date, unless it says another."
    )
    deliver_by: Annotated[float | None, Reads(cells.day_ends)] = Field(
        None, description="When all videos are to be there, where a row does not say it."
    )
    defaults: dict[str, Json] | None = Field(
        None, description="Columns for every row that does not say them itself."
    )
    matrix: Annotated[dict[str, Json] | None, Reads(read_object, _MATRIX)] = Field(
        None, description="Columns with several values: each row is made once per combination."
    )
    rows: list[dict[str, Json]] = Field(description="One video or clip each.")
