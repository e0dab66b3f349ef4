"""Sends metrics and traces: to OpenTelemetry, a file, or a push gateway.

Where to, and how often, is said by OpenTelemetry's own variables (OTEL_...), which its SDK reads;
it is an extra: `pip install 'callsheet[otel]'`. A collector that is away fails nothing and is
waited for shortly. A tracer that a process has already is someone else's, and is left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from callsheet.tasks.ledger.gauges import keep_counts
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.metrics.exposition import METRICS, Exposition
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.telemetry import begin_tracing, end_tracing

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger("callsheet.telemetry")

NAME = "callsheet"
#: Seconds that the end of a run waits for a collector, at most, for each of the two.
PATIENCE = 5.0
#: What sends the spans of all runs of the process, and how many these are.
_shared: TracerProvider | None = None
_users = 0
#: The ledgers whose metrics are sent already.
_told: set[str] = set()


@asynccontextmanager
async def telling(ledger: Ledger, wanted: frozenset[str]) -> AsyncIterator[None]:
    """Send `traces`, `metrics` or both while this lasts, and what is left at the end."""
    try:
        ends = [_begin_traces()] if "traces" in wanted else []
        if "metrics" in wanted and ledger.address not in _told:
            _told.add(ledger.address)
            ends.append(lambda: _told.discard(ledger.address))
            ends.append(_begin_metrics(Exposition(ledger)))
    except ImportError:
        log.warning(
            "OTEL_... asks for traces or metrics, and nothing is sent: the SDK is not installed "
            "(the extra callsheet[otel], or constraints-otel.txt)"
        )
        ends = []
    try:
        yield
    finally:
        for end in reversed(ends):
            await asyncio.to_thread(end)


def _begin_traces() -> Callable[[], None]:
    """Begin, and return what ends it; runs at once in a process share what sends."""
    global _shared, _users
    if _shared is None:
        _shared = _tracer_provider()
        begin_tracing(_shared.get_tracer(NAME))
    _users += 1
    return _end_traces


def _end_traces() -> None:
    global _shared, _users
    assert _shared is not None, "it was begun"
    _shared.force_flush(round(PATIENCE * 1000))
    _users -= 1
    if not _users:
        end_tracing()
        _shared.shutdown()
        _shared = None


def _tracer_provider() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=PATIENCE)))
    return provider


def _begin_metrics(exposition: Exposition) -> Callable[[], None]:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(timeout=PATIENCE))
    provider = MeterProvider(metric_readers=[reader], resource=_resource())
    _add_instruments(provider, exposition)
    return partial(_end_metrics, provider, exposition)


def _end_metrics(provider: MeterProvider, exposition: Exposition) -> None:
    exposition.forget()
    # It collects and sends once more.
    provider.shutdown(timeout_millis=PATIENCE * 1000)


def _add_instruments(provider: MeterProvider, exposition: Exposition) -> None:
    """Have every metric observed; of a histogram how many there were, and their sum."""
    meter = provider.get_meter(NAME)

    def observe(sample: str, options: CallbackOptions) -> Iterable[Observation]:
        from opentelemetry.metrics import Observation

        for labels, value in exposition.samples_now().get(sample, ()):
            yield Observation(value, labels)

    for metric in METRICS:
        if metric.kind == "gauge":
            meter.create_observable_gauge(
                metric.name, [partial(observe, metric.name)], description=metric.words
            )
        for sample in metric.samples if metric.kind != "gauge" else ():
            if not sample.endswith("_bucket"):
                named = sample.removesuffix("_total")
                meter.create_observable_counter(
                    named, [partial(observe, sample)], description=metric.words
                )


def _resource() -> Resource:
    from opentelemetry.sdk.resources import Resource

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    said = Resource.create({"service.version": own_version()})
    unnamed = str(said.attributes.get("service.name", "")).startswith("unknown_service")
    return said.merge(Resource({"service.name": NAME})) if unnamed else said


# Metrics at the end of a run, for who is not there to be asked: a file, a push gateway.
#
# Both have what the board's `/metrics` has. Neither fails a run.


metrics_log = logging.getLogger("callsheet.metrics")

#: The job under which it is pushed, and how long the gateway may take, in seconds.
JOB, WITHIN = "callsheet", 5.0


async def publish(ledger: Ledger, *, file: str | None, push: str | None) -> None:
    """Write the ledger's metrics to a file and push them, where either is named."""
    if not (file or push):
        return
    await keep_counts(ledger)
    try:
        registry = await Exposition(ledger).registry()
        await asyncio.to_thread(_send, registry, file, push)
    except (OSError, ValueError, CallsheetError) as error:
        metrics_log.warning("metrics are not published: %s", redact(str(error)))


def _send(registry: Any, file: str | None, push: str | None) -> None:
    from prometheus_client import push_to_gateway, write_to_textfile

    if file:
        # Next to it first, then in its place: a collector never reads half of it.
        write_to_textfile(file, registry)
    if push:
        address, handler = _gateway(push)
        push_to_gateway(address, JOB, registry, timeout=WITHIN, handler=handler)


def _gateway(push: str) -> tuple[str, Any]:
    """Return a gateway's address without user and password, and what sends both along."""
    from prometheus_client.exposition import basic_auth_handler, default_handler

    parts = urlsplit(push)
    if parts.username is None:
        return push, default_handler
    host = parts.netloc.rpartition("@")[2]
    user, password = unquote(parts.username), unquote(parts.password or "")

    def handler(url: str, method: str, timeout: float, headers: Any, data: bytes) -> Any:
        return basic_auth_handler(url, method, timeout, headers, data, user, password)

    return urlunsplit(parts._replace(netloc=host)), handler
