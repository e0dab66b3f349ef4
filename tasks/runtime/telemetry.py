"""Traces and counters: what a run did and how long it took, for OpenTelemetry and Prometheus.

Nothing of OpenTelemetry is loaded, and next to nothing is done, before `begin_tracing`. A run has
few spans whatever its size: one for itself, one for each step, one for each of some rows and the
requests made for these, and one for a request that failed. Owns what is in a span: no secret.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from time import time_ns
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import redact

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

F = TypeVar("F", bound=Callable[..., Any])
Facts = Mapping[str, object]

#: Requests of a run that have a span: those outside of rows, those of rows that have one, those
#: that failed.
MOST = {"step": 500, "row": 2000, "failed": 500}
_tracer: Tracer | None = None
_left = dict(MOST)
#: Whose request it is: a step's, or that of a row that has a span, or has none.
_of: ContextVar[Literal["step", "row", "other"]] = ContextVar("callsheet_traced", default="step")
_NOTHING: AbstractContextManager[None] = nullcontext()


def begin_tracing(tracer: Tracer) -> None:
    """Make spans from now on, with this tracer."""
    global _tracer
    _tracer = tracer


def end_tracing() -> None:
    """Make no more spans."""
    global _tracer
    _tracer = None


def span(name: str, facts: Callable[[], Facts] | None = None) -> AbstractContextManager[None]:
    """Return what makes a span of what is done within; its `facts` are asked for at the end."""
    return _NOTHING if _tracer is None else _span(_tracer, name, facts)


def spanned(name: str) -> Callable[[F], F]:
    """Have a step be a span of this name."""

    def wrap(step: F) -> F:
        @wraps(step)
        async def within(*args: Any, **named: Any) -> Any:
            if _tracer is None:
                return await step(*args, **named)
            with span(name):
                return await step(*args, **named)

        return within  # type: ignore[return-value]

    return wrap


@contextmanager
def _span(tracer: Tracer, name: str, facts: Callable[[], Facts] | None) -> Iterator[None]:
    # What an exception says, and where it went through, may hold anything.
    with tracer.start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    ) as made:
        try:
            yield
        except BaseException as error:
            _fail(made, str(error) if isinstance(error, CallsheetError) else type(error).__name__)
            raise
        finally:
            if facts is not None:
                made.set_attributes(_attributes(facts()))


#: Rows of a run that have a span of their own.
TRACED = 100


class RowSpans:
    """Spans of rows in a run: the first so many, and the requests made for these."""

    def __init__(self, most: int = TRACED) -> None:
        self._left = most
        self._under_way: dict[int, Span] = {}
        _left.update(MOST)

    def begins(self, row: int) -> None:
        """Begin the span of a row, unless there are enough."""
        if _tracer is not None and self._left > 0 and row not in self._under_way:
            self._left -= 1
            self._under_way[row] = _tracer.start_span("row")

    def visited(self, row: int) -> AbstractContextManager[None]:
        """Return what puts requests that are made within under the row's span, if it has one."""
        return _NOTHING if _tracer is None else self._visited(row)

    @contextmanager
    def _visited(self, row: int) -> Iterator[None]:
        from opentelemetry.trace import use_span

        made = self._under_way.get(row)
        token = _of.set("other" if made is None else "row")
        try:
            if made is None:
                yield
                return
            with use_span(made, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            _of.reset(token)

    def ends(self, row: int, facts: Callable[[], Facts]) -> None:
        """End the span of a row, if it has one."""
        if self._under_way and (made := self._under_way.pop(row, None)) is not None:
            made.set_attributes(_attributes(facts()))
            made.end()

    def close(self) -> None:
        """End what was left under way."""
        for row in list(self._under_way):
            self.ends(row, lambda: {"left": True})


def request_made(
    name: str, *, since: int, facts: Callable[[], Facts], trouble: str | None = None
) -> None:
    """Make the span of a request to the service that began at `since` (Unix nanoseconds)."""
    if _tracer is None:
        return
    kind = "failed" if trouble else _of.get()
    if _left.get(kind, 0) <= 0:
        return
    _left[kind] -= 1
    from opentelemetry.trace import SpanKind

    made = _tracer.start_span(name, kind=SpanKind.CLIENT, start_time=since)
    made.set_attributes(_attributes(facts()))
    if trouble:
        _fail(made, trouble)
    made.end()


def now() -> int:
    """Return the moment as spans have it; 0 where none are made."""
    return 0 if _tracer is None else time_ns()


def _fail(made: Span, words: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    made.set_status(Status(StatusCode.ERROR, redact(words)))


def _attributes(facts: Facts) -> dict[str, str | int | float | bool]:
    found: dict[str, str | int | float | bool] = {}
    for name, value in facts.items():
        if isinstance(value, bool | int | float):
            found[name] = value
        elif value is not None:
            found[name] = redact(str(value))
    return found


# What is counted while Callsheet is at work: requests, polls, hints, seconds to delivery.
#
# In memory, by name and label, for a moment: `tasks.ledger.gauges` keeps it. Used on one event
# loop; to count costs less than a microsecond.


#: A name and a label, and how many since it was taken last.
Counts = Mapping[tuple[str, str], float]

#: Requests to the service by operation and outcome (`create ok`), and those of them that are not
#: the first attempt, by operation.
REQUESTS, RETRIES = "requests", "retries"
#: Looks at renders; webhooks by what became of them.
POLLS, HINTS = "polls", "hints"
#: Videos by how long they took from the intent of their take, and all of their seconds.
DELIVERIES, DELIVERY_SECONDS = "deliveries", "delivery_seconds"
#: The bounds of `DELIVERIES`, in seconds: its labels, next to `+Inf`.
BOUNDS = (15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400)
_LABELS = (*map(str, BOUNDS), "+Inf")


class Measures:
    """Counts since they were taken last."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, str], float] = defaultdict(float)

    def add(self, name: str, label: str = "", by: float = 1.0) -> None:
        """Count something."""
        self._counts[name, label] += by

    def requested(self, operation: str, outcome: str, *, attempt: int) -> None:
        """Count a request and how it went."""
        self._counts[REQUESTS, f"{operation} {outcome}"] += 1
        if attempt > 1:
            self._counts[RETRIES, operation] += 1

    def delivered(self, seconds: float) -> None:
        """Count a video that was delivered so many seconds after its take was intended."""
        self._counts[DELIVERIES, _LABELS[bisect_left(BOUNDS, seconds)]] += 1
        self._counts[DELIVERY_SECONDS, ""] += max(0.0, seconds)

    def take(self) -> Counts:
        """Return what was counted, and begin again."""
        found, self._counts = self._counts, defaultdict(float)
        return found

    def give_back(self, counts: Counts) -> None:
        """Count again what was taken and could not be kept."""
        for (name, label), value in counts.items():
            self._counts[name, label] += value
