"""Fault scripts, which plan from the start, and faults that take the whole service down."""

from __future__ import annotations

import json
import subprocess

import httpx
import pytest

from tests.launcher import launcher

TOML = """
[[faults]]
on = "tools"
nth = "2-3"
do = "error-before"
status = 503

[[faults]]
on = "credits"
do = "drop-before"
"""
JSON = json.dumps({"faults": [{"on": "tools", "nth": [2, 3], "do": "status", "status": 503}]})


@pytest.mark.parametrize(("name", "text"), [("faults.toml", TOML), ("faults.json", JSON)])
def test_a_script_is_planned_from_the_start(start, tmp_path, name, text):
    script = tmp_path / name
    script.write_text(text)
    running = start("--render", "instant", "--script", str(script), state=tmp_path / "state")
    seen = [running.client.get("/tools").status_code for _ in range(4)]
    assert seen == [200, 503, 503, 200]


BAD = [
    ("faults.toml", '[[faults]]\non = "get"\ndo = "hang"\n\n[[faults]]\non = "gett"\n',
     "faults.toml, fault 2: \"on\" cannot be 'gett'"),
    ("missing.toml", None, "cannot be read: No such file or directory."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "sentence"), BAD)
def test_a_bad_script_is_refused_in_a_sentence(tmp_path, name, text, sentence):
    if text is not None:
        (tmp_path / name).write_text(text)
    words = ["--port", "0", "--state", str(tmp_path / "state"), "--script", str(tmp_path / name)]
    process = launcher("sandbox").start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("do", "acts"), [("crash-before", False), ("crash-after", True)])
def test_the_service_goes_down_and_comes_back(start, tmp_path, do, acts):
    running = start("--render", "instant")
    running.client.post(running.door("faults"), json={"on": "create", "do": do})
    said = {"tool": "explainer", "duration_seconds": 5, "idempotency_key": "crash"}
    with pytest.raises(httpx.RemoteProtocolError):
        running.client.post("/videos", json=said)
    assert running.process.wait(30) == 137
    back = start("--render", "instant")
    assert ([one["idempotency_key"] for one in back.charges()] == []) is not acts
    log = back.client.get(back.door("faults/log")).json()
    assert [(one["on"], one["do"], one["key"]) for one in log] == [("create", do, "crash")]
    video = back.post("/videos", **said).json()["data"]["id"]
    back.wait(video)
    assert back.events(video) == ["reserve", "charge"]
