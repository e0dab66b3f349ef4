"""What flows take and return: types that Prefect shows as forms and stores as results.

Prefect sends a flow to another process by value, without the names of its module. So a module
with a flow does not use `from __future__ import annotations`: its annotations must be the types
themselves.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from pydantic import BeforeValidator, Field, WithJsonSchema

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import parse_credits

#: Key prefix of questions among the inputs of a flow run.
QUESTION = "plan-"
_WORDS = {False: "no", True: "yes"}


def _as_word(value: object) -> object:
    return _WORDS[value] if isinstance(value, bool) else value


#: Whether a run may spend what its plan costs: no, after asking on Prefect's page, or yes. True
#: and False are accepted too.
Approve: TypeAlias = Annotated[
    Literal["no", "ask", "yes"],
    BeforeValidator(_as_word),
    WithJsonSchema({"enum": ["no", "ask", "yes", False, True]}),
]
#: An amount of credits; read it with `amount_of`.
Credits: TypeAlias = Annotated[float, Field(ge=0, le=10**12, allow_inf_nan=False)]
#: Final state of a run if rows need attention.
NeedsPerson: TypeAlias = Literal["failed", "completed"]


def amount_of(value: object) -> Decimal | None:
    """Return the credits of a parameter; None if it was not given.

    Raise BadInput for an invalid amount: a flow may be called without parameter validation, and an
    unreadable limit would be no limit.
    """
    if value is None:
        return None
    amount = parse_credits(value)
    if amount is None:
        raise BadInput(f"{value!r} is not an amount of credits; nothing was spent")
    return amount


# Results of flow runs, for a calling flow or a reader of the result.


class CreditsResult(TypedDict):
    """Amounts in credits over all runs of the campaign, except what this run was charged."""

    quoted: float
    reserved: float
    charged: float
    paid_before: float
    variance: float
    budget: float | None
    left: float | None
    charged_this_run: float


class CampaignResult(TypedDict):
    """Status of a campaign: `rows` counts them by state, with `total`.

    `exit` is the exit status of `callsheet run`: 0 delivered, 3 rows need attention, 4 not
    approved, 5 parked. `asked` is the cost of a plan that was not approved, in credits,
    `not_before` when to run a parked one again.
    """

    campaign: str
    rows: dict[str, int]
    credits: CreditsResult
    exit: int
    asked: NotRequired[float]
    not_before: NotRequired[str]


class FileResult(TypedDict):
    """A file of a video in the store: `kind` is mp4, srt, vtt or a picture, `bytes` its size."""

    kind: str
    uri: str
    sha256: str
    bytes: int


class RowResult(TypedDict):
    """A row and its newest video, as `callsheet rows --json` has it; amounts are in credits.

    `take`, `key` and `video_id` are those of its present take (0 and None without one). Files,
    `review`, `checks` and how it was made (`ai_generated` ...) are of its newest video, which may
    be one of an earlier take (`video_take`); without a video `deliveries` is empty.
    """

    row: str
    state: str
    reason: str | None
    take: int
    key: str | None
    video_id: str | None
    quoted: float | None
    reserved: float
    charged: float | None
    paid_before: float
    variance: float
    video_take: int | None
    deliveries: list[FileResult]
    review: Literal["keep", "reject"] | None
    review_reason: str | None
    review_note: str | None
    reviewed_by: str | None
    checks: dict[str, str]
    ai_generated: Literal[True] | None
    ai_mark: Literal["found", "none"] | None
    ai_model: str | None
    ai_tool: str | None
    copies: NotRequired[list[dict[str, Any]]]


class PlanResult(TypedDict):
    """What a run would do and cost: `actions` counts the rows by action.

    Amounts are in credits. `fits` says whether the plan fits in the rest of the budget; `drift` is
    what changed outside, if that was asked for, as in `callsheet plan --json`.
    """

    campaign: str
    sheet: str
    actions: dict[str, int]
    total: float
    unpriced: int
    committed: float
    budget: float | None
    balance: float | None
    fits: bool
    drift: NotRequired[list[dict[str, Any]]]
