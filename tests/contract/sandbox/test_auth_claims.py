"""Path 3: a program that knows its user's e-mail address (specification, section 5)."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest

from tests.contract.sandbox.agent import ADA, BEN, error_of
from tests.contract.sandbox.reader import Reader


def test_a_claim_comes_with_a_user_code(agent):
    made = agent.claim()
    claim = made["claim"]
    assert made["claim_token"].startswith("clm_")
    expires = datetime.fromisoformat(made["claim_token_expires"])
    assert 86_300 < (expires - datetime.now(UTC)).total_seconds() <= 86_400
    assert claim["verification_uri"] == f"{agent.ready['auth_url']}/device"
    assert (claim["expires_in"], claim["interval"]) == (600, 5)
    assert error_of(agent.poll_claim(made["claim_token"])) == "authorization_pending"
    assert error_of(agent.poll_claim(made["claim_token"])) == "slow_down"
    # A claim token is no device code, whatever it waits for.
    assert error_of(agent.poll(made["claim_token"])) == "invalid_grant"


def test_the_account_with_that_address_approves_and_no_other(agent):
    made = agent.claim(ADA.upper())
    address = f"/device?user_code={made['claim']['user_code']}"
    with httpx.Client(base_url=agent.ready["auth_url"]) as http:
        reader = Reader(http)
        assert "Allow Agent?" in reader.look(address).text
        for decision in ("Approve", "Deny"):
            refused = reader.press(decision, ("email", BEN))
            assert (refused.status_code, "for another account" in refused.text) == (403, True)
            assert ADA not in refused.text
            assert "Approve" not in refused.text
            reader.look(address)
        reader.press("Approve", ("email", ADA))
    token = agent.poll_claim(made["claim_token"]).json()
    assert (token["token_type"], token["scope"]) == ("Bearer", "read write ai")
    assert agent.call(token["access_token"]).status_code == 200
    assert error_of(agent.poll_claim(made["claim_token"])) == "invalid_grant"


def test_another_account_answers_nothing_and_a_fresh_code_is_refused_while_there_is_one(agent):
    made = agent.claim()
    token, code = made["claim_token"], made["claim"]["user_code"]
    for approve in (True, False):
        assert agent.approve(code, email=BEN, approve=approve).status_code == 403
    for _ in range(2):
        answer = agent.fresh_code(token)
        assert (answer.status_code, error_of(answer)) == (409, "claimed_or_in_flight")
        agent.approve(code, approve=False)
    assert error_of(agent.poll_claim(token)) == "access_denied"
    answer = agent.fresh_code("clm_unknown")
    assert (answer.status_code, error_of(answer)) == (400, "invalid_claim_token")
    assert error_of(agent.poll_claim("clm_unknown")) == "invalid_grant"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"type": "anonymous"}, "anonymous_not_enabled"),
        ({"type": "identity_assertion"}, "issuer_not_enabled"),
        ({"type": "service_auth"}, "invalid_request"),
        ({"type": "service_auth", "login_hint": "nonsense"}, "invalid_request"),
        ({"type": "service_auth", "login_hint": ADA, "client_name": 5}, "invalid_request"),
        ({"type": 5}, "invalid_request"),
        ({}, "invalid_request"),
    ],
)
def test_what_else_is_refused(agent, said, error):
    answer = agent.http.post("/agent/identity", json=said)
    assert answer.status_code == 400
    assert error_of(answer) == error
