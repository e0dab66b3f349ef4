"""A ledger's metrics in the Prometheus text format, and the list of all metrics.

What is asked again within a few seconds is answered as before. Knows no HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection

from callsheet.tasks.ledger.gauges import Gauging, LedgerGauges
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema import REVISION
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.telemetry import (
    BOUNDS,
    DELIVERIES,
    DELIVERY_SECONDS,
    HINTS,
    POLLS,
    REQUESTS,
    RETRIES,
    Counts,
)

if TYPE_CHECKING:
    # Only anyone who is asked for metrics pays for it.
    from prometheus_client import CollectorRegistry
    from prometheus_client import Metric as Family

#: An answer holds for so many seconds.
FRESH = 5.0
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: The labels of a sample, in the order of the metric's, and its value.
Sample = tuple[Sequence[str], object]
#: What finds the samples of a metric, in what a ledger says of itself and in the ledger.
Values = Callable[[LedgerGauges, Ledger], Iterable[Sample]]


class Exposition:
    """The metrics of one ledger; `clock` gives seconds."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger = ledger
        self._clock = clock
        self._gauging = Gauging()
        self._one = asyncio.Lock()
        self._text = b""
        self._until = float("-inf")

    async def text(self) -> bytes:
        """Return them; raises LedgerError where the ledger cannot be read."""
        async with self._one:
            if self._clock() >= self._until:
                self._text = await self._ledger.read(self._read)
                self._until = self._clock() + FRESH
            return self._text

    async def registry(self) -> CollectorRegistry:
        """Return them as prometheus_client takes them."""
        return await self._ledger.read(self._collect)

    def _read(self, connection: Connection) -> bytes:
        from prometheus_client import generate_latest

        return generate_latest(self._collect(connection))

    def _collect(self, connection: Connection) -> CollectorRegistry:
        """Return ours alone, nothing of the process that happens to answer."""
        from prometheus_client import CollectorRegistry

        found = list(families(self._gauging.ask(connection), self._ledger))
        registry = CollectorRegistry()
        registry.register(_Collected(found))
        return registry


class _Collected:
    def __init__(self, found: Sequence[Family]) -> None:
        self._found = found

    def collect(self) -> Iterable[Family]:
        return self._found


def families(found: LedgerGauges, ledger: Ledger) -> Iterator[Family]:
    """Yield every metric with its samples, in the order of `METRICS`."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    for metric in METRICS:
        if metric.kind == "histogram":
            yield HistogramMetricFamily(
                metric.name, metric.words, buckets=_buckets(found.counts),
                sum_value=found.counts.get((DELIVERY_SECONDS, ""), 0.0),
            )  # fmt: skip
            continue
        kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        family = kind(metric.name, metric.words, labels=metric.labels)
        for labels, value in metric.values(found, ledger):
            if value is not None:
                family.add_metric(labels, float(str(value)))
        yield family


def _buckets(counts: Counts) -> list[tuple[str, float]]:
    labels = [*map(str, BOUNDS), "+Inf"]
    upto = accumulate(counts.get((DELIVERIES, label), 0.0) for label in labels)
    return [(f"{float(label)}" if label != "+Inf" else label, n)
            for label, n in zip(labels, upto, strict=True)]  # fmt: skip


# Every metric there is: its name, kind and labels, what it says, and where its values come from.
#
# A campaign is a label of those with open rows and those of the last two weeks, a hundred at most.


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; a counter's samples end in `_total`, a histogram's in `_bucket`, ...

    `values` gives its samples; one without a value (None) is left out.
    """

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    words: str
    values: Values

    @property
    def samples(self) -> tuple[str, ...]:
        """The names under which its values are asked for."""
        if self.kind == "histogram":
            return tuple(f"{self.name}{end}" for end in ("_bucket", "_count", "_sum"))
        return (self.name,)


def _one(member: str) -> Values:
    return lambda found, _: [((), getattr(found, member))]


def _ledgers(member: str) -> Values:
    return lambda _, ledger: [((), getattr(ledger, member))]


def _campaigns(member: str) -> Values:
    return lambda found, _: [((one.name,), getattr(one, member)) for one in found.campaigns]


def _accounts(member: str) -> Values:
    return lambda found, _: [((one.kind, one.name), getattr(one, member)) for one in found.accounts]


def _nights(member: str) -> Values:
    return lambda found, _: [((one.inbox,), getattr(one, member)) for one in found.nights]


def _counted(name: str, *, labels: int = 1) -> Values:
    # The name of an operation may have several words; what follows it has one.
    return lambda found, _: [
        (label.rsplit(maxsplit=labels - 1), value)
        for (of, label), value in found.counts.items()
        if of == name
    ]


def _rows(found: LedgerGauges, _: Ledger) -> Iterator[Sample]:
    for one in found.campaigns:
        for state, count in one.rows.items():
            yield (one.name, state), count


def _budgets_left(found: LedgerGauges, _: Ledger) -> Iterator[Sample]:
    for one in found.campaigns:
        if one.budget is not None:
            yield (one.name,), one.budget - one.reserved - one.charged


_CAMPAIGN = ("campaign",)
METRICS: tuple[Metric, ...] = (
    Metric("callsheet_info", "gauge", ("version", "schema"), "1; the versions as labels",
           lambda *_: [((own_version(), REVISION), 1)]),
    Metric("callsheet_rows", "gauge", ("campaign", "state"), "rows in a state", _rows),
    Metric("callsheet_oldest_row_under_way_timestamp_seconds", "gauge", _CAMPAIGN,
           "since when the oldest row under way has not changed; absent if no row is under way",
           _campaigns("under_way_since")),
    Metric("callsheet_quoted_credits", "gauge", _CAMPAIGN, "what its rows cost at their quotes",
           _campaigns("quoted")),
    Metric("callsheet_reserved_credits", "gauge", _CAMPAIGN, "reserved for rows that have started",
           _campaigns("reserved")),
    Metric("callsheet_charged_credits", "gauge", _CAMPAIGN, "charged by the service, in total",
           _campaigns("charged")),
    Metric("callsheet_budget_credits", "gauge", _CAMPAIGN, "its budget, if it has one",
           _campaigns("budget")),
    Metric("callsheet_budget_left_credits", "gauge", _CAMPAIGN, "how much of its budget is left",
           _budgets_left),
    Metric("callsheet_account_budget_credits", "gauge", ("kind", "name"),
           "the budget of today (`day`), of this month (`month`) or of a cost center, if there "
           "is one",
           _accounts("budget")),
    Metric("callsheet_account_left_credits", "gauge", ("kind", "name"), "how much of it is left",
           _accounts("left")),
    Metric("callsheet_service_requests_total", "counter", ("operation", "outcome"),
           "requests to the service; `limited` were refused with 429",
           _counted(REQUESTS, labels=2)),
    Metric("callsheet_service_retries_total", "counter", ("operation",),
           "how many of them were not the first attempt", _counted(RETRIES)),
    Metric("callsheet_polls_total", "counter", (), "polls of renders",
           lambda found, _: [((), found.counts.get((POLLS, ""), 0.0))]),
    Metric("callsheet_hints_total", "counter", ("outcome",),
           "webhooks: heard, repeated, or refused", _counted(HINTS)),
    Metric("callsheet_hint_heard_timestamp_seconds", "gauge", (), "when the last webhook arrived",
           _one("heard_at")),
    Metric("callsheet_delivery_seconds", "histogram", (),
           "seconds from the start of a take to its delivery", lambda *_: ()),
    Metric("callsheet_night_ended_timestamp_seconds", "gauge", ("inbox",),
           "when the last nightly run of an inbox ended", _nights("ended_at")),
    Metric("callsheet_night_exit_status", "gauge", ("inbox",),
           "the exit status of that nightly run", _nights("exit")),
    Metric("callsheet_ledger_bytes", "gauge", (), "the size of the ledger", _one("size")),
    Metric("callsheet_ledger_backup_timestamp_seconds", "gauge", (),
           "when it was last backed up; absent if never", _one("backup_at")),
    Metric("callsheet_ledger_waiting_changes", "gauge", (),
           "changes that wait to be written, in the process that answers", _ledgers("waiting")),
    Metric("callsheet_ledger_changes_total", "counter", (), "changes of that process",
           _ledgers("changes")),
    Metric("callsheet_ledger_commits_total", "counter", (), "commits of that process",
           _ledgers("commits")),
)  # fmt: skip
