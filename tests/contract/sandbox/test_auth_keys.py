"""API keys: made and revoked by people, revoked by programs, and still so after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.sandbox.agent import ADA, Agent, agent_of
from tests.contract.sandbox.reader import Reader

SETTINGS = "/settings/api-keys"


def value_on(page: httpx.Response) -> str:
    """Give the key that a page shows."""
    return page.text.partition('<output class="value">')[2].partition("</output>")[0]


def test_a_key_is_made_with_chosen_scopes_and_shown_once(agent: Agent, reader: Reader) -> None:
    reader.look(SETTINGS)
    page = reader.press("Make the key", ("name", "Nightly <b>sweep"), ("scope", "read"))
    key = value_on(page)
    assert key.startswith("mav_")
    assert agent.call(key).status_code == 200
    assert agent.http.post(
        agent.ready["base_url"] + "/videos", headers={"authorization": f"Bearer {key}"}
    ).status_code == 403  # fmt: skip
    later = reader.look(SETTINGS)
    assert "Nightly &lt;b&gt;sweep" in later.text
    assert f"by {ADA}" in later.text
    assert "mav_" not in later.text


@pytest.mark.parametrize(("name", "scope"), [(" ", "ai"), ("x" * 101, "ai"), ("Good", "admin")])
def test_a_key_needs_a_name_and_a_scope(reader: Reader, name: str, scope: str) -> None:
    reader.look(SETTINGS)
    page = reader.press("Make the key", ("name", name), ("scope", scope))
    assert page.status_code == 400
    assert 'role="alert"' in page.text
    assert not value_on(page)


def test_a_person_revokes_a_key_in_the_app(agent: Agent, reader: Reader) -> None:
    token = agent.logged_in()
    # The newest key stands first.
    reader.look(SETTINGS)
    reader.press("Revoke for good")
    refused = agent.call(token)
    assert refused.status_code == 401
    assert refused.json()["error"]["retryable"] is False
    headers = {"authorization": f"Bearer {token}"}
    assert agent.http.post(agent.ready["mcp_url"], headers=headers).status_code == 401


@pytest.mark.parametrize("form", ["data", "json"])
def test_a_program_revokes_its_key(agent: Agent, form: str) -> None:
    token = agent.logged_in()
    for _ in range(2):
        answer = agent.http.post("/api/oauth/revoke", **{form: {"token": token}})  # type: ignore[arg-type]
        assert answer.status_code == 200
    assert agent.call(token).status_code == 401


@pytest.mark.parametrize("content", [b"", b"token=unknown", b"token=%ff", b"\xff"])
def test_revoking_always_answers_200(agent: Agent, content: bytes) -> None:
    assert agent.http.post("/api/oauth/revoke", content=content).status_code == 200


def test_the_settings_are_for_who_is_signed_in(agent: Agent) -> None:
    with httpx.Client(base_url=agent.ready["auth_url"]) as http:
        reader = Reader(http)
        page = reader.look(SETTINGS)
        assert "Sign in" in page.text
        assert "Keys in use" not in page.text
        unseen = reader.send(SETTINGS, [("name", "x"), ("scope", "read")])
        assert "Sign in" in unseen.text
        assert "Keys in use" not in unseen.text


def test_keys_and_revocations_outlive_a_kill(start: Any, tmp_path: Path) -> None:
    first = start("--render", "instant")
    fixed = first.ready["api_key"]
    with agent_of(first) as agent:
        kept, gone, claim = agent.logged_in(scopes=["read"]), agent.logged_in(), agent.claim()
        for token in (gone, first.ready["keys"]["ai"]):
            agent.http.post("/api/oauth/revoke", data={"token": token})
    first.kill()
    state = b"".join(path.read_bytes() for path in tmp_path.glob("state.sqlite3*"))
    for secret in (kept, gone, fixed, claim["claim_token"]):
        assert secret.encode() not in state
    second = start("--render", "instant")
    assert second.ready["api_key"] == fixed
    # A fixed key that was revoked is made anew, so that what is printed always works.
    assert second.ready["keys"]["ai"] != first.ready["keys"]["ai"]
    with agent_of(second) as agent:
        assert agent.call(kept).status_code == 200
        assert agent.call(gone).status_code == 401
        assert agent.call(first.ready["keys"]["ai"]).status_code == 401
        assert agent.call(second.ready["keys"]["ai"]).status_code == 403
        agent.approve(claim["claim"]["user_code"])
        assert agent.poll_claim(claim["claim_token"]).status_code == 200
