"""The plan of faults: which calls are struck, what is refused, and what is kept of it all."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

CALLS = range(1, 9)


def door(running: Any, what: str = "") -> str:
    return str(running.door(f"faults{what}"))


def listed(running: Any) -> list[dict[str, Any]]:
    return list(running.client.get(door(running)).json())


def struck_calls(running: Any, path: str = "/tools") -> list[int]:
    return [call for call in CALLS if running.client.get(path).status_code == 503]


@pytest.mark.parametrize(
    ("which", "calls"),
    [
        ({"nth": 2}, [2]),
        ({"nth": ["1-2", 7]}, [1, 2, 7]),
        ({"every": 3}, [3, 6]),
        ({"nth": "4-8", "every": 2}, [4, 6, 8]),
        ({"chance": 0}, []),
        ({"chance": 1}, [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_it_strikes_the_calls_it_says(instant, plan, which, calls):
    instant.client.get("/tools")
    plan("tools", "status", status=503, **which)
    assert struck_calls(instant) == calls
    assert [(one["calls"], one["struck"]) for one in listed(instant)] == [(8, len(calls))]


def test_the_same_seed_strikes_the_same_calls(instant, plan):
    seen = []
    for seed in (7, 7, 8):
        plan("tools", "status", status=503, chance=0.5, seed=seed)
        seen.append(struck_calls(instant))
        instant.client.delete(door(instant))
    assert seen[0] == seen[1]
    assert 0 < len(seen[0]) < 8


def test_each_video_can_be_counted_by_itself(instant, plan):
    videos = [instant.create(), instant.create()]
    plan("get", "status", status=404, nth=1, per="video")
    for video in videos:
        path = f"/videos/{video}"
        assert [instant.client.get(path).status_code for _ in range(3)] == [404, 200, 200]
    # A create is told by its key.
    plan("create", "error-after", nth=1, per="video")
    said = {"tool": "explainer", "duration_seconds": 5}
    for key in ("plan_one", "plan_two"):
        body = {**said, "idempotency_key": key}
        first, second = (instant.client.post("/videos", json=body) for _ in range(2))
        assert (first.status_code, second.status_code) == (500, 202)
        assert instant.events(second.json()["data"]["id"])[0] == "reserve"


def test_the_first_planned_wins_and_all_count(instant, plan):
    plan("*", "status", status=418, nth=2)
    plan("tools", "status", status=503, nth="2-3")
    seen = [instant.client.get("/tools").status_code for _ in range(4)]
    assert seen == [200, 418, 503, 200]
    assert [(one["calls"], one["struck"]) for one in listed(instant)] == [(4, 1), (4, 1)]


def test_any_operation_is_struck_but_the_doors_of_the_sandbox(instant, plan):
    plan("*", "status", status=503)
    base = instant.ready["auth_url"]
    paths = ["/tools", "/credits", "/videos", "/videos/vid_none", f"{base}/files/vid_none.mp4"]
    assert {instant.client.get(path).status_code for path in paths} == {503}
    assert instant.client.get("/nowhere").status_code == 404
    assert instant.client.get("/openapi.json").status_code == 200
    assert instant.charges() is not None


def test_it_keeps_a_log_of_what_struck(instant, plan):
    before = len(instant.client.get(door(instant, "/log")).json())
    video = instant.create()
    plan("get", "status", status=503, nth=2)
    plan("create", "error-before")
    for _ in range(3):
        instant.client.get(f"/videos/{video}")
    instant.client.post("/videos", json={"tool": "explainer", "idempotency_key": "logged"})
    log = instant.client.get(door(instant, "/log")).json()[before:]
    assert all(entry.pop("time").endswith("Z") for entry in log)
    assert log == [
        {"on": "get", "call": 2, "do": "status", "video": video, "key": None},
        {"on": "create", "call": 1, "do": "error-before", "video": None, "key": "logged"},
    ]
    instant.client.delete(door(instant))
    assert len(instant.client.get(door(instant, "/log")).json()) == before + 2


def test_a_plan_can_be_taken_back(instant, plan):
    first = plan("tools", "status", status=503)
    plan("credits", "status", status=503)
    assert instant.client.get("/tools").status_code == 503
    gone = instant.client.delete(door(instant, f"/{first['id']}"))
    assert gone.json() == {"cleared": 1}
    assert instant.client.get("/tools").status_code == 200
    assert instant.client.get("/credits").status_code == 503
    assert instant.client.delete(door(instant)).json() == {"cleared": 1}
    assert instant.client.get("/credits").status_code == 200
    assert listed(instant) == []


BAD: list[tuple[Any, str]] = [
    ("slow", "must hold members"),
    ({"on": "creates", "do": "slow"}, "\"on\" cannot be 'creates'; it is one of"),
    ({"on": "create"}, '"do" is missing'),
    ({"on": "create", "do": "explode"}, "\"do\" cannot be 'explode'"),
    ({"on": "*", "do": "range-ignored"}, "\"do\" cannot be 'range-ignored'"),
    ({"on": "render", "do": "drop-after"}, "one of fail, never, slow, corrupt"),
    ({"on": "webhook", "do": "never"}, "one of missing, doubled, late"),
    ({"on": "create", "do": "hang", "speed": 3}, '"speed" says nothing to hang'),
    ({"on": "create", "do": "slow", "status": 500}, "slow, which takes seconds."),
    ({"on": "create", "do": "slow", "seconds": -1}, '"seconds" must be a number of seconds'),
    ({"on": "create", "do": "slow", "nth": 0}, "\"nth\" must be a number from 1, a span"),
    ({"on": "create", "do": "slow", "nth": []}, '"nth" must be'),
    ({"on": "create", "do": "slow", "nth": [1, "x"]}, '"nth" must be'),
    ({"on": "create", "do": "slow", "nth": "5-3"}, '"nth" must be'),
    ({"on": "create", "do": "slow", "every": 0}, '"every" must be a whole number from 1'),
    ({"on": "create", "do": "slow", "chance": 1.5}, '"chance" must be a number from 0 to 1'),
    ({"on": "create", "do": "slow", "per": "row"}, '"per" must be "video"'),
    ({"on": "create", "do": "status"}, 'status needs "status"'),
    ({"on": "create", "do": "status", "status": 700}, '"status" must be a status from 200'),
    ({"on": "create", "do": "limited", "retry_after": "a\nb"}, '"retry_after" must be'),
    ({"on": "create", "do": "limited", "retryable": "no"}, '"retryable" must be true or false'),
    ({"on": "get", "do": "rewrite", "set": ["status"]}, '"set" must be members'),
    ({"on": "get", "do": "rewrite", "remove": "status"}, '"remove" must be a list'),
    ({"on": "file", "do": "truncated", "framing": "none"}, '"framing" must be length, chunked'),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "sentence"), BAD)
def test_a_bad_entry_is_named_and_nothing_is_planned(instant, plan, entry, sentence):
    good = {"on": "tools", "do": "status", "status": 503}
    answer: httpx.Response = instant.client.post(door(instant), json=[good, entry])
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_fault")
    assert error["message"].startswith("fault 2")
    assert sentence in error["message"]
    assert error["message"].endswith(".")
    assert listed(instant) == []


def test_it_lists_every_kind_with_a_sentence_and_takes_json_alone(instant):
    assert instant.client.post(door(instant), content=b"[[faults]]").status_code == 400
    kinds = instant.client.get(door(instant, "/kinds")).json()
    named = [(kind["on"], kind["do"]) for kind in kinds]
    assert len(named) == len(set(named))
    assert {on for on, _ in named} >= {"*", "file", "create", "captions", "render", "webhook"}
    assert all(" " in kind["about"] for kind in kinds)
