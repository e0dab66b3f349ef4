"""Path 2: a device code, its polls, and the page where a person answers (RFC 8628)."""

from __future__ import annotations

import re

import pytest

from tests.contract.sandbox.agent import BEN, DEVICE_GRANT, error_of


@pytest.mark.parametrize("form", ["data", "json"])
def test_a_code_is_asked_for_by_form_or_json(agent, form):
    path, said = "/api/oauth/device_authorization", {"client_name": "Callsheet"}
    assert agent.http.post(path).status_code == 200
    answer = agent.http.post(path, **{form: said})  # type: ignore[arg-type]
    asked = answer.json()
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert re.fullmatch(r"[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}", asked["user_code"])
    assert asked["verification_uri"] == f"{agent.ready['auth_url']}/device"
    complete = f"{asked['verification_uri']}?user_code={asked['user_code']}"
    assert asked["verification_uri_complete"] == complete
    assert (asked["expires_in"], asked["interval"]) == (600, 5)


@pytest.mark.parametrize(
    ("said", "error", "status"),
    [
        ({"client_name": "x" * 101}, "invalid_request", 400),
        ({"scope": "read admin"}, "invalid_scope", 400),
        ({"client_id": "client_unknown"}, "invalid_client", 401),
    ],
)
def test_it_refuses_a_bad_request(agent, said, error, status):
    answer = agent.http.post("/api/oauth/device_authorization", data=said)
    assert answer.status_code == status
    assert error_of(answer) == error


def test_polling_from_pending_to_the_token_once(agent):
    asked = agent.device(client_name="Callsheet")
    assert error_of(agent.poll(asked["device_code"])) == "authorization_pending"
    # Polling too fast slows down each time.
    intervals = []
    for _ in range(2):
        answer = agent.poll(asked["device_code"])
        assert (answer.status_code, error_of(answer)) == (400, "slow_down")
        intervals.append(answer.json()["interval"])
    assert intervals == [10, 15]
    assert agent.approve(asked["user_code"]).json()["state"] == "approved"
    answer = agent.poll(asked["device_code"])
    token = answer.json()
    assert answer.headers["cache-control"] == "no-store"
    assert token["access_token"].startswith("mav_")
    assert (token["token_type"], token["scope"]) == ("Bearer", "read write ai")
    assert error_of(agent.poll(asked["device_code"])) == "invalid_grant"
    assert agent.call(token["access_token"]).status_code == 200


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": DEVICE_GRANT, "device_code": "dev_unknown"}, "invalid_grant"),
        ({"grant_type": DEVICE_GRANT}, "invalid_request"),
        ({}, "invalid_request"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": DEVICE_GRANT, "device_code": "x", "client_id": "x"}, "invalid_client"),
    ],
)
def test_what_cannot_be_polled_for(agent, form, error):
    answer = agent.token(**form)
    assert answer.status_code == (401 if error == "invalid_client" else 400)
    assert error_of(answer) == error


@pytest.mark.parametrize("content", [b"a=%ff", b"a=1&a=2", b"\xff\xfe", b"&" * 5000 + b"=" * 66000])
def test_a_malformed_form_is_an_invalid_request(agent, content):
    answer = agent.http.post("/api/oauth/token", content=content)
    assert answer.status_code == 400
    assert error_of(answer) == "invalid_request"


def test_a_bound_code_is_for_its_client_alone(agent):
    mine, other = (agent.client(grant_types=[DEVICE_GRANT], redirect_uris=[]) for _ in range(2))
    asked = agent.device(client_id=mine, client_name="Something else")
    assert agent.approve(asked["user_code"]).json()["app"] == "Test program"
    code = asked["device_code"]
    assert error_of(agent.poll(code)) == "invalid_grant"
    assert error_of(agent.poll(code, client_id=other)) == "invalid_grant"
    assert agent.poll(code, client_id=mine).status_code == 200


def test_the_page_shows_who_asks_and_takes_the_code_in_any_form(agent, reader):
    asked = agent.device(client_name="Callsheet <on> a Mac", scope="read write")
    code = asked["user_code"]
    reader.look("/device")
    page = reader.press("Continue", ("user_code", f" {code.lower().replace('-', ' ')} "))
    assert "Callsheet &lt;on&gt; a Mac" in page.text
    assert code in page.text
    assert 'value="ai"' not in page.text
    done = reader.press("Approve", ("grant", "read"))
    assert "is connected" in done.text
    assert agent.poll(asked["device_code"]).json()["scope"] == "read"
    again = reader.look(asked["verification_uri_complete"])
    assert again.status_code == 409
    assert "answered already" in again.text


def test_the_page_takes_no_for_an_answer_which_stays(agent, reader):
    asked = agent.device(client_name="Callsheet")
    reader.look(asked["verification_uri_complete"])
    assert "turned away" in reader.press("Deny").text
    for _ in range(2):
        assert error_of(agent.poll(asked["device_code"])) == "access_denied"


def test_codes_are_listed_and_answered_without_a_browser(agent):
    asked = agent.device(client_name="Listed", scope="read ai")
    pending = agent.http.get("/_sandbox/pending").json()
    (shown,) = [one for one in pending if one["user_code"] == asked["user_code"]]
    assert (shown["app"], shown["asked"]) == ("Listed", ["read", "ai"])
    code = asked["user_code"]
    for scopes in ([], ["write"], "read"):
        assert agent.approve(code, scopes=scopes).status_code == 400
    for members in ({"email": "nonsense"}, {"who": BEN}):
        assert agent.approve(code, **members).status_code == 400
    assert agent.approve("BBBB-BBBB").status_code == 404
    answer = agent.approve(code, email=BEN, scopes=["ai"])
    assert (answer.status_code, answer.json()["granted"]) == (200, ["ai"])
    assert agent.approve(code).status_code == 409
    assert agent.poll(asked["device_code"]).json()["scope"] == "ai"


def test_the_rest_pair_is_the_same_flow(agent):
    base = agent.ready["base_url"]
    asked = agent.http.post(f"{base}/auth/device", json={"client_name": "CLI"}).json()
    said = {"device_code": asked["device_code"]}
    waiting = agent.http.post(f"{base}/auth/device/token", data=said)
    assert error_of(waiting) == "authorization_pending"
    agent.approve(asked["user_code"])
    said["grant_type"] = DEVICE_GRANT
    token = agent.http.post(f"{base}/auth/device/token", json=said).json()
    assert agent.call(token["access_token"]).status_code == 200
    said["grant_type"] = "authorization_code"
    answer = agent.http.post(f"{base}/auth/device/token", data=said)
    assert error_of(answer) == "unsupported_grant_type"
