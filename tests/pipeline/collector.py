"""An OpenTelemetry collector, as far as it is sent traces by HTTP."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.web import Quiet, serving


@dataclass
class Collected:
    """Where it is, and what came."""

    url: str
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

    class Handler(Quiet):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            collected.take(self.path, body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

    with serving(Handler) as url:
        collected = Collected(url)
        yield collected
