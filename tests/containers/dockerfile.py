"""Reads a Dockerfile: its stages, each with its instructions as they are written."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from tests.programs import ROOT

DOCKERFILE = ROOT / "deployments" / "Dockerfile"


@dataclass(frozen=True)
class Instruction:
    """One instruction: `RUN` and the rest of it, continued lines joined."""

    word: str
    text: str

    @property
    def words(self) -> list[str]:
        """The JSON list that it is, or the words of a shell's line."""
        said = self.text[self.text.index("[") :] if self.text.startswith("[") else None
        return list(json.loads(said)) if said else shlex.split(self.text)

    @property
    def pairs(self) -> dict[str, str]:
        """`NAME=value NAME=value`."""
        return dict(one.split("=", 1) for one in shlex.split(self.text))


@dataclass(frozen=True)
class Stage:
    """One `FROM`: what it begins with, its name, and what is done then."""

    base: str
    name: str
    steps: list[Instruction] = field(default_factory=list)


def read_dockerfile(path: Path = DOCKERFILE) -> tuple[dict[str, str], list[Stage]]:
    """Return the arguments with their defaults, and the stages in order."""
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for instruction in _instructions(path.read_text()):
        if instruction.word == "ARG":
            arguments |= instruction.pairs
        elif instruction.word == "FROM":
            base, _, name = instruction.text.partition(" AS ")
            stages.append(Stage(base, name))
        else:
            stages[-1].steps.append(instruction)
    return arguments, stages


def last(stage: Stage, word: str, stages: list[Stage]) -> Instruction | None:
    """Return what a stage, or one that it begins with, says last of a kind."""
    own = [step for step in stage.steps if step.word == word]
    below = next((one for one in stages if one.name == stage.base), None)
    return own[-1] if own else last(below, word, stages) if below else None


def environ(stage: Stage, stages: list[Stage]) -> dict[str, str]:
    """Return what a stage, and those that it begins with, set."""
    below = next((one for one in stages if one.name == stage.base), None)
    found = environ(below, stages) if below else {}
    for step in stage.steps:
        found |= step.pairs if step.word == "ENV" else {}
    return found


def ignored(name: str, rules: list[str]) -> bool:
    """Whether a path of the repository is left out of a build, by the last rule that fits it.

    The forms that .dockerignore here has: a path, `*`, `**/name` and `**/*.suffix`, `!path`.
    """
    out = False
    for rule in rules:
        pattern = re.escape(rule.removeprefix("!")).replace(r"\*\*/", "(.*/)?")
        pattern = pattern.replace(r"\*", "[^/]*")
        if re.fullmatch(f"{pattern}(/.*)?", name):
            out = not rule.startswith("!")
    return out


def ignore_rules() -> list[str]:
    """Return the rules of .dockerignore."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _instructions(text: str) -> list[Instruction]:
    # A comment is none inside a continued line either.
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    found = [line.strip().split(None, 1) for line in joined.splitlines() if line.strip()]
    return [Instruction(word.upper(), re.sub(r"\s+", " ", rest)) for word, rest in found]
