"""The columns of a sheet: how a cell of each is read, and what it means, also for YAML and JSON.

`cells` reads what people type in them; an editor is told of types and choices, not of every
spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import WithJsonSchema
from pydantic.fields import FieldInfo

from callsheet.tasks.sheet import cells
from callsheet.tasks.sheet.trees import read_object, read_script, read_speech
from callsheet.tasks.values.amounts import parse_retries, parse_waves
from callsheet.tasks.values.briefs import CREATE, Json
from callsheet.tasks.values.requests import NAMES, REQUESTS, AspectRatio

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
# service: rows are read by these columns, headers are matched to them, and `callsheet schema`
# prints them.


#: One object of tool inputs, where a column for each (`fields.<name>`) will not do.
FIELDS = "fields"
#: `body.<name>` is a member of a clip's request as the service spells it.
BODY = "body"


@dataclass(frozen=True)
class Column:
    """How a cell of a column is read, what it means, and what a document may hold there.

    `parse` raises ValueError with what is wrong. Where it `wants_folder`, it is given that of the
    sheet, too. `default` is what a row has that does not say it. A `free` column may hold any text:
    what was read there is not worth remembering.
    """

    parse: Callable[..., Json]
    holds: Any = str
    description: str | None = None
    default: Json = None
    free: bool = False
    wants_folder: bool = False

    def named(self, description: str | None, default: Json = None) -> Column:
        """Return the column with what it means, and what a row has that does not say it."""
        return replace(self, description=description, default=default)


def _one_of(words: tuple[str, ...]) -> Column:
    return Column(cells.one_of(words), _choice(words))


def _seconds(member: FieldInfo, lengths: tuple[int, ...]) -> Column:
    limits = {name: getattr(one, name) for one in member.metadata for name in ("ge", "le")
              if hasattr(one, name)}  # fmt: skip
    if lengths:
        said = " or ".join(str(one) for one in lengths)
    elif "le" in limits:
        lengths = tuple(range(limits["ge"], limits["le"] + 1))
        said = f"from {lengths[0]} to {lengths[-1]}"
    else:
        return Column(cells.seconds_among(), _NUMBERED)
    return Column(cells.seconds_among(lengths, said), _choice(lengths))


_TEXT = Column(cells.text, _WORD, free=True)
_ID = Column(cells.row_id, _NUMBERED, free=True)


def _column(name: str, member: FieldInfo) -> Column:
    """Return how the cells of a column are read, by the type of the member they become."""
    kinds = [kind for kind in get_args(member.annotation) if kind is not NoneType]
    words = get_args(kinds[0]) if get_origin(kinds[0]) is Literal else ()
    if name == "script":
        read = read_speech if str in kinds else read_script
        return Column(read, _TREE, free=True, wants_folder=True)
    if kinds[0] == AspectRatio:
        return Column(cells.ratio_of(words), _choice(words))
    if words and isinstance(words[0], str):
        return _one_of(words)
    if words or member.metadata:
        return _seconds(member, words)
    if kinds[0] == list[str]:
        return Column(cells.places, _WORDS, free=True)
    if name == "language":
        return Column(cells.language)
    if name in NAMES:
        return Column(cells.name, _WORD)
    if kinds[0] is int:
        return Column(cells.whole, _NUMBERED)
    return _TEXT if kinds[0] is str else Column(read_object, _TREE, free=True)


#: The columns that are Callsheet's own: any row may have them.
OWN: Mapping[str, Column] = {
    "id": _ID.named(
        "The row's name, unique in the campaign. It names the video's files. As long as you keep "
        "it, you can edit or move the row."
    ),
    "uses": _ID.named("The id of another row, whose cells fill the empty cells of this row."),
    "was": _ID.named(
        "The id that the row had before, so that it keeps its videos, reviews and payments."
    ),
    "operation": _one_of(tuple(REQUESTS)).named(
        "What to make: a video (create) unless you name one of the clips."
    ),
    "captions": Column(cells.captions, _CAPTIONS).named(
        "Which caption files you get. Default: both for a video, none for a clip."
    ),
    "enabled": Column(cells.truth, bool | int | str).named(
        "Whether to make the row. With no, it stays in the sheet and nothing is made.", True
    ),
    "priority": Column(cells.priority, _NUMBERED).named(
        "Rows with a higher number are made first.", 0
    ),
    "max_credits": Column(cells.amount, _AMOUNT).named(
        "The most that one take of this row may cost, in credits."
    ),
    "deliver_after": Column(cells.day_begins).named(
        "Do not make the row before this date, like 2026-12-01, or time (UTC)."
    ),
    "deliver_by": Column(cells.day_ends).named(
        "The date or time (UTC) by which you need the video. Earlier ones are made first."
    ),
    "tags": Column(cells.words, _WORDS).named(
        "Words to select rows by: a list, or separated by , ; or line breaks.", ()
    ),
    "cost_center": _TEXT.named("The cost center that the credits are charged to."),
    "notes": _TEXT.named("Notes for people. Callsheet does nothing with them."),
    "video_id": Column(cells.video_id, free=True).named(
        "The id of a video that was made elsewhere. The row takes it over at no charge, and "
        "nothing is made."
    ),
}
#: Every member that some operation has, as the first has it.
ASKED: dict[str, FieldInfo] = {}
for _request in REQUESTS.values():
    ASKED = {**ASKED, **{name: m for name, m in _request.model_fields.items() if name not in ASKED}}


def _columns_of(members: Mapping[str, FieldInfo]) -> Mapping[str, Column]:
    """Return the columns of the rows that ask for these members."""
    asked = {name: _column(name, m).named(m.description) for name, m in members.items()}
    return {**OWN, **asked}


#: How the rows of each operation are read.
ROWS = {name: _columns_of(request.model_fields) for name, request in REQUESTS.items()}
#: How a column is read that stands for rows of any operation, as under `defaults`.
ANY_ROW = _columns_of(ASKED)
#: The columns that no video has.
CLIP_COLUMNS = frozenset(ASKED) - frozenset(REQUESTS[CREATE].model_fields)

#: The parts of a YAML or JSON sheet that is more than a list of rows.
PARTS: Mapping[str, Column] = {
    "campaign": Column(cells.text, _NUMBERED).named(
        "The campaign's name; without one the file's name is taken."
    ),
    "budget": Column(cells.amount, _AMOUNT).named(
        "Credits the campaign may cost in all, over all its runs."
    ),
    "canary": Column(cells.canary, _CANARY).named(
        "Make one video of each kind of row first: the others wait until you keep it (yes), or "
        "until its checks pass (auto)."
    ),
    "edits": _one_of(("cheapest", "retake")).named(
        "What a changed row gets: an edit of its video if that is enough (cheapest), or always a "
        "new video (retake)."
    ),
    "waves": Column(parse_waves, list[str] | str).named(
        "Parts of the rows, like [10%, 50%]: each part waits until you keep the videos of the one "
        "before."
    ),
    "retry_failed": Column(parse_retries, int | _choice(("no",))).named(
        "How many new attempts a row gets whose render fails, within its max_credits and the "
        "budget."
    ),
    "names": Column(cells.text).named(
        "What the files are called, with columns in braces, like {id}_{language}_v{take}."
    ),
    "copies": Column(cells.words, _WORDS).named(
        "Addresses that finished files are copied to, like "
        "s3://bucket/{campaign}/{language}/{name}.mp4."
    ),
    "keep_at_service": Column(cells.duration).named(
        "How long the service keeps a delivered video, such as 30d; then it is deleted there."
    ),
    "deliver_after": Column(cells.day_begins).named(
        "No row is made before this date, unless it says another."
    ),
    "deliver_by": Column(cells.day_ends).named(
        "When all videos are to be there, where a row does not say it."
    ),
    "defaults": Column(read_object, _TREE).named(
        "Columns for every row that does not say them itself."
    ),
    "matrix": Column(read_object, _MATRIX).named(
        "Columns with several values: each row is made once per combination."
    ),
    "rows": Column(read_object, list[dict[str, Any]]).named("One video or clip each."),
}
