"""Taking a key back: tried hard, and its answer believed no more than any other."""

from __future__ import annotations

import pytest

from callsheet.tasks.service.login import revoke
from tests.unit.login.conftest import KEY

METADATA, REVOKE = "/.well-known/oauth-authorization-server", "/api/oauth/revoke"


@pytest.mark.parametrize("answer", [(200, b""), (400, {"error": "x"}), (404, b""), (302, b"")])
async def test_it_is_asked_for_once_whatever_is_answered(server, exchange, answer):
    server.on(REVOKE, answer)
    await revoke(exchange, server.url, KEY)
    (asked,) = server.to(REVOKE)
    assert (asked.method, asked.members) == ("POST", {"token": KEY})


async def test_trouble_is_waited_out(server, exchange):
    server.on(REVOKE, (503, b""), "close", (200, b""))
    await revoke(exchange, server.url, KEY)
    assert len(server.to(REVOKE)) == 3


async def test_it_is_asked_for_even_if_the_documents_are_in_trouble_or_wrong(server, exchange):
    for broken in ((503, b""), {"issuer": "https://other.test"}):
        server.on(METADATA, broken).on(REVOKE, (200, b""))
        server.seen.clear()
        await revoke(exchange, server.url, KEY)
        assert len(server.to(REVOKE)) == 1


async def test_a_key_goes_to_nothing_but_https(server, exchange):
    await revoke(exchange, "http://auth.test", KEY)
    server.on(METADATA, {"issuer": server.url, "revocation_endpoint": "http://evil.test/r"})
    await revoke(exchange, server.url, KEY)
    assert [request.path for request in server.seen] == [METADATA, REVOKE]
