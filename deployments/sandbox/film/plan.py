"""Owns the order for one film: everything that decides how it looks and sounds, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from deployments.sandbox.script import Scene

SIZES = {"9:16": (360, 640), "1:1": (480, 480), "16:9": (640, 360)}


@dataclass(frozen=True, kw_only=True)
class FilmPlan:
    id: str
    seed: int
    title: str
    topic: str
    language: str
    aspect_ratio: str
    duration: int
    scenes: list[Scene]

    @property
    def size(self) -> tuple[int, int]:
        return SIZES[self.aspect_ratio]

    @property
    def frames_per_second(self) -> int:
        """Move smoothly in a short film; a long one is made to be finished."""
        return 20 if self.duration <= 60 else 12

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> FilmPlan:
        said = json.loads(text)
        scenes = [Scene(**scene) for scene in said.pop("scenes")]
        return cls(scenes=scenes, **said)
