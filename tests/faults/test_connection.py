"""A service that cannot be reached at all: one sentence, and nothing spent."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.certificates import certificate
from tests.faults.production import Production

pytestmark = pytest.mark.merge

NOBODY = {
    "nobody listens": "http://127.0.0.1:9/api/v1",
    "no such host": "http://no.such.host.invalid/api/v1",
}


@pytest.mark.parametrize("address", NOBODY.values(), ids=NOBODY)
def test_a_service_that_is_not_there_costs_nothing(production: Production, address: str) -> None:
    production.asks_for(1)

    refused = production.run(CALLSHEET_BASE_URL=address)

    assert refused.status == 2
    assert "could not be reached" in refused.err
    assert "nothing was spent" in refused.err
    production.ends_well()


def test_a_certificate_that_nobody_vouches_for_is_told(
    production: Production, tmp_path: Path
) -> None:
    production.asks_for(1)
    with untrusted(tmp_path) as (address, tries):
        refused = production.run(CALLSHEET_BASE_URL=address)

    assert refused.status == 2
    assert "certificate" in refused.err
    assert "nothing was spent" in refused.err
    assert len(tries) <= 3
    production.ends_well()


@contextmanager
def untrusted(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve https under a certificate of our own making; yield the address and who came."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))
    tries: list[str] = []

    class Server(HTTPServer):
        def get_request(self):
            connection, address = super().get_request()
            tries.append(address)
            return context.wrap_socket(connection, server_side=True), address

        def handle_error(self, request, client_address) -> None:
            """Say nothing: the client is meant to hang up."""

    server = Server(("127.0.0.1", 0), BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}/api/v1", tries
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
