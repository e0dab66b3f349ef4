"""API keys: revoked by programs, and still so after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.sandbox.agent import Agent, agent_of


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
