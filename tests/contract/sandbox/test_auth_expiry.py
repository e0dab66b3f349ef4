"""What runs out: codes, user codes and claim tokens, in a sandbox where time is fast."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.contract.sandbox.agent import (
    CALLBACK,
    Agent,
    agent_of,
    error_of,
    request_for_a_code,
    verifier_and_challenge,
)
from tests.contract.sandbox.reader import Reader


@pytest.fixture(scope="module")
def agent(begin: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """In a sandbox where whatever runs out does so within seconds."""
    options = ("--render", "instant", "--time-scale", "10000000")
    with agent_of(begin(*options, state=tmp_path_factory.mktemp("fast"))) as one:
        yield one


def until(error: str, ask: Callable[[], httpx.Response], within: float = 30) -> httpx.Response:
    """Ask until the answer is this error."""
    end = time.monotonic() + within
    while (answer := ask()).json().get("error") != error:
        assert time.monotonic() < end, answer.text
        time.sleep(0.2)
    return answer


@pytest.mark.slow
def test_tokens_and_codes_expire_and_claims_get_fresh_ones_until_they_expire_too(agent):
    token = agent.logged_in()
    assert agent.call(token).status_code == 200
    code, verifier, client_id = authorization_code(agent)
    approved, answered = agent.device(), agent.claim()
    for user_code in (approved["user_code"], answered["claim"]["user_code"]):
        assert agent.approve(user_code).status_code == 200
    claim, device = agent.claim(), agent.device()
    assert (device["expires_in"], device["interval"]) == (5, 1)

    until("expired_token", lambda: agent.poll(device["device_code"]))
    assert agent.approve(device["user_code"]).status_code == 410
    assert error_of(agent.poll(approved["device_code"])) == "expired_token"
    refused = agent.call(token)
    assert refused.status_code == 401
    assert "has expired" in refused.json()["error"]["message"]
    late = agent.token(
        grant_type="authorization_code",
        code=code,
        redirect_uri=CALLBACK,
        client_id=client_id,
        code_verifier=verifier,
    )
    assert error_of(late) == "invalid_grant"

    # What was answered in time waits as long as the claim token does.
    assert agent.poll_claim(answered["claim_token"]).status_code == 200
    assert error_of(agent.poll_claim(claim["claim_token"])) == "expired_token"
    fresh = agent.fresh_code(claim["claim_token"]).json()
    assert fresh["user_code"] != claim["claim"]["user_code"]
    assert fresh["claim"]["user_code"] == fresh["user_code"]
    assert error_of(agent.poll_claim(claim["claim_token"])) == "authorization_pending"
    gone = until("claim_expired", lambda: agent.fresh_code(claim["claim_token"]))
    assert gone.status_code == 410


def authorization_code(agent: Agent) -> tuple[str, str, str]:
    """Have Ada approve a program; give the code, the verifier and the client's id."""
    client_id, (verifier, challenge) = agent.client(), verifier_and_challenge()
    query = request_for_a_code(client_id, challenge)
    with httpx.Client(base_url=agent.ready["auth_url"]) as http:
        reader = Reader(http)
        reader.look(str(httpx.URL("/api/oauth/authorize", params=query)))
        back = reader.press("Approve").headers["location"]
    return httpx.URL(back).params["code"], verifier, client_id
