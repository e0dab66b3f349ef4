"""Dashboard and alert rules speak of metrics that there are, and of sections that there are."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from callsheet.tasks.ledger.values import NEEDS_PERSON, UNDER_WAY
from callsheet.tasks.metrics import METRICS
from tests.programs import ROOT, Desk, simple_sheet
from tests.promtool import find_promtool

FOLDER = ROOT / "deployments" / "observability"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
RULES: list[dict[str, Any]] = [
    rule
    for group in YAML(typ="safe").load(FOLDER / "alerts.yaml")["groups"]
    for rule in group["rules"]
]
#: What Grafana puts in place of its own names.
GRAFANA = {"$__rate_interval": "5m", "$campaign": ".*"}
SELECTOR = re.compile(r"(callsheet_\w+)(?:\{([^}]*)\})?")


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
    (desk.folder / f"{name}.csv").write_text(simple_sheet(2))
    assert desk.call("run", f"{name}.csv", "--yes", "--without-prefect").status == 0

    found = list(text_string_to_metric_families(file.read_text()))
    told = {metric.samples: metric.name.removesuffix("_total") for metric in METRICS}
    assert {family.name for family in found} == set(told.values())
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


def test_environments_are_told_apart_in_every_alert() -> None:
    for rule in RULES:
        grouped = re.findall(r"\b(?:max|sum|group|min) (?:by|without) \(([\w, ]+)\)", rule["expr"])
        assert grouped, rule["alert"]
        assert all("environment" in one for one in grouped), rule["alert"]
        assert "on (" not in rule["expr"], rule["alert"]


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


def test_states_that_need_somebody_are_those_of_the_ledger() -> None:
    for states in (NEEDS_PERSON, UNDER_WAY):
        asks = [e for e in EXPRESSIONS.values() for found in re.findall(r'state=~"([^"]+)"', e)
                if set(found.split("|")) == states]  # fmt: skip
        assert asks, f"nobody asks for {states}"
    alert = EXPRESSIONS["alert CallsheetRowsNeedPerson"]
    assert set(re.findall(r'state=~"([^"]+)"', alert)[0].split("|")) == NEEDS_PERSON


def test_every_metric_is_on_the_dashboard_or_in_a_rule() -> None:
    used = {name for e in EXPRESSIONS.values() for name, _ in SELECTOR.findall(e)}

    assert {m.name for m in METRICS if not used.intersection(m.samples)} == set()


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_leads_to_what_it_means_and_what_to_type(rule: dict[str, Any]) -> None:
    # Without the external label, the address is below docs/.
    url = re.sub(
        r"\{\{ with .*\{\{ else \}\}(\w+)\{\{ end \}\}", r"\1", rule["annotations"]["runbook_url"]
    )
    file, anchor = url.split("#")
    page = (ROOT / file).read_text()
    titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-"): title for title in titles}

    assert anchor in anchors, rule["alert"]
    section = page.split(f" {anchors[anchor]}\n", 1)[1].split("\n#", 1)[0]
    assert rule["alert"] in section
    assert "$ callsheet " in section, "a section says what to type"


def test_panels_stand_beside_each_other() -> None:
    taken = [
        (at["y"] + down, at["x"] + right)
        for at in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for down in range(at["h"])
        for right in range(at["w"])
    ]
    assert len(taken) == len(set(taken))
    assert max(right for _, right in taken) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_page_shows_a_line_as_it_is_written() -> None:
    page = (ROOT / "docs" / "observability.md").read_text()
    (shown,) = re.findall(r"^```json\n(.+)\n```$", page, re.MULTILINE)

    assert {"time", "level", "logger", "message"} <= json.loads(shown).keys()


def test_the_files_are_shipped_and_told_of() -> None:
    page = (ROOT / "docs" / "observability.md").read_text()

    for file in FOLDER.iterdir():
        assert Path(file).relative_to(ROOT).as_posix() in page
