"""The types of what flows are asked for: what a form offers, and what is refused before a run.

Prefect sends a flow to another process by value, without the names of its module. So a module with
a flow in it does without `from __future__ import annotations`: its annotations are the types
themselves, and arrive.
"""

from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema

from callsheet.tasks.credits import parse_credits
from callsheet.tasks.errors import BadInput

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
