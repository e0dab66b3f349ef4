"""Every metric there is: its name, kind and labels, and what it says.

A campaign is a label of those with open rows and those of the last two weeks, a hundred at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; a counter's samples end in `_total`, a histogram's in `_bucket`, ..."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    words: str

    @property
    def samples(self) -> tuple[str, ...]:
        """The names under which its values are asked for."""
        if self.kind == "histogram":
            return tuple(f"{self.name}{end}" for end in ("_bucket", "_count", "_sum"))
        return (self.name,)


_CAMPAIGN = ("campaign",)
METRICS: tuple[Metric, ...] = (
    Metric("callsheet_info", "gauge", ("version", "schema"), "1; the versions as labels"),
    Metric("callsheet_rows", "gauge", ("campaign", "state"), "rows in a state"),
    Metric(
        "callsheet_oldest_row_under_way_timestamp_seconds", "gauge", _CAMPAIGN,
        "since when the oldest row that is being made stands still; none is: not there",
    ),
    Metric("callsheet_quoted_credits", "gauge", _CAMPAIGN, "what its rows cost by their quotes"),
    Metric("callsheet_reserved_credits", "gauge", _CAMPAIGN, "reserved for rows that have started"),
    Metric("callsheet_charged_credits", "gauge", _CAMPAIGN, "charged by the service, in all"),
    Metric("callsheet_budget_credits", "gauge", _CAMPAIGN, "its budget, where it has one"),
    Metric("callsheet_budget_left_credits", "gauge", _CAMPAIGN, "what of its budget is left"),
    Metric(
        "callsheet_account_budget_credits", "gauge", ("kind", "name"),
        "the budget of today (day) or of a cost center, where there is one",
    ),
    Metric("callsheet_account_left_credits", "gauge", ("kind", "name"), "what of it is left"),
    Metric(
        "callsheet_service_requests_total", "counter", ("operation", "outcome"),
        "requests to the service; outcome limited: refused with 429",
    ),
    Metric(
        "callsheet_service_retries_total", "counter", ("operation",),
        "those of them that were not the first attempt",
    ),
    Metric("callsheet_polls_total", "counter", (), "looks at renders"),
    Metric(
        "callsheet_hints_total", "counter", ("outcome",),
        "webhooks: heard, repeated, or refused",
    ),
    Metric("callsheet_hint_heard_timestamp_seconds", "gauge", (), "when one was heard last"),
    Metric(
        "callsheet_webhook_subscriptions", "gauge", (),
        "active webhook subscriptions; 0: only polls find videos",
    ),
    Metric(
        "callsheet_delivery_seconds", "histogram", (),
        "seconds from the intent of a take to its delivery",
    ),
    Metric(
        "callsheet_night_ended_timestamp_seconds", "gauge", ("inbox",),
        "when the sweep of an inbox ended last",
    ),
    Metric("callsheet_night_exit_status", "gauge", ("inbox",), "the exit status of that sweep"),
    Metric("callsheet_ledger_bytes", "gauge", (), "the size of the ledger"),
    Metric(
        "callsheet_ledger_backup_timestamp_seconds", "gauge", (),
        "when it was backed up last; never: not there",
    ),
    Metric(
        "callsheet_ledger_waiting_changes", "gauge", (),
        "changes of the process that answers which wait for its writer",
    ),
    Metric("callsheet_ledger_changes_total", "counter", (), "changes of that process"),
    Metric("callsheet_ledger_commits_total", "counter", (), "commits of that process"),
)  # fmt: skip
