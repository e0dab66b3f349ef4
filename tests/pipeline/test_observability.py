"""What a run tells of itself: metrics, dashboard and alerts, lines of JSON, traces; no secrets."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from callsheet.tasks.ledger.values import NEEDS_PERSON, UNDER_WAY
from callsheet.tasks.metrics import METRICS
from tests.programs import ROOT, Desk, Finished, simple_sheet
from tests.promtool import find_promtool
from tests.web import Quiet, serving

FOLDER = ROOT / "deployments" / "observability"
PAGE = (ROOT / "docs" / "observability.md").read_text()
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
RULES: list[dict[str, Any]] = [
    rule
    for group in YAML(typ="safe").load(FOLDER / "alerts.yaml")["groups"]
    for rule in group["rules"]
]
#: What Grafana puts in place of its own names.
GRAFANA = {"$__rate_interval": "5m", "$campaign": ".*"}
SELECTOR = re.compile(r"(callsheet_\w+)(?:\{([^}]*)\})?")
BAD = "bad,product-launch,Kettle,Bad,5000,9:16\n"


def asked() -> Iterator[tuple[str, str]]:
    """Yield every expression, and where it stands."""
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for name, value in GRAFANA.items():
                expression = expression.replace(name, value)
            yield f"panel {panel['title']} {target['refId']}", expression
    for rule in RULES:
        yield f"alert {rule['alert']}", rule["expr"]


EXPRESSIONS = dict(asked())
LABELS = {name: {*m.labels, "le"} for m in METRICS for name in m.samples}


def test_every_metric_that_is_asked_for_is_told_after_a_run(desk: Desk, name: str) -> None:
    file = desk.folder / "callsheet.prom"
    desk.environ["CALLSHEET_METRICS_FILE"] = str(file)
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(2))).status == 0
    found = list(text_string_to_metric_families(file.read_text()))
    told = {metric.name.removesuffix("_total") for metric in METRICS}
    assert {family.name for family in found} == told
    values = {(s.name, *s.labels.values()): s.value for family in found for s in family.samples}
    assert values["callsheet_rows", name, "delivered"] == 2
    assert values["callsheet_service_requests_total", "create", "ok"] == 2
    assert values[("callsheet_delivery_seconds_count",)] == 2
    assert values[("callsheet_polls_total",)] >= 2


@pytest.mark.parametrize("where", EXPRESSIONS)
def test_an_expression_is_one_and_names_what_there_is(where: str) -> None:
    expression = EXPRESSIONS[where]
    promql_parser.parse(expression)
    used = SELECTOR.findall(expression)
    assert used, expression
    for metric, matchers in used:
        assert metric in LABELS, metric
        labels = set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", matchers))
        assert labels <= LABELS[metric], f"{metric} has no {labels - LABELS[metric]}"
    for grouped in re.findall(r"\b(?:by|without) \(([\w, ]+)\)", expression):
        every = {"environment", "instance", "job"}.union(*(LABELS[metric] for metric, _ in used))
        assert set(grouped.split(", ")) <= every


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_knows_environments_and_leads_to_what_to_type(rule: dict[str, Any]) -> None:
    grouped = re.findall(r"\b(?:max|sum|group|min) (?:by|without) \(([\w, ]+)\)", rule["expr"])
    assert grouped
    assert all("environment" in one for one in grouped)
    assert "on (" not in rule["expr"]
    # Without the external label, the address is below docs/.
    address = rule["annotations"]["runbook_url"]
    url = re.sub(r"\{\{ with .*\{\{ else \}\}(\w+)\{\{ end \}\}", r"\1", address)
    file, anchor = url.split("#")
    page = (ROOT / file).read_text()
    titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-"): title for title in titles}
    assert anchor in anchors
    section = page.split(f" {anchors[anchor]}\n", 1)[1].split("\n#", 1)[0]
    assert rule["alert"] in section
    assert "$ callsheet " in section, "a section says what to type"


@pytest.mark.merge
def test_prometheus_own_unit_tests_of_the_alerts_pass() -> None:
    promtool = find_promtool()
    if promtool is None:
        pytest.skip("there is no promtool: python -m tests.promtool")
    files = sorted(Path(__file__).parent.glob("alerts.*.yaml"))
    done = subprocess.run([promtool, "test", "rules", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    tried = {
        one["alertname"]
        for file in files
        for case in YAML(typ="safe").load(file)["tests"]
        for one in case["alert_rule_test"]
        if one.get("exp_alerts")
    }
    assert tried == {rule["alert"] for rule in RULES}, "an alert that no test has fire"


def test_dashboard_and_rules_speak_of_all_there_is() -> None:
    sets = [set(one.split("|")) for e in EXPRESSIONS.values()
            for one in re.findall(r'state=~"([^"]+)"', e)]  # fmt: skip
    assert set(NEEDS_PERSON) in sets
    assert set(UNDER_WAY) in sets
    alert = EXPRESSIONS["alert CallsheetRowsNeedPerson"]
    assert set(re.findall(r'state=~"([^"]+)"', alert)[0].split("|")) == NEEDS_PERSON
    used = {name for e in EXPRESSIONS.values() for name, _ in SELECTOR.findall(e)}
    assert {m.name for m in METRICS if not used.intersection(m.samples)} == set()
    taken = [
        (at["y"] + down, at["x"] + right)
        for at in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for down in range(at["h"])
        for right in range(at["w"])
    ]
    assert len(taken) == len(set(taken)), "panels stand beside each other"
    assert max(right for _, right in taken) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_page_tells_of_the_files_and_shows_a_line_as_it_is_written() -> None:
    (shown,) = re.findall(r"^```json\n(.+)\n```$", PAGE, re.MULTILINE)
    assert {"time", "level", "logger", "message"} <= json.loads(shown).keys()
    for file in FOLDER.iterdir():
        assert file.relative_to(ROOT).as_posix() in PAGE


@pytest.fixture
def json_here(desk: Desk) -> Desk:
    """Every line that a command writes to stderr is one JSON object."""
    desk.environ["CALLSHEET_LOG"] = "json"
    return desk


def lines(said: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in said.splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in found)
    return found


def test_a_log_has_the_plan_the_rows_and_the_end(json_here: Desk, name: str) -> None:
    json_here.environ["CALLSHEET_LOG_LEVEL"] = "debug"
    done = json_here.run(json_here.sheet(f"{name}.csv", simple_sheet(2) + BAD))
    assert json.loads(done.out)["exit"] == done.status == 3
    found = lines(done.err)
    ours = [line for line in found if line["logger"] in ("callsheet.run", "callsheet.engine")]
    assert any(line["message"].startswith(f"plan for {name}: ") for line in ours)
    assert any(line["message"].startswith("2 delivered, 1 rejected") for line in ours), ours
    assert {line["campaign"] for line in ours} == {name}
    # What people would have read is there as well.
    assert any(line["logger"] == "callsheet.said" for line in found)
    moved = [line for line in found if line.get("row") == "r001"]
    assert {"campaign": name, "row": "r001", "take": 1}.items() <= moved[-1].items()
    assert "-> delivered" in " ".join(line["message"] for line in moved)


@pytest.mark.parametrize(
    "words", [["run", "none.csv"], ["rnu"], ["status", "--profile", "none"]], ids=" ".join
)
def test_what_is_refused_is_told_so(json_here: Desk, words: list[str]) -> None:
    done = json_here.call(*words)
    assert (done.status, "error" in [line["level"] for line in lines(done.err)]) == (2, True)


@pytest.mark.merge
def test_a_program_that_reads_is_not_asked_and_a_night_is_named(json_here: Desk, name: str) -> None:
    sheet = json_here.sheet(f"{name}.csv", simple_sheet(1))
    done = json_here.call("run", sheet, "--without-prefect")
    assert done.status == 4
    assert any("there is no terminal to ask at" in line["message"] for line in lines(done.err))
    (json_here.folder / "in").mkdir()
    json_here.sheet(f"in/{name}.csv", "no sheet")
    done = json_here.call("nightly", "in", "--approve-up-to", "1", "--json", here=True)
    night = json.loads(done.out)["night"]
    assert {line["night"] for line in lines(done.err) if "night" in line} == {night}


@dataclass
class Collected:
    """A collector of OpenTelemetry, as far as it is sent traces: where it is, and what came."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    resources: list[dict[str, str]] = field(default_factory=list)
    raw: bytes = b""

    def named(self, name: str) -> list[Span]:
        """Return the spans of a name."""
        return [span for span in self.spans if span.name == name]

    def take(self, path: str, body: bytes) -> None:
        self.raw += body
        if path == "/v1/traces":
            for one in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(attributes(one.resource))
                self.spans += [span for scope in one.scope_spans for span in scope.spans]


def attributes(of: Any) -> dict[str, Any]:
    """Return the attributes of a span or a resource."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


@contextmanager
def collector() -> Iterator[Collected]:
    """Collect what is sent while this lasts."""
    collected = Collected()

    class Handler(Quiet):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            collected.take(self.path, body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

    with serving(Handler) as collected.url:
        yield collected


STEPS = ["read", "plan", "quote", "approve", "produce", "report"]


@pytest.mark.merge
def test_a_run_is_one_trace_with_a_span_a_step_and_some_for_rows(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4) + BAD)
    with collector() as collected:
        desk.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collected.url
        desk.environ["OTEL_RESOURCE_ATTRIBUTES"] = "team=videos"
        assert desk.run(sheet).status == 3
    (run,) = collected.named("callsheet.run")
    told = {"campaign": name, "exit": 3, "rows.delivered": 4, "rows.rejected": 1}
    assert told.items() <= attributes(run).items()
    assert len({span.trace_id for span in collected.spans}) == 1
    steps = [span for span in collected.spans if span.parent_span_id == run.span_id]
    steps.sort(key=lambda one: one.start_time_unix_nano)
    assert [span.name for span in steps if span.name in STEPS] == STEPS
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
    resource = collected.resources[0]
    assert (resource["service.name"], resource["team"]) == ("callsheet", "videos")
    secrets = (desk.environ["CALLSHEET_API_KEY"], "signature=", "Bearer")
    assert not [word for word in secrets if word.encode() in collected.raw]


@pytest.mark.parametrize(
    ("variables", "traces"),
    [
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "{}/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "{}", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "{}", "OTEL_SDK_DISABLED": "true"}, False),
        # A collector that is away fails nothing.
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, False),
    ],
)
def test_what_is_sent_is_what_the_variables_ask_for(
    desk: Desk, name: str, variables: dict[str, str], traces: bool
) -> None:
    with collector() as collected:
        desk.environ |= {one: value.format(collected.url) for one, value in variables.items()}
        assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0
    assert bool(collected.spans) == traces


@pytest.mark.merge
def test_nothing_of_it_is_loaded_where_nobody_asks() -> None:
    program = (
        "import sys, callsheet.deployments.terminal_run, callsheet.tasks.engine.engine\n"
        "print(*(name for name in sys.modules if name.startswith(('opentelemetry', 'prometheus'))))"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


class Site(SimpleHTTPRequestHandler):
    """Publishes the files of a folder on this machine."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.merge
def test_no_file_and_no_output_holds_a_secret(desk: Desk, tmp_path: Path, name: str) -> None:
    """Neither the key, nor what signs the address of a sheet or of a video."""
    (tmp_path / "site").mkdir()
    desk.sheet(f"site/{name}.csv", simple_sheet(2))
    with serving(partial(Site, directory=str(tmp_path / "site"))) as address:
        signed = f"{address}/{name}.csv?X-Amz-Signature=canary0sheet"
        said: list[Finished] = [
            desk.call("check", signed, "--json"),
            desk.call("plan", signed, "--json", "-o", "plan.json"),
            desk.run(signed, "-v"),
            desk.call("rows", name, "--json"),
            desk.call("explain", name, "r001", "--json"),
            desk.call("status", "--json"),
        ]
    assert said[2].status == 0, said[2].err
    secrets = ("canary0sheet", desk.environ["CALLSHEET_API_KEY"], "signature=", "Bearer mav_")
    texts = {f"output {n}": call.out + call.err for n, call in enumerate(said)}
    files = (file for file in tmp_path.rglob("*") if file.is_file() and file.suffix != ".mp4")
    texts |= {str(file): file.read_bytes().decode("latin-1") for file in files}
    for where, text in texts.items():
        assert not [secret for secret in secrets if secret in text], where
