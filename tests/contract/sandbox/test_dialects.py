"""The other ways of answering that the specification leaves open, and our client against each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

REQUEST = {
    "script": {"scenes": [{"text": "Here is the lighthouse."}]},
    "title": "Lighthouse",
    "duration_seconds": 1,
}


@pytest.fixture(scope="module", params=["bare", "renamed"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def speaking(
    dialect: str, begin: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A sandbox that makes real videos in about a second and speaks the dialect."""
    state = tmp_path_factory.mktemp(dialect)
    return begin("--time-scale", "200", "--answers", dialect, state=state)


def test_what_the_specification_names_stays(speaking: Any, dialect: str) -> None:
    answer = speaking.client.post("/videos", json={**REQUEST, "start_generation": False})
    said = answer.json()
    assert answer.status_code == 202
    made = said if dialect == "bare" else said["data"]
    assert (made["status"], made["poll_after_seconds"]) == ("draft", 0)
    refused = speaking.client.post("/videos", json={})
    assert refused.status_code == 400
    assert set(refused.json()) == {"data", "error", "meta"}


def test_the_envelope_is_gone_or_another(speaking: Any, dialect: str) -> None:
    said = speaking.client.get("/credits").json()
    if dialect == "bare":
        assert set(said) == {"balance", "reserved", "available"}
    else:
        assert set(said) == {"data", "meta", "links"}
        assert said["meta"]["request_id"].startswith("req_")


def test_the_description_is_that_of_the_usual_answers(speaking: Any, instant: Any) -> None:
    usual = instant.client.get("/openapi.json").json()
    assert speaking.client.get("/openapi.json").json() == usual
    assert not any("_sandbox" in path for path in usual["paths"])


def test_faults_strike_in_every_dialect(speaking: Any) -> None:
    door = speaking.door("faults")
    fault = {"on": "create", "do": "shapeless", "nth": 1}
    assert speaking.client.post(door, json=fault).status_code == 201
    said = speaking.client.post("/videos", json={**REQUEST, "start_generation": False}).json()
    speaking.client.delete(door)
    assert "vid_" not in str(said)
