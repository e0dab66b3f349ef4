"""What the arguments of tools mean, for the model that fills them in; and those that are none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.ledger.row_filter import ReviewFilter
from callsheet.tasks.ledger.values import State

Amount = int | float

Sheet = Annotated[
    str,
    Field(
        description="A path below the working folder, an https:// address, or the text of a sheet "
        "(CSV, YAML or JSON). `sheet_columns` lists its columns."
    ),
]
Budget = Annotated[
    Amount | None,
    Field(description="The most that a new campaign may cost, in credits, over all its runs."),
]
NewCampaign = Annotated[
    str | None,
    Field(description="What the campaign is called; without it, as the sheet or its file says."),
]
Select = Annotated[
    str | None,
    Field(description="Only these rows: `tag:x`, `language:en`, or ids with commas."),
]
Campaign = Annotated[str, Field(description="The campaign's name, as `list_campaigns` has it.")]
PlanId = Annotated[str, Field(description="The id that `plan` or `retake` returned in `plan`.")]
Row = Annotated[str, Field(description="The id of the row in its campaign.")]
Rows = Annotated[list[str], Field(min_length=1, description="The ids of the rows.")]
SomeRows = Annotated[
    list[str] | None,
    Field(min_length=1, description="The ids of the rows; without it, all that is left."),
]
Because = Annotated[str, Field(description="Why, in a few words, for the person who approves it.")]
After = Annotated[
    str | None, Field(description="`next` of the answer before, for the page behind it.")
]
RowState = Annotated[
    State | None, Field(description="Only rows in this state, such as `held` or `failed`.")
]
Reviews = Annotated[
    ReviewFilter | None,
    Field(description="Only videos that are kept (`keep`), rejected, or not reviewed (`none`)."),
]
Verdict = Annotated[Literal["keep", "reject"], Field(description="What is decided of the video.")]
Reason = Annotated[str | None, Field(description="Why, in a few words (40 characters).")]
Take = Annotated[
    int | None,
    Field(
        ge=1,
        lt=2**31,
        description="The take that was shown, as `show_videos` numbers it; without it, the newest.",
    ),
]


def check_names(tool: str, schema: Mapping[str, Any], given: Iterable[str]) -> None:
    """Raise ProblemDetails (422) for arguments that a tool does not have.

    They would be left out without a word, and a budget that is misspelt is no budget.
    """
    known = list(schema.get("properties", {}))
    wrong = [name for name in given if name not in known]
    if not wrong:
        return
    takes = f"it takes {', '.join(known)}" if known else "it takes none"
    raise ProblemDetails(
        422,
        f"{tool} has no argument {', '.join(_hinted(one, known) for one in wrong[:5])}; "
        "nothing was charged",
        remedy=f"{takes}; call it again with these names",
    )


def _hinted(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name.casefold(), known, n=1)
    return f"{name[:40]} (did you mean {close[0]}?)" if close else name[:40]
