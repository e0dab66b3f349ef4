"""Paid commands that a person types, and types again until they have what they wanted."""

from __future__ import annotations

from dataclasses import replace

from tests.torture.campaign import Scenario

#: Typed by hand: a video under its key, a clip, a scene of a video that is there.
CREATE = Scenario(
    name="create",
    typed="video create --tool product-launch --duration 5 --title {name} --yes --json",
)
ANIMATE = Scenario(
    name="animate",
    typed="video animate https://img.example/{name}.png --title {name} --yes --json",
)
SCENE = Scenario(name="scene", typed="video scene {video} 1 --narration New. --yes --json")
#: Killed while the service is at work on such a call, or has done it and not answered yet.
ANIMATE_WAITING = replace(
    ANIMATE,
    name="animate-waiting",
    faults=({"on": "image-to-video", "nth": 1, "do": "slow", "seconds": 1},),
    linger=0.4,
    only=("service: before the request (image",),
)
SCENE_WAITING = replace(
    SCENE,
    name="scene-waiting",
    faults=({"on": "scene", "nth": 1, "do": "slow", "seconds": 1},),
    linger=0.4,
    only=("service: before the request (scene",),
)

BY_HAND = (CREATE, ANIMATE, SCENE, ANIMATE_WAITING, SCENE_WAITING)
