"""A change that belongs to a person: they are checked in its own transaction, before it.

The person is locked until the commit, so a revocation comes before the change, which then fails, or
after it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TypeVar

from sqlalchemy import Connection

from callsheet.tasks.ledger.people import Person

T = TypeVar("T")


def checked_first(
    change: Callable[[Connection], T],
    *,
    find: Callable[[Connection], Person | None],
    check: Callable[[Person | None], None],
) -> Callable[[Connection], T]:
    """Return the change with a check before it; `check` raises where the person may not do this."""
    named = change.func if isinstance(change, partial) else change

    @wraps(named, updated=())
    def checked(connection: Connection) -> T:
        check(find(connection))
        return change(connection)

    return checked
