"""Finding the auth server: its documents, their absence, and everything wrong with them."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import ConfigurationError, Parked
from callsheet.tasks.service.login import discover, endpoints_of, find_auth_url, local_auth_url

METADATA = "/.well-known/oauth-authorization-server"
RESOURCE = "/mcp/.well-known/oauth-protected-resource"
PAGE = (200, b"<!doctype html><html>start page</html>")


@pytest.mark.parametrize("absent", [(404, b""), (405, {}), PAGE, (200, b"[]")])
async def test_without_a_document_the_paths_are_those_of_the_specification(
    server, exchange, absent
):
    server.on(METADATA, absent)
    found = await discover(exchange, server.url)
    assert found == endpoints_of(server.url)
    assert (found.token, found.device, found.verification) == (
        f"{server.url}/api/oauth/token",
        f"{server.url}/api/oauth/device_authorization",
        f"{server.url}/device",
    )


async def test_the_document_names_the_addresses_and_the_rest_is_as_specified(server, exchange):
    server.on(METADATA, {"issuer": server.url, "token_endpoint": "https://keys.test/t"})
    found = await discover(exchange, server.url)
    assert (found.token, found.revoke) == ("https://keys.test/t", f"{server.url}/api/oauth/revoke")


@pytest.mark.parametrize("issuer", ["https://evil.test", None, "", "{url}/", "{url}/x"])
async def test_a_document_of_another_issuer_is_refused(server, exchange, issuer):
    named = issuer.format(url=server.url) if isinstance(issuer, str) else issuer
    server.on(METADATA, {"issuer": named})
    with pytest.raises(ConfigurationError, match="calls itself") as caught:
        await discover(exchange, server.url)
    assert "CALLSHEET_AUTH_URL" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    "address",
    [
        "http://keys.test/token",
        "ftp://keys.test/token",
        "/token",
        "https://user@keys.test/token",
        "https://keys.test/token#x",
        "https://[::1/token",
        7,
    ],
)
async def test_an_address_that_no_secret_may_go_to_is_refused(server, exchange, address):
    server.on(METADATA, {"issuer": server.url, "token_endpoint": address})
    with pytest.raises(ConfigurationError, match="not https: token_endpoint"):
        await discover(exchange, server.url)
    assert len(server.seen) == 1


async def test_http_is_for_this_machine_alone(exchange, time):
    with pytest.raises(ConfigurationError, match="not reached over https"):
        await discover(exchange, "http://auth.test")
    with pytest.raises(ConfigurationError, match="not https"):
        endpoints_of("https://auth.test", {"token_endpoint": "http://127.0.0.1:9/token"})
    assert not time.slept


async def test_a_server_in_trouble_is_waited_for_and_then_parked(server, exchange, time):
    server.on(METADATA, (503, b""))
    with pytest.raises(Parked, match="503") as caught:
        await discover(exchange, server.url)
    assert (len(server.seen), time.slept) == (3, [1.0, 3.0])
    assert (caught.value.until - time.clock()).total_seconds() == 60
    server.on(METADATA, "close", (404, b""))
    server.seen.clear()
    assert await discover(exchange, server.url) == endpoints_of(server.url)


@pytest.mark.parametrize(("told", "asked", "slept"), [(90, 1, []), (20, 3, [20.0, 20.0])])
async def test_nothing_is_asked_before_the_moment_that_the_server_named(
    server, exchange, time, told, asked, slept
):
    server.on(METADATA, (503, b"", {"retry-after": str(told)}))
    with pytest.raises(Parked, match="503") as caught:
        await discover(exchange, server.url)
    assert (len(server.seen), time.slept) == (asked, slept)
    assert (caught.value.until - time.clock()).total_seconds() == told


async def test_the_mcp_server_names_the_auth_server(server, exchange):
    mcp = f"{server.url}/mcp"
    server.on(RESOURCE, {"resource": mcp, "authorization_servers": ["https://auth.test/"]})
    assert await find_auth_url(exchange, mcp) == "https://auth.test"


@pytest.mark.parametrize("quote", ['"', ""])
async def test_the_mcp_servers_401_points_to_its_document(server, exchange, quote):
    mcp, at = f"{server.url}/mcp", "/.well-known/oauth-protected-resource/mcp"
    challenge = f"Bearer realm={quote}x{quote}, resource_metadata={quote}{server.url}{at}{quote}"
    server.on("/mcp", (401, {}, {"www-authenticate": challenge}))
    server.on(at, {"resource": mcp, "authorization_servers": ["https://auth.test"]})
    assert await find_auth_url(exchange, mcp) == "https://auth.test"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"resource": "{mcp}", "authorization_servers": []}, "names no auth server"),
        ({"resource": "{mcp}", "authorization_servers": ["https://a", "https://b"]}, "names 2"),
        ({"resource": "https://x", "authorization_servers": ["https://a"]}, "another server"),
        ({"authorization_servers": ["https://a"]}, "another server"),
    ],
)
async def test_an_mcp_server_that_names_no_one_auth_server_is_told(
    server, exchange, document, words
):
    mcp = f"{server.url}/mcp"
    if "resource" in document:
        document = {**document, "resource": document["resource"].replace("{mcp}", mcp)}
    server.on(RESOURCE, document)
    with pytest.raises(ConfigurationError, match=words) as caught:
        await find_auth_url(exchange, mcp)
    assert "CALLSHEET_AUTH_URL" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("base_url", "auth_url"),
    [
        ("http://127.0.0.1:8791/api/v1", "http://127.0.0.1:8791"),
        ("http://[::1]:8/api/v1", "http://[::1]:8"),
        ("https://api.test/api/v1", None),
        ("http://127.0.0.1:8791/v2", None),
        ("", None),
    ],
)
def test_only_a_service_on_this_machine_says_where_its_login_is(base_url, auth_url):
    assert local_auth_url(base_url) == auth_url
