"""What the service refuses, or a service that is not there: the row says why, the others go on, and
nothing is paid for twice."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import certificate
from tests.faults.production import Production
from tests.web import watcher

pytestmark = pytest.mark.merge


@pytest.mark.parametrize(
    ("fault", "reason"), [("no-credits", "add credits, then run again"), ("unauthorized", "401")]
)
def test_what_ends_in_the_middle_holds_it(production: Production, fault: str, reason: str) -> None:
    production.asks_for(3)
    production.service.plan_fault(on="create", nth="2-99", do=fault)

    ended = production.run(CALLSHEET_AT_ONCE="1")

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 3, "delivered": 1, "held": 2}
    assert reason in production.row(3)["reason"]
    assert production.count("reserve") == 1
    production.ends_well()


def test_a_key_revoked_meanwhile_leaves_it_to_a_later_run(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="get", do="unauthorized")

    ended = production.run()

    assert ended.status == 5
    assert production.states() == {"rendering": 1}
    production.ends_well()


def test_a_key_without_the_scope_buys_nothing(production: Production) -> None:
    production.asks_for(2)

    ended = production.run(CALLSHEET_API_KEY=production.service.ready["keys"]["read"])

    assert ended.status == 3
    assert production.states() == {"held": 2}
    assert "write" in production.row()["reason"]
    assert production.count("reserve") == 0
    production.ends_well()


def test_one_refused_brief_holds_nobody_else_back(production: Production) -> None:
    production.asks_for(3)
    production.service.plan_fault(on="create", nth=1, do="status", status=400, message="no kettle")

    ended = production.run()

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 3, "delivered": 2, "rejected": 1}
    (reason,) = (r["reason"] for r in production.desk.rows(production.name).values() if r["reason"])
    assert "no kettle" in reason
    assert "edit line 2 of the sheet" in reason
    assert production.count("charge") == 2


def test_a_redirect_to_another_host_is_not_followed(production: Production) -> None:
    production.asks_for(1)
    with watcher() as elsewhere:
        production.service.plan_fault(on="create", do="redirect", location=elsewhere.url)

        ended = production.run()

    assert ended.status == 3
    assert "redirected (307)" in production.row()["reason"]
    assert elsewhere.calls == []
    assert production.count("reserve") == 0
    production.ends_well()


LIMITS: dict[str, tuple[dict[str, Any], float]] = {
    "in seconds": ({"retry_after": 1}, 1.0),
    # A date has whole seconds: a second less than it says.
    "as a date of a clock three hours behind": ({"retry_after_date": 2, "clock_skew": -10800}, 1.0),
    "not at all": ({}, 0.0),
}


@pytest.mark.parametrize(("limit", "least"), LIMITS.values(), ids=LIMITS)
def test_a_limit_is_waited_out(production: Production, limit: dict[str, Any], least: float) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", nth=1, do="limited", **limit)

    ended = production.run(CALLSHEET_AT_ONCE="1")

    assert ended.status == 0, ended.err
    struck = datetime.fromisoformat(production.service.strikes()[-1]["time"]).timestamp()
    log = production.service.charges()
    begun = [datetime.fromisoformat(e["time"]) for e in log if e["event"] == "reserve"][-2:]
    assert all(moment.timestamp() >= struck + least for moment in begun)
    production.ends_well()


def test_a_limit_beyond_all_sense_parks_and_is_kept(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", do="limited", retry_after=10**9)

    ended = production.run()
    production.service.clear_faults()
    calls = dict(production.service.calls())
    again = production.run()

    assert ended.status == again.status == 5
    assert "not before" in ended.err
    assert production.service.calls() == calls
    assert production.count("reserve") == 0


def test_a_row_whose_price_cannot_be_asked_is_held_alone(production: Production) -> None:
    production.asks_for(3)
    # One row after the other: the second is asked for three times.
    production.service.plan_fault(on="estimate", nth="2-4", do="error-before")

    ended = production.run(CALLSHEET_AT_ONCE="1")

    assert ended.status == 3
    assert ended.json["rows"] == {"total": 3, "delivered": 2, "held": 1}
    [held] = [row for row in map(production.row, (1, 2, 3)) if row["state"] == "held"]
    assert "nothing was spent on it; run again" in held["reason"]
    production.service.clear_faults()
    assert production.run().json["rows"] == {"total": 3, "delivered": 3}
    production.ends_well()


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
