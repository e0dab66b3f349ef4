"""Owns the order for one video: everything that decides how it looks and sounds, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from callsheet.deployments.sandbox.script import Scene

SIZES = {"9:16": (360, 640), "1:1": (480, 480), "16:9": (640, 360)}


@dataclass(frozen=True, kw_only=True)
class Captions:
    """How the words are shown: `position` is `top` or `bottom`, `color` is `#rrggbb`."""

    enabled: bool = True
    bold: bool = False
    position: str = "bottom"
    color: str = "#ffffff"


@dataclass(frozen=True, kw_only=True)
class ClipSource:
    """What a helper operation was given: its name, a line about it, and maybe a picture's file."""

    operation: str
    source: str
    picture: str | None = None


@dataclass(frozen=True, kw_only=True)
class VideoPlan:
    """One video. `render` counts the renders of this video; `duration` is in seconds."""

    id: str
    seed: int
    title: str
    topic: str
    language: str
    aspect_ratio: str
    duration: int
    scenes: list[Scene]
    render: int = 1
    voice: str | None = None
    captions: Captions = field(default_factory=Captions)
    clip: ClipSource | None = None

    @property
    def size(self) -> tuple[int, int]:
        return SIZES[self.aspect_ratio]

    @property
    def frames_per_second(self) -> int:
        """Move smoothly in a short video; a long one is made to be finished."""
        return 20 if self.duration <= 60 else 12

    @property
    def spoken(self) -> bool:
        """Say whether there are any words in it, and so a voice and captions."""
        return any(scene.narration for scene in self.scenes)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> VideoPlan:
        said = json.loads(text)
        scenes = [Scene(**scene) for scene in said.pop("scenes")]
        captions = Captions(**said.pop("captions", {}))
        clip = said.pop("clip", None)
        return cls(scenes=scenes, captions=captions, clip=clip and ClipSource(**clip), **said)
