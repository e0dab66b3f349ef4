"""Refusals as problem details (RFC 9457), and times in ISO 8601."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from callsheet.tasks.values.amounts import count

T = TypeVar("T")
D = TypeVar("D")

#: Problems of a sheet that one answer lists; the others are counted.
MOST_PROBLEMS = 500


class ProblemDetails(Exception):
    """A refusal. `problems` are those of a sheet: line, column and words each.

    `extra` are further members of the document, as `plan` of a plan that took another's place.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        title: str | None = None,
        remedy: str | None = None,
        problems: Sequence[Mapping[str, Any]] = (),
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title or _TITLES.get(status, "This cannot be done")
        self.detail = detail
        self.remedy = remedy
        self.problems = list(problems)
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})

    def as_json(self) -> dict[str, Any]:
        """Return the document."""
        return {
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "remedy": self.remedy,
            "problems": self.problems,
            **self.extra,
        }


def listed(problems: Sequence[T], told: Callable[[T], D], more: Callable[[str], D]) -> list[D]:
    """Return what is told of the first problems, and of the others how many there are."""
    found = [told(one) for one in problems[:MOST_PROBLEMS]]
    left = len(problems) - len(found)
    return [*found, more(f"and {count(left, 'more problem')}")] if left else found


_TITLES = {
    400: "This cannot be read",
    401: "You are not logged in",
    403: "You may not do this",
    404: "Not found",
    405: "This is not done like that",
    408: "This took too long",
    409: "Something changed meanwhile",
    413: "This is too large",
    422: "This cannot be meant",
    421: "This address belongs to another site",
    429: "Too many tries",
    503: "Not now",
}
