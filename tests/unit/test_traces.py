"""Spans: few whatever the size of a run, without a secret, and none where nobody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.runtime.telemetry import (
    MOST,
    RowSpans,
    begin_tracing,
    end_tracing,
    now,
    request_made,
    span,
)

KEY = "mav_live_aVerySecretKey"
SIGNED = "https://videos.example/f.mp4?X-Amz-Signature=0123abcdef"


class Spans:
    """What was made."""

    def __init__(self) -> None:
        self.kept = InMemorySpanExporter()

    def __call__(self) -> list[ReadableSpan]:
        return list(self.kept.get_finished_spans())

    def count(self) -> Counter[str]:
        return Counter(one.name for one in self())


@pytest.fixture
def spans() -> Iterator[Spans]:
    made, provider = Spans(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made.kept))
    begin_tracing(provider.get_tracer("test"))
    yield made
    end_tracing()


def carry(rows: int, *, most: int, trouble: str | None = None) -> None:
    """Make what a run of so many rows makes: a request to price each, and six to make it."""
    with span("run"):
        carried = RowSpans(most)
        for _ in range(rows):
            request_made("quote", since=now(), facts=dict)
        for row in range(rows):
            carried.begins(row)
            with carried.visited(row):
                for _ in range(6):
                    request_made("create", since=now(), facts=dict, trouble=trouble)
            carried.ends(row, lambda: {"row": "r"})
        carried.close()


@pytest.mark.parametrize(
    ("rows", "most", "found"),
    [
        (3, 2, {"run": 1, "quote": 3, "row": 2, "create": 12}),
        (3, 0, {"run": 1, "quote": 3}),
        (2000, 100, {"run": 1, "quote": MOST["step"], "row": 100, "create": 600}),
        (2000, 2000, {"run": 1, "quote": MOST["step"], "row": 2000, "create": MOST["row"]}),
    ],
)
def test_a_run_has_few_spans(spans: Spans, rows: int, most: int, found: dict[str, int]) -> None:
    carry(rows, most=most)

    assert spans.count() == found


def test_what_failed_has_a_span_up_to_a_limit_whoever_asked(spans: Spans) -> None:
    carry(200, most=0, trouble="unavailable")

    assert spans.count()["create"] == MOST["failed"]
    (run,) = [one for one in spans() if one.name == "run"]
    failed = next(one for one in spans() if one.name == "create")
    assert failed.parent.span_id == run.context.span_id
    assert failed.status.description == "unavailable"


@pytest.mark.safeguard(
    "tasks/runtime/telemetry.py", "found[name] = redact(str(value))", "found[name] = str(value)"
)
def test_a_span_holds_no_secret(spans: Spans) -> None:
    with (
        pytest.raises(SpendRefused),
        span("refused", lambda: {"campaign": KEY, "sheet": SIGNED, "exit": 4, "none": None}),
    ):
        raise SpendRefused(f"not with {KEY}")
    with pytest.raises(ValueError, match="Secret"), span("broken"):
        raise ValueError(KEY)

    refused, broken = spans()
    assert dict(refused.attributes or {}) == {
        "campaign": "mav_***",
        "sheet": "https://videos.example/f.mp4?***",
        "exit": 4,
    }
    assert (refused.status.description, broken.status.description) == (
        "not with mav_***",
        "ValueError",
    )
    assert [*refused.events, *broken.events] == []


def test_nothing_is_made_where_nobody_asks() -> None:
    rows = RowSpans(5)
    assert span("run") is rows.visited(1)
    assert now() == 0
