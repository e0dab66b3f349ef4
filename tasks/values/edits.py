"""Edits: what turns a video that is made into the one that its row asks for now.

An edit changes the video at the service instead of paying for a new one. It takes no idempotency
key and has no quote (specification, section 4). Knows no sheet, no service and no ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from callsheet.tasks.values.briefs import CREATE, Json, canonical_json

EditOf = Literal["title", "captions", "scene", "voice"]
#: Whether a changed row is edited where that is enough, or always gets a new video.
Edits = Literal["cheapest", "retake"]
#: The operation of a row that is made by an edit, by what the edit changes.
OPERATIONS: dict[EditOf, str] = {one: f"edit-{one}" for one in get_args(EditOf)}
_OF = {operation: one for one, operation in OPERATIONS.items()}

#: Fields that `PATCH /videos/{id}` takes; the video shows them after the next export. A title or a
#: topic only labels a video whose content one of these fields says.
_LABELS = {"title": ("tool", "script", "topic"), "topic": ("tool", "script")}
_CAPTIONS = frozenset({"caption_style"})
#: Members of a scene that hold its narration: the specification does not name one.
_NARRATION = ("narration", "text", "voiceover", "dialogue")


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One paid call on a video, after a free PATCH of `changes` where there are any."""

    of: EditOf
    changes: Mapping[str, Json] = field(default_factory=dict)
    #: The scene that is made again, from 1.
    scene: int | None = None
    body: Mapping[str, Json] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What is changed, and what is left alone."""
        match self.of:
            case "scene":
                return f"changed: narration of scene {self.scene}; the other scenes stay"
            case "voice":
                return "changed: voice_id; the pictures stay"
            case _:
                return f"changed: {', '.join(sorted(self.changes))}; exported again, scenes stay"


def edit_between(made: Mapping[str, Json], wanted: Mapping[str, Json]) -> Edit | None:
    """Return the edit that makes one request of another, or None where only a new video does."""
    changed = {name for name in made.keys() | wanted.keys() if made.get(name) != wanted.get(name)}
    if not changed or not all(wanted.get(name) for name in changed):
        return None
    labels = {name for name, content in _LABELS.items() if any(map(wanted.get, content))}
    if changed <= labels | _CAPTIONS:
        of: EditOf = "captions" if changed & _CAPTIONS else "title"
        return Edit(of=of, changes={name: wanted[name] for name in sorted(changed)})
    if changed == {"voice_id"}:
        return Edit(of="voice", body={"voice_id": wanted["voice_id"]})
    if changed == {"script"}:
        return _scene(made.get("script"), wanted["script"])
    return None


def edit_of(operation: str) -> EditOf | None:
    """Return what an operation edits; None for one that makes a video."""
    return _OF.get(operation)


def made_by(operation: str) -> str:
    """Return the operation that makes the video of a row: only a created one is edited."""
    return CREATE if operation in _OF else operation


def is_keyed(operation: str, *, clip_keys: bool) -> bool:
    """Return whether an operation takes an idempotency key, where clips do or do not."""
    return operation == CREATE or (clip_keys and operation not in _OF)


def _scene(made: Json, wanted: Json) -> Edit | None:
    """Return the edit of the one scene whose narration differs, if nothing else does."""
    if not (isinstance(made, Mapping) and isinstance(wanted, Mapping)):
        return None
    before, after = _scenes(made), _scenes(wanted)
    # The only scene is the whole video, and a new video has a quote and a key.
    if len(before) < 2 or len(before) != len(after):
        return None
    if canonical_json({**made, "scenes": []}) != canonical_json({**wanted, "scenes": []}):
        return None
    differ = [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    said = _narration(before[differ[0]], after[differ[0]]) if len(differ) == 1 else None
    if said is None:
        return None
    return Edit(of="scene", scene=differ[0] + 1, body={"narration": said})


def _narration(made: Json, wanted: Json) -> str | None:
    """Return the new narration of a scene if that is all that changed."""
    if isinstance(made, str) and isinstance(wanted, str):
        return wanted.strip() or None
    if not (isinstance(made, Mapping) and isinstance(wanted, Mapping)):
        return None
    names = {name for name in made.keys() | wanted.keys() if made.get(name) != wanted.get(name)}
    said = wanted.get(next(iter(names))) if len(names) == 1 and names <= {*_NARRATION} else None
    return said if isinstance(said, str) and said.strip() else None


def _scenes(script: Mapping[str, Json]) -> Sequence[Json]:
    scenes = script.get("scenes")
    return scenes if isinstance(scenes, Sequence) and not isinstance(scenes, str) else ()
