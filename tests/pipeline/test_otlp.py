"""Traces of a run, as a collector has them in the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.pipeline.collector import attributes, collector
from tests.programs import ROOT, Desk, simple_sheet

STEPS = ["read", "plan", "quote", "approve", "produce", "report"]
BAD = "bad,product-launch,Kettle,Bad,5000,9:16\n"


@pytest.mark.merge
def test_a_run_is_one_trace_with_a_span_a_step_and_some_for_rows(desk: Desk, name: str) -> None:
    (desk.folder / f"{name}.csv").write_text(simple_sheet(4) + BAD)
    with collector() as collected:
        desk.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collected.url
        desk.environ["OTEL_RESOURCE_ATTRIBUTES"] = "team=videos"
        done = desk.call("run", f"{name}.csv", "--yes", "--json", "--without-prefect")

    assert done.status == 3
    (run,) = collected.named("callsheet.run")
    assert {"campaign": name, "exit": 3, "rows.delivered": 4, "rows.rejected": 1}.items() <= (
        attributes(run).items()
    )
    assert len({span.trace_id for span in collected.spans}) == 1
    steps = [span for span in collected.spans if span.parent_span_id == run.span_id]
    assert [span.name for span in sorted(steps, key=lambda one: one.start_time_unix_nano)
            if span.name in STEPS] == STEPS  # fmt: skip
    rows = {attributes(span)["row"]: span for span in collected.named("row")}
    assert sorted(rows) == ["r001", "r002", "r003", "r004"]
    (produce,) = collected.named("produce")
    assert {span.parent_span_id for span in rows.values()} == {produce.span_id}

    creates = collected.named("POST /videos")
    assert {span.parent_span_id for span in creates} == {span.span_id for span in rows.values()}
    assert {attributes(span)["http.response.status_code"] for span in creates} == {202}
    (quote,) = collected.named("quote")
    refused = [span for span in collected.spans if span.status.code == 2]
    assert [span.parent_span_id for span in refused] == [quote.span_id]

    assert collected.resources[0]["service.name"] == "callsheet"
    assert collected.resources[0]["team"] == "videos"
    secrets = (desk.environ["CALLSHEET_API_KEY"], "signature=", "Bearer")
    assert not [word for word in secrets if word.encode() in collected.raw]


@pytest.mark.parametrize(
    ("variables", "traces"),
    [
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "{}/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "{}", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "{}", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_what_is_sent_is_what_the_variables_ask_for(
    desk: Desk, name: str, variables: dict[str, str], traces: bool
) -> None:
    (desk.folder / f"{name}.csv").write_text(simple_sheet(1))
    with collector() as collected:
        for variable, value in variables.items():
            desk.environ[variable] = value.format(collected.url)
        desk.call("run", f"{name}.csv", "--yes", "--without-prefect")

    assert bool(collected.spans) == traces


@pytest.mark.merge
def test_a_collector_that_is_away_fails_nothing(desk: Desk, name: str) -> None:
    (desk.folder / f"{name}.csv").write_text(simple_sheet(1))
    desk.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
    done = desk.call("run", f"{name}.csv", "--yes", "--without-prefect")

    assert done.status == 0


@pytest.mark.merge
def test_nothing_of_it_is_loaded_where_nobody_asks() -> None:
    program = (
        "import sys, callsheet.deployments.terminal_run, callsheet.tasks.engine.engine\n"
        "print(*(name for name in sys.modules if name.startswith(('opentelemetry', 'prometheus'))))"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
