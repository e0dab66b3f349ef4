"""Sends traces to OpenTelemetry, and writes metrics to a file.

Where traces go is said by OpenTelemetry's own variables (OTEL_...), which its SDK reads; it is an
extra: `pip install 'callsheet[otel]'`. A collector that is away fails nothing and is
waited for shortly. A tracer that a process has already is someone else's, and is left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from callsheet.tasks.ledger.gauges import keep_counts
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.metrics.exposition import Exposition
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.telemetry import begin_tracing, end_tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger("callsheet.telemetry")

NAME = "callsheet"
#: Seconds that the end of a run waits for a collector, at most.
PATIENCE = 5.0
#: What sends the spans of all runs of the process, and how many these are.
_shared: TracerProvider | None = None
_users = 0


@asynccontextmanager
async def sending_traces() -> AsyncIterator[None]:
    """Send spans while this lasts, and what is left at the end."""
    try:
        _begin_traces()
    except ImportError:
        log.warning(
            "OTEL_... asks for traces, and nothing is sent: the SDK is not installed "
            "(the extra callsheet[otel], or constraints-otel.txt)"
        )
        yield
        return
    try:
        yield
    finally:
        await asyncio.to_thread(_end_traces)


def _begin_traces() -> None:
    """Begin; runs at once in a process share what sends."""
    global _shared, _users
    if _shared is None:
        _shared = _tracer_provider()
        begin_tracing(_shared.get_tracer(NAME))
    _users += 1


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


def _resource() -> Resource:
    from opentelemetry.sdk.resources import Resource

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    said = Resource.create({"service.version": own_version()})
    unnamed = str(said.attributes.get("service.name", "")).startswith("unknown_service")
    return said.merge(Resource({"service.name": NAME})) if unnamed else said


metrics_log = logging.getLogger("callsheet.metrics")


async def publish(ledger: Ledger, file: str) -> None:
    """Write what the board's `/metrics` has to a file; trouble with it fails no run."""
    from prometheus_client import write_to_textfile

    await keep_counts(ledger)
    try:
        registry = await Exposition(ledger).registry()
        # Next to it first, then in its place: a collector never reads half of it.
        await asyncio.to_thread(write_to_textfile, file, registry)
    except (OSError, ValueError, CallsheetError) as error:
        metrics_log.warning("metrics are not published: %s", redact(str(error)))
