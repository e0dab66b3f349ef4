"""Path 1: an authorization code with PKCE, page by page and field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.contract.sandbox.agent import (
    CALLBACK,
    DEVICE_GRANT,
    Agent,
    error_of,
    request_for_a_code,
    verifier_and_challenge,
)
from tests.contract.sandbox.reader import Reader

PATH = "/api/oauth/authorize"


@dataclass
class Login:
    """One program at its authorization request, and the person it sends there."""

    agent: Agent
    client_id: str
    reader: Reader
    verifier: str
    query: dict[str, str]

    def ask(self, **changes: str | None) -> httpx.Response:
        said = {**self.query, **changes}
        good = {name: value for name, value in said.items() if value is not None}
        return self.reader.look(str(httpx.URL(PATH, params=good)))

    def allowed(self, *fields: tuple[str, str], **changes: str | None) -> dict[str, str]:
        self.ask(**changes)
        return carried(self.reader.press("Approve", *fields))

    def redeem(self, good_code: str, **changes: str) -> httpx.Response:
        said = {
            "grant_type": "authorization_code",
            "code": good_code,
            "redirect_uri": CALLBACK,
            "client_id": self.client_id,
            "code_verifier": self.verifier,
        }
        said |= changes
        return self.agent.token(**{name: value for name, value in said.items() if value})


def carried(answer: httpx.Response) -> dict[str, str]:
    """Read what a redirect carries to the program."""
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{CALLBACK}&")
    return dict(httpx.URL(answer.headers["location"]).params)


@pytest.fixture(scope="module")
def login(agent: Agent) -> Iterator[Login]:
    with httpx.Client(base_url=agent.ready["auth_url"]) as person:
        client_id = agent.client()
        verifier, challenge = verifier_and_challenge()
        query = {**request_for_a_code(client_id, challenge), "state": "a&b=c ü"}
        reader = Reader(person)
        yield Login(agent, client_id, reader, verifier, query)


def test_the_whole_way(login):
    page = login.ask()
    assert "Test program" in page.text
    said = carried(login.reader.press("Approve"))
    assert said["state"] == "a&b=c ü"
    assert said["iss"] == login.agent.ready["auth_url"]
    answer = login.redeem(said["code"])
    token = answer.json()
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert token["access_token"].startswith("mav_")
    assert (token["token_type"], token["scope"]) == ("Bearer", "read write ai")
    assert token["expires_in"] > 3600
    assert login.agent.call(token["access_token"]).status_code == 200


def test_a_person_may_grant_less_than_was_asked_but_not_nothing(login):
    page = login.ask(scope="ai write")
    assert 'value="read"' not in page.text
    nothing = login.reader.press("Approve", leave_out="grant")
    assert (nothing.status_code, "at least one" in nothing.text) == (400, True)
    login.ask(scope="ai write")
    said = carried(login.reader.press("Approve", ("grant", "write"), ("grant", "read")))
    token = login.redeem(said["code"]).json()
    assert token["scope"] == "write"
    refused = login.agent.call(token["access_token"])
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["retryable"]) == (403, "forbidden", False)
    assert "read" in error["message"]


def test_a_person_may_decline(login):
    login.ask()
    said = carried(login.reader.press("Deny"))
    assert (said["error"], said["state"]) == ("access_denied", login.query["state"])
    assert "code" not in said


@pytest.mark.parametrize(
    "changes",
    [{"client_id": None}, {"client_id": "client_unknown"}, {"redirect_uri": None},
     {"redirect_uri": CALLBACK + "x"}, {"redirect_uri": "http://127.0.0.1:6/callback?from=service"},
     {"redirect_uri": "https://evil.example/"}],
)  # fmt: skip
def test_nobody_is_sent_to_an_address_that_is_not_trusted(login, changes):
    page = login.ask(**changes)
    assert page.status_code == 400
    assert page.headers["content-type"].startswith("text/html")
    assert "Start again" in page.text


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"scope": "admin"}, "invalid_scope"),
    ],
)
def test_other_errors_go_back_to_the_program(login, changes, error):
    said = {**login.query, **changes}
    query = {name: value for name, value in said.items() if value is not None}
    back = carried(login.agent.http.get(PATH, params=query))
    assert (back["error"], back["state"]) == (error, login.query["state"])
    assert back["iss"] == login.agent.ready["auth_url"]
    client = login.agent.client(grant_types=[DEVICE_GRANT])
    other = login.agent.http.get(PATH, params={**login.query, "client_id": client})
    assert carried(other)["error"] == "unauthorized_client"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "x" * 43}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:6/"}, "invalid_grant"),
        ({"code": "code_unknown"}, "invalid_grant"),
        ({"client_id": "client_unknown"}, "invalid_client"),
        ({"code": ""}, "invalid_request"),
        ({"code_verifier": ""}, "invalid_request"),
        ({"client_id": ""}, "invalid_request"),
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
)
def test_a_wrong_exchange_is_refused_and_does_not_use_the_code_up(login, changes, error):
    code = login.allowed()["code"]
    answer = login.redeem(code, **changes)
    assert answer.status_code == (401 if error == "invalid_client" else 400)
    assert error_of(answer) == error
    assert login.redeem(code).status_code == 200


def test_a_code_is_good_once_for_its_own_client_and_the_endpoint_takes_json_too(login):
    code = login.allowed()["code"]
    assert error_of(login.redeem(code, client_id=login.agent.client())) == "invalid_grant"
    said = {
        "grant_type": "authorization_code",
        "code": login.allowed()["code"],
        "redirect_uri": CALLBACK,
        "client_id": login.client_id,
        "code_verifier": login.verifier,
    }
    answer = login.agent.http.post("/api/oauth/token", json=said)
    assert answer.json()["access_token"].startswith("mav_")
    assert error_of(login.agent.http.post("/api/oauth/token", json=said)) == "invalid_grant"
