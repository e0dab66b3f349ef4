"""The life of a row: its states, and the moves between them.

    planned -> quoted -> approved -> submitting -> rendering -> ready -> delivered

Beside it stand the states that wait for somebody. This dict is the only list of moves;
the ledger refuses any other.
"""

from __future__ import annotations

from typing import Literal, get_args

State = Literal[
    "planned",
    "quoted",
    "approved",
    "submitting",
    "rendering",
    "ready",
    "delivered",
    "held",
    "rejected",
    "failed",
    "stalled",
    "uncertain",
    "cancelled",
    "retired",
]
STATES: tuple[State, ...] = get_args(State)

#: A paid request may be under way: the row is carried on by any run, whatever the sheet says now.
UNDER_WAY: frozenset[State] = frozenset({"submitting", "rendering", "ready"})
#: Not begun: nothing has been asked of the service under the present brief.
NOT_BEGUN: frozenset[State] = frozenset({"planned", "quoted", "approved"})
#: RowToCarry for a person.
NEEDS_PERSON: frozenset[State] = frozenset({"held", "rejected", "failed", "stalled", "uncertain"})

TRANSITIONS: dict[State, frozenset[State]] = {
    # The last three: the sheet was changed back to a video that was already paid for.
    "planned": frozenset({"quoted", "held", "rejected", "cancelled", "retired",
                          "submitting", "rendering", "delivered"}),
    "quoted": frozenset({"planned", "approved", "held", "rejected", "cancelled", "retired"}),
    "approved": frozenset({"planned", "submitting", "held", "cancelled", "retired"}),
    # Back to approved, or cancelled: proved not to have been carried out.
    "submitting": frozenset({"rendering", "approved", "held", "rejected", "uncertain",
                             "cancelled"}),
    "rendering": frozenset({"ready", "failed", "stalled", "cancelled"}),
    "ready": frozenset({"delivered", "held"}),
    "delivered": frozenset({"planned", "ready", "retired"}),
    "held": frozenset({"planned", "submitting", "rendering", "delivered", "cancelled", "retired"}),
    "rejected": frozenset({"planned", "retired"}),
    "failed": frozenset({"planned", "retired"}),
    "stalled": frozenset({"planned", "rendering", "cancelled", "retired"}),
    "uncertain": frozenset({"planned", "rendering", "cancelled", "retired"}),
    "cancelled": frozenset({"planned", "retired"}),
    "retired": frozenset({"planned", "submitting", "rendering", "delivered"}),
}  # fmt: skip
