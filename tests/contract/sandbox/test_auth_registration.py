"""Registration of programs: public clients, and addresses that can be trusted (RFC 7591)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.contract.sandbox.agent import CALLBACK, DEVICE_GRANT, error_of

URI, METADATA = "invalid_redirect_uri", "invalid_client_metadata"
BAD: list[tuple[dict[str, Any], str]] = [
    ({"redirect_uris": []}, URI),
    ({"redirect_uris": ["http://example.com/cb"]}, URI),
    ({"redirect_uris": ["javascript:alert(1)"]}, URI),
    ({"redirect_uris": ["https://example.com/cb#here"]}, URI),
    ({"redirect_uris": ["https://ada@example.com/cb"]}, URI),
    ({"redirect_uris": ["https://exa mple.com/"]}, URI),
    ({"redirect_uris": ["http://127.0.0.1.example.com/"]}, URI),
    ({"redirect_uris": CALLBACK}, URI),
    ({"redirect_uris": [5]}, URI),
    ({"grant_types": ["implicit"]}, METADATA),
    ({"grant_types": ["authorization_code"], "redirect_uris": []}, URI),
    ({"client_name": 5}, METADATA),
    ({"client_name": "x" * 101}, METADATA),
    ({"token_endpoint_auth_method": "client_secret_basic"}, METADATA),
]


@pytest.mark.parametrize(
    "uri",
    ["http://127.0.0.1:4711/cb", "http://[::1]:4711/cb", "http://localhost/cb",
     "https://example.com/cb?a=b"],
)  # fmt: skip
def test_it_registers_a_public_client(agent, uri):
    answer = agent.register(client_name="Callsheet", redirect_uris=[uri])
    said = answer.json()
    assert answer.status_code == 201
    assert said["client_id"]
    assert said["redirect_uris"] == [uri]
    assert said["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in said
    assert answer.headers["cache-control"] == "no-store"


def test_it_says_which_grants_it_registered_and_a_device_needs_no_redirect(agent):
    device = agent.register(client_name="Box", grant_types=[DEVICE_GRANT]).json()
    assert (device["grant_types"], device["response_types"]) == ([DEVICE_GRANT], [])
    wanted = ["authorization_code", "refresh_token"]
    said = agent.register(client_name="x", redirect_uris=[CALLBACK], grant_types=wanted).json()
    assert said["grant_types"] == ["authorization_code"]


@pytest.mark.parametrize(("members", "error"), BAD)
def test_it_refuses_what_cannot_be_trusted(agent, members, error):
    said = {"client_name": "Callsheet", "redirect_uris": [CALLBACK], **members}
    answer = agent.register(**said)
    assert answer.status_code == 400
    assert error_of(answer) == error


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'"\\ud800"', b"x" * 70_000])
def test_it_refuses_what_is_not_a_json_object(agent, content):
    answer: httpx.Response = agent.http.post("/api/oauth/register", content=content)
    assert answer.status_code == 400
    assert error_of(answer) == METADATA
