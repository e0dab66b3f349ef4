"""Limits of rate and of spending: what is counted, what is not, and when to come back."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest

GOOD = {"tool": "explainer", "duration_seconds": 6}
PRICE = 17
IMAGE = {"image": "https://example.com/kettle.jpg"}


def post(running: Any, path: str = "/videos", **body: Any) -> httpx.Response:
    return running.post(path, **body)


def limited(answer: httpx.Response, code: str) -> None:
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == code
    assert answer.headers["retry-after"]


def test_the_rate_of_all_that_spends_is_limited_and_both_forms_say_when_to_come_back(start):
    running = start("--render", "instant", "--rate", "2", "--rate-window", "600")
    rendered = running.create()
    running.wait(rendered)
    draft = running.create(start_generation=False)
    first, second = post(running, **GOOD), post(running, **GOOD)
    limited(first, "rate_limited")
    limited(second, "rate_limited")
    assert 0 < int(first.headers["retry-after"]) <= 600
    assert second.headers["retry-after"].endswith("GMT")
    assert post(running, "/videos/estimate", **GOOD).status_code == 200
    calls = [
        (f"/videos/{draft}/generate", {}),
        (f"/videos/{rendered}/renders", {}),
        (f"/videos/{rendered}/scenes/1/regenerate", {}),
        (f"/videos/{rendered}/voice", {"voice_id": "v"}),
        ("/videos/image-to-video", IMAGE),
        ("/videos/talking-avatar", {"clip": "c", "script": "Hi"}),
        ("/videos/character-swap", {"clip": "c", "character_id": 1}),
    ]
    for path, body in calls:
        limited(post(running, path, **body), "rate_limited")


def test_spending_is_limited_and_a_refusal_spends_nothing(start):
    options = ("--spend-limit", str(PRICE + 30), "--spend-window", "600")
    running = start("--render", "instant", *options, "--retry-after", "date")
    first = post(running, **GOOD, idempotency_key="kept")
    assert first.status_code == 202
    running.wait(first.json()["data"]["id"])
    before = running.credits(), running.charges()
    over = post(running, **{**GOOD, "duration_seconds": 20})
    limited(over, "spend_limited")
    said = parsedate_to_datetime(over.headers["retry-after"])
    now = parsedate_to_datetime(over.headers["date"])
    # Whole seconds: one rounded up, the other down and up to a second old.
    assert 0 < (said - now).total_seconds() <= 602
    assert (running.credits(), running.charges()) == before
    # What was refused does not count: there is still room for this much.
    assert post(running, "/videos/image-to-video", **IMAGE).status_code == 202
    limited(post(running, **GOOD), "spend_limited")


@pytest.mark.parametrize("option", ["--rate", "--spend-limit"])
def test_a_repeat_with_a_known_key_is_not_limited(start, option):
    limit = {"--rate": "1", "--spend-limit": str(PRICE)}[option]
    running = start("--render", "instant", option, limit, "--retry-after", "seconds")
    first = post(running, **GOOD, idempotency_key="once")
    repeats = [post(running, **GOOD, idempotency_key="once") for _ in range(3)]
    assert {one.json()["data"]["id"] for one in repeats} == {first.json()["data"]["id"]}
    refused = post(running, **GOOD, idempotency_key="twice")
    assert refused.status_code == 429
    assert refused.headers["retry-after"].isdigit()
    reserved = [entry for entry in running.charges() if entry["event"] == "reserve"]
    assert len(reserved) == 1
