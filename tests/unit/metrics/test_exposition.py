"""What Prometheus is told: every metric that is listed, by the names its users expect."""

from __future__ import annotations

import re

from prometheus_client import Metric as Family
from prometheus_client.parser import text_string_to_metric_families

from callsheet.tasks.ledger.gauges import keeping_counts
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.metrics import METRICS, Exposition, publish
from callsheet.tasks.metrics.exposition import FRESH
from tests.campaigns import Stage, brief

#: By name: lower case, ours, with a unit of Prometheus' or one of ours at the end.
NAME = re.compile(r"callsheet_[a-z_]+")


async def make_busy(ledger: Ledger) -> None:
    """Give a ledger a bit of all that is told of."""
    stage = await Stage.set(ledger, brief("a", "Tea"), brief("b", "Mate"), budget=50, name='c"1\n')
    await stage.submitting("a")
    async with keeping_counts(ledger):
        ledger.measures.requested("create", "limited", attempt=2)
        ledger.measures.add("polls", by=4)
        ledger.measures.add("hints", "heard")
        for seconds in (14, 100, 110, 10**9):
            ledger.measures.delivered(seconds)


async def read(ledger: Ledger) -> dict[str, Family]:
    text = (await Exposition(ledger).text()).decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


async def test_every_metric_is_there_and_no_other(ledger):
    await make_busy(ledger)
    found = await read(ledger)

    assert {name: (family.type, family.documentation) for name, family in found.items()} == {
        metric.name.removesuffix("_total"): (metric.kind, metric.words) for metric in METRICS
    }
    labels = {
        sample.name: {*sample.labels} - {"le"} for f in found.values() for sample in f.samples
    }
    for metric in METRICS:
        assert labels.get(metric.samples[0], set(metric.labels)) == set(metric.labels)
        assert NAME.fullmatch(metric.name), metric.name
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name


async def test_what_was_counted_is_told(ledger):
    await make_busy(ledger)
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in (await read(ledger)).values()
        for sample in family.samples
    }

    assert found["callsheet_rows", 'c"1\n', "submitting"] == 1
    assert found["callsheet_budget_left_credits", 'c"1\n'] == 38
    assert found["callsheet_service_requests_total", "create", "limited"] == 1
    assert found["callsheet_service_retries_total", "create"] == 1
    assert found[("callsheet_polls_total",)] == 4
    buckets = {key[1]: value for key, value in found.items() if key[0].endswith("_bucket")}
    assert (buckets["15.0"], buckets["60.0"], buckets["120.0"], buckets["86400.0"]) == (1, 1, 3, 3)
    assert buckets["+Inf"] == found[("callsheet_delivery_seconds_count",)] == 4
    assert found[("callsheet_delivery_seconds_sum",)] == 10**9 + 224


async def test_each_operation_is_counted_by_its_whole_name(ledger):
    """Two samples of the same labels, and Prometheus takes none of what it scraped."""
    requests = [("list webhooks", "ok"), ("list webhooks", "limited"), ("list", "ok")]
    async with keeping_counts(ledger):
        for operation, outcome in requests:
            ledger.measures.requested(operation, outcome, attempt=2)
    found = await read(ledger)
    told = [tuple(one.labels.values()) for one in found["callsheet_service_requests"].samples]
    assert sorted(told) == sorted(requests)
    again = [one.labels["operation"] for one in found["callsheet_service_retries"].samples]
    assert sorted(again) == ["list", "list webhooks"]


async def test_who_asks_again_at_once_is_answered_as_before(tmp_path):
    now = 0.0
    async with await open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        exposition = Exposition(ledger, lambda: now)
        before = await exposition.text()
        await make_busy(ledger)
        assert await exposition.text() == before
        now += FRESH
        assert await exposition.text() != before


async def test_a_file_has_them_and_one_that_cannot_be_written_fails_nothing(tmp_path, caplog):
    file = tmp_path / "callsheet.prom"
    async with await open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        await make_busy(ledger)
        await publish(ledger, str(tmp_path / "no" / "x"))
        await publish(ledger, str(file))

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert 'state="submitting"' in file.read_text()
