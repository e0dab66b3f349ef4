"""How the sandbox reads a script whose shape the specification does not show."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from callsheet.deployments.sandbox.mp4.script import Scene, scenes_of


def said(script: dict[str, Any] | None = None, **given: Any) -> list[Scene]:
    usual: dict[str, Any] = {"tool": None, "fields": None, "title": None, "topic": None}
    return scenes_of(script=script, **{**usual, "duration": 12, **given})


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"scenes": [{"narration": "One."}, {"text": "Two."}]}, ["One.", "Two."]),
        ({"scenes": [{"visual": "A door"}]}, ["A door"]),
        ({"scenes": ["One.", "Two."]}, ["One.", "Two."]),
        ({"text": "One.\n\nTwo\nlines."}, ["One.", "Two lines."]),
        ({"odd": {"shape": ["One.", "Two."]}}, ["One.", "Two."]),
        ({"n": 1}, ["1"]),
    ],
)
def test_it_finds_the_scenes(script: dict[str, Any], words: list[str]) -> None:
    assert [scene.narration for scene in said(script)] == words


def test_it_falls_back_on_the_title_when_nothing_is_said() -> None:
    assert said({"text": "  "}, title="Spring")[0].narration == "Spring"


@pytest.mark.parametrize("duration", [1, 6, 15, 600])
def test_a_tool_writes_two_to_four_scenes_that_fill_the_video(duration: int) -> None:
    fields = {"product": "Kettle", "benefits": ["quiet", "fast"], "offer": "Two for one"}
    scenes = said(tool="product-launch", fields=fields, title="Kettle", duration=duration)
    assert 2 <= len(scenes) <= 4
    assert (scenes[0].start, scenes[-1].end) == (0, duration)
    assert all(one.end == two.start for one, two in itertools.pairwise(scenes))
    assert all(scene.end > scene.start for scene in scenes)
    everything = " ".join(scene.narration for scene in scenes)
    assert "Quiet, fast." in everything
    assert "Two for one" in everything


def test_a_tool_writes_the_same_script_again() -> None:
    asked = {"tool": "explainer", "fields": {"subject": "Tea"}, "topic": "Tea"}
    assert said(**asked) == said(**asked)
