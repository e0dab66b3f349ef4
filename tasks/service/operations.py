"""The operations of the service, one row each. The money class decides what may be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

Scope = Literal["read", "write", "ai"]


class Money(Enum):
    """What sending a request twice would cost."""

    READ = "R"  # nothing: it only looks
    KEYED = "K"  # nothing, as long as key and bytes are the same
    GENTLE = "G"  # nothing, but what it found may have changed: look again
    ONCE = "N"  # a second charge: it is sent once


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation: `path` is relative to the base address and never holds a real id in logs.

    `conflict` says what 409 means here, in the words of the specification.
    """

    name: str
    method: str
    path: str
    scope: Scope
    money: Money
    conflict: str | None = None

    @property
    def read_timeout(self) -> float:
        """Seconds without a byte: cutting a paid call early only makes its outcome unknown."""
        return 30.0 if self.money is Money.READ else 120.0


CREATE = Operation(
    name="create",
    method="POST",
    path="/videos",
    scope="write",
    money=Money.KEYED,
    conflict="the same request is still being worked on",
)
ESTIMATE = Operation(
    name="estimate", method="POST", path="/videos/estimate", scope="read", money=Money.READ
)
LIST = Operation(name="list", method="GET", path="/videos", scope="read", money=Money.READ)
GET = Operation(name="get", method="GET", path="/videos/{id}", scope="read", money=Money.READ)
DOWNLOAD = Operation(
    name="download",
    method="GET",
    path="/videos/{id}/download",
    scope="read",
    money=Money.READ,
    conflict="the film is not ready yet",
)
CAPTIONS = Operation(
    name="captions",
    method="GET",
    path="/videos/{id}/captions",
    scope="read",
    money=Money.READ,
)
CANCEL = Operation(
    name="cancel",
    method="POST",
    path="/videos/{id}/cancel",
    scope="write",
    money=Money.GENTLE,
    conflict="no render is running",
)

OPERATIONS = (CREATE, ESTIMATE, LIST, GET, DOWNLOAD, CAPTIONS, CANCEL)
