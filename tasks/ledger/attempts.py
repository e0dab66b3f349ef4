"""How often the render of a row has failed that waits for its next attempt.

Such an attempt may wait for a budget, or for its new price to be approved: it stays one of those
that a person allowed.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, func, select

from callsheet.tasks.ledger.schema import rows, takes

#: Renders of this very brief that ended without a video, and nobody had asked for that.
FAILED_BEFORE = (
    select(func.count())
    .where(
        takes.c.row_id == rows.c.id,
        takes.c.digest == rows.c.digest,
        takes.c.nth < rows.c.nth,
        takes.c.ready_at.is_not(None),
        takes.c.delivered_at.is_(None),
        takes.c.abandoned_at.is_(None),
        takes.c.cancel_requested_at.is_(None),
    )
    .correlate(rows)
    .scalar_subquery()
)
_OF_ROWS = select(rows.c.id, FAILED_BEFORE).where(
    rows.c.id.in_(bindparam("these", expanding=True)), rows.c.retries.is_not(None)
)


def failed_before(connection: Connection, numbers: Collection[int]) -> dict[int, int]:
    """Return how often renders failed of rows, by their numbers, that a person allowed retries."""
    if not numbers:
        return {}
    found = connection.execute(_OF_ROWS, {"these": list(numbers)}).tuples()
    return {number: failed for number, failed in found if failed}
