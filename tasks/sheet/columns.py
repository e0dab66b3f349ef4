"""Which columns there are: of which type, within which limits, and what they mean.

The one place that says so, with `tasks.requests` for what an operation asks of the service: rows
are validated by these models, headers are matched to them, and `callsheet schema` prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

from callsheet.tasks.brief import CREATE, CaptionFormat, Json
from callsheet.tasks.requests import REQUESTS, AspectRatio
from callsheet.tasks.sheet import cells, written
from callsheet.tasks.sheet.script import read_object, read_script, read_speech

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
    return Reads(cells.one_of(words), written.one_of(words))


def _seconds(member: FieldInfo, lengths: tuple[int, ...]) -> Reads:
    limits = {name: getattr(one, name) for one in member.metadata for name in ("ge", "le")
              if hasattr(one, name)}  # fmt: skip
    if lengths:
        said = " or ".join(str(one) for one in lengths)
    elif "le" in limits:
        lengths = tuple(range(limits["ge"], limits["le"] + 1))
        said = f"from {lengths[0]} to {lengths[-1]}"
    else:
        return Reads(cells.seconds, written.SECONDS)
    return Reads(cells.seconds_among(lengths, said), written.seconds_among(lengths))


#: What the service has a name for.
NAMES = ("tool", "voice_id", "music_id", "caption_style", "video_model")
_TEXT = Reads(cells.text, written.TEXT)
_WHOLE = Reads(cells.whole, written.WHOLE)
_OBJECT = Reads(read_object, written.OBJECT)


def _reads(name: str, member: FieldInfo) -> Reads:
    """Return how the cells of a column are read, by the type of the member they become."""
    kinds = [kind for kind in get_args(member.annotation) if kind is not NoneType]
    words = get_args(kinds[0]) if get_origin(kinds[0]) is Literal else ()
    if name == "script":
        return Reads(_speech if str in kinds else _script, written.SCRIPT)
    if kinds[0] == AspectRatio:
        return Reads(cells.ratio_of(words), written.ratio_of(words))
    if words and isinstance(words[0], str):
        return _one_of(words)
    if words or member.metadata:
        return _seconds(member, words)
    if kinds[0] == list[str]:
        return Reads(cells.places, written.PLACES)
    if name == "language":
        return Reads(cells.language, written.LANGUAGE)
    if name in NAMES:
        return Reads(cells.name, written.TEXT)
    return {str: _TEXT, int: _WHOLE}.get(kinds[0], _OBJECT)


class Freedom(NamedTuple):
    """Whether any text may stand in a column, and what reads it where it is not taken as it is."""

    free: bool
    parse: Callable[..., Json] | None = None


def is_free(column: FieldInfo) -> Freedom:
    """Say whether any text may stand in a column."""
    for one in column.metadata:
        if isinstance(one, Reads):
            if one.parse in (_script, _speech):
                return Freedom(True, one.parse)
            return Freedom(one is _TEXT)
    return Freedom(False)


class OwnColumns(BaseModel):
    """The columns that are Callsheet's own: any row may have them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str | None, Reads(cells.row_id, written.ROW_ID)] = Field(
        None,
        description="The row's name, its own in the campaign: it names the video's files, and a "
        "row that keeps it stays the same row when it is changed or moved.",
    )
    operation: Annotated[str | None, _one_of(tuple(REQUESTS))] = Field(
        None, description="What is asked for: a video (create) unless it says one of the clips."
    )
    captions: Annotated[
        tuple[CaptionFormat, ...] | None, Reads(cells.captions, written.CAPTIONS)
    ] = Field(
        None,
        description="Which caption files are delivered: both for a video and none for a clip "
        "unless it says so.",
    )
    enabled: Annotated[bool, Reads(cells.truth, written.TRUTH)] = Field(
        True, description="Whether the row is made; no keeps it in the sheet and makes nothing."
    )
    priority: Annotated[int, _WHOLE] = Field(
        0, description="Rows with a higher number are made first."
    )
    max_credits: Annotated[Decimal | None, Reads(cells.amount, written.AMOUNT)] = Field(
        None, description="The most that one take of this row may cost, in credits."
    )
    tags: Annotated[tuple[str, ...], Reads(cells.words, written.WORDS)] = Field(
        (),
        description="Words to select rows by: a list, or with , ; or line breaks between them.",
    )
    cost_center: Annotated[str | None, _TEXT] = Field(
        None, description="Whom the credits are charged to."
    )
    notes: Annotated[str | None, _TEXT] = Field(
        None, description="For people; nothing is made of it."
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

    campaign: Annotated[str | None, Reads(cells.text, written.CAMPAIGN)] = Field(
        None, description="The campaign's name; without one the file's name is taken."
    )
    budget: Annotated[Decimal | None, Reads(cells.amount, written.AMOUNT)] = Field(
        None, description="Credits the campaign may cost in all, over all its runs."
    )
    defaults: dict[str, Json] | None = Field(
        None, description="Columns for every row that does not say them itself."
    )
    rows: list[dict[str, Json]] = Field(description="One video or clip each.")
