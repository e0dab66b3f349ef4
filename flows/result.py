"""What a flow's run returns to a flow that called it, or to whoever reads its result."""

from typing import NotRequired, TypedDict


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
