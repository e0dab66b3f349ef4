"""Discovery, and the MCP root that sends a program there (specification, section 5)."""

from __future__ import annotations

import pytest

from tests.contract.sandbox.agent import CLAIM_GRANT, DEVICE_GRANT, Agent


def test_the_authorization_server_describes_itself(agent: Agent) -> None:
    said = agent.http.get("/.well-known/oauth-authorization-server").json()
    issuer = agent.ready["auth_url"]
    assert said["issuer"] == issuer
    assert set(said["grant_types_supported"]) == {"authorization_code", DEVICE_GRANT, CLAIM_GRANT}
    assert said["code_challenge_methods_supported"] == ["S256"]
    for name, path in {
        "authorization_endpoint": "authorize",
        "token_endpoint": "token",
        "registration_endpoint": "register",
        "device_authorization_endpoint": "device_authorization",
        "revocation_endpoint": "revoke",
    }.items():
        assert said[name] == f"{issuer}/api/oauth/{path}"
        # Only the page for a person is looked at with GET.
        status = 400 if path == "authorize" else 405
        assert agent.http.get(said[name]).status_code == status


def test_the_resource_is_described_where_it_is_and_where_the_rfc_looks(agent: Agent) -> None:
    mcp, well_known = agent.ready["mcp_url"], ".well-known/oauth-protected-resource"
    said = agent.http.get(f"{mcp}/{well_known}").json()
    assert said["resource"] == mcp
    assert said["authorization_servers"] == [agent.ready["auth_url"]]
    assert agent.http.get(f"/{well_known}/mcp").json() == said


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["", "/"])
def test_mcp_sends_a_stranger_to_the_metadata(agent: Agent, method: str, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer mav_unknown"}, {"authorization": "Basic abc"}):
        answer = agent.http.request(method, agent.ready["mcp_url"] + path, headers=headers)
        assert answer.status_code == 401
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith('Bearer resource_metadata="')
        address = challenge.split('"')[1]
        assert agent.http.get(address).json()["resource"] == agent.ready["mcp_url"]


def test_mcp_takes_the_same_keys_and_says_that_it_has_no_tools(agent: Agent) -> None:
    said = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    for key in (agent.ready["keys"]["read"], agent.ready["keys"]["ai"]):
        headers = {"authorization": f"Bearer {key}"}
        answer = agent.http.post(agent.ready["mcp_url"], json=said, headers=headers)
        assert (answer.status_code, answer.json()["id"]) == (200, 7)
        assert answer.json()["error"]["code"] == -32601
        assert agent.http.get(agent.ready["mcp_url"], headers=headers).status_code == 405
