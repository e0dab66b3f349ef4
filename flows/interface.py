"""What flows take and return: types that Prefect shows as forms and stores as results."""

from decimal import Decimal
from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from pydantic import BeforeValidator, Field, WithJsonSchema

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import parse_credits

# The types of what flows are asked for: what a form offers, and what is refused before a run.
#
# Prefect sends a flow to another process by value, without the names of its module. So a module
# with a flow in it does without `from __future__ import annotations`: its annotations are the types
# themselves, and arrive.


#: What the keys of questions begin with, among the inputs of a flow run.
QUESTION = "plan-"
_WORDS = {False: "no", True: "yes"}


def _as_word(value: object) -> object:
    return _WORDS[value] if isinstance(value, bool) else value


#: Whether a run may spend what its plan costs: no, after asking on Prefect's page, or yes. True
#: and False are understood, too.
Approve: TypeAlias = Annotated[
    Literal["no", "ask", "yes"],
    BeforeValidator(_as_word),
    WithJsonSchema({"enum": ["no", "ask", "yes", False, True]}),
]
#: An amount of credits; read it with `amount_of`.
Credits: TypeAlias = Annotated[float, Field(ge=0, le=10**12, allow_inf_nan=False)]
#: How a run ends after which rows need attention.
NeedsPerson: TypeAlias = Literal["failed", "completed"]


def amount_of(value: object) -> Decimal | None:
    """Return the credits that a parameter says; None where it was not given.

    Raises BadInput for what is no amount: a flow may be called without a look at its parameters,
    and a limit that cannot be read would be none.
    """
    if value is None:
        return None
    amount = parse_credits(value)
    if amount is None:
        raise BadInput(f"{value!r} is not an amount of credits; nothing was spent")
    return amount


# What a flow's run returns to a flow that called it, or to whoever reads its result.


class CreditsResult(TypedDict):
    """Amounts in credits: of the campaign over all its runs, but for what this run was charged."""

    quoted: float
    reserved: float
    charged: float
    paid_before: float
    variance: float
    budget: float | None
    left: float | None
    charged_this_run: float


class CampaignResult(TypedDict):
    """How a campaign stands: `rows` counts them by state, with `total`.

    `exit` is the exit status of `callsheet run`: 0 delivered, 3 rows need attention, 4 not
    approved, 5 parked. `asked` is what a plan costs that was not approved, in credits.
    """

    campaign: str
    rows: dict[str, int]
    credits: CreditsResult
    exit: int
    asked: NotRequired[float]


class PlanResult(TypedDict):
    """What a run would do and cost: `actions` counts the rows by what would become of them.

    Amounts are in credits. `fits` says whether the plan is within what is left of the budget.
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
