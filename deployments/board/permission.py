"""Who a request is from, read again inside the transaction of every change that it makes.

A person may be revoked, or a link may end, while the body of a request is still on its way. So what
was read with the head of the request lets the request in, and never decides what is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from callsheet.deployments.board.who import nobody
from callsheet.tasks.ledger.checked_change import checked_first
from callsheet.tasks.ledger.ledger import Change
from callsheet.tasks.ledger.people import Person

T = TypeVar("T")


@dataclass(frozen=True)
class Permission:
    """How to find the person of one request, and what the route asks of them.

    `find` locks what it reads until the transaction ends.
    """

    find: Change[Person | None]
    #: Each raises ProblemDetails for a person who may not do this; routes add theirs.
    checks: list[Callable[[Person], None]] = field(default_factory=list)

    def check(self, person: Person | None) -> None:
        """Raise ProblemDetails (401, 403) for a person who may not do this."""
        if person is None:
            raise nobody()
        for check in self.checks:
            check(person)

    def guarding(self, change: Change[T]) -> Change[T]:
        """Return a change that checks the person first, in its own transaction."""
        return checked_first(change, find=self.find, check=self.check)
