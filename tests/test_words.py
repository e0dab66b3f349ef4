"""One word, one meaning: names that stand in two rooms, and words the code has given up."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SANDBOX = "deployments/sandbox"
#: A module of these is named after what a person types or schedules, whatever room does the work.
DOORS = ("deployments/commands", "flows", "deployments/board/pages", "deployments/board/api",
         "deployments/board/acts")  # fmt: skip

#: Class names that may stand in two rooms -> what they mean in both.
SAME_CLASS: Mapping[str, str] = {}
#: Module names that may stand in two rooms -> what they mean in both.
SAME_MODULE: Mapping[str, str] = {
    "catalogue": "what the service offers: as read, as kept, as sheets are compared with it",
    "bucket": "an S3 bucket: sheets are read from one, films are put into one",
    "cancel": "stopping what was asked for: a person's wish, the engine's calls, the ledger's flag",
    "failures": "what a failed request tells: its caller, and a lane",
    "fetch": "reading something whole from an address: a sheet, a film",
    "formats": "the file formats of tables, as they are read and written",
    "polling": "asking again until something is ready: a render, a login",
    "retake": "the next take of a row: asked for by a person, opened in the ledger",
    "transport": "how HTTP leaves this machine",
    "values": "the frozen values that a room speaks in",
}
#: Given up for a word of docs/words.md.
RETIRED = frozenset(
    """
    courier fate foresee foreseen house look looked looks news parks patience
    patient rests road seen shelf standing stride studio stumble stumbles survey teller
    """.split()  # noqa: SIM905
)


@cache
def trees() -> Mapping[Path, ast.Module]:
    """Return every module of ours, by its path in the repository."""
    found = {}
    for top in ("tasks", "flows", "deployments"):
        for path in sorted((ROOT / top).rglob("*.py")):
            if "versions" not in path.parts:
                found[path.relative_to(ROOT)] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def room_of(path: Path, *, within: str = "") -> str:
    """Return the room a module is in: a folder of `tasks` or `deployments`, or of the sandbox."""
    parts = path.relative_to(within).parts if within else path.parts
    depth = 1 if within else 2
    return "/".join(parts[: min(depth, len(parts) - 1)]) or within


def names_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the classes and functions of a module."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    yield from (node.name for node in ast.walk(tree) if isinstance(node, kinds))


def classes(*, sandbox: bool) -> Mapping[str, set[str]]:
    """Return the rooms in which each public class name stands."""
    rooms = defaultdict(set)
    for path, tree in trees().items():
        if path.is_relative_to(SANDBOX) is sandbox:
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    rooms[node.name].add(room_of(path, within=SANDBOX if sandbox else ""))
    return rooms


def in_two(rooms: Mapping[str, set[str]], same: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: sorted(of) for name, of in rooms.items() if len(of) > 1 and name not in same}


def test_a_class_name_stands_in_one_room() -> None:
    assert in_two(classes(sandbox=False), SAME_CLASS) == {}


def test_a_class_name_stands_in_one_folder_of_the_sandbox() -> None:
    assert in_two(classes(sandbox=True), {}) == {}


def test_a_module_name_stands_in_one_room() -> None:
    rooms = defaultdict(set)
    for path in trees():
        named = path.stem not in ("__init__", "__main__") and not path.is_relative_to(SANDBOX)
        if named and not any(path.is_relative_to(door) for door in DOORS):
            rooms[path.stem].add(room_of(path))

    assert in_two(rooms, SAME_MODULE) == {}


@pytest.mark.parametrize("top", ["tasks", "flows", "deployments"])
def test_no_name_has_a_word_that_was_given_up(top: str) -> None:
    named = [
        f"{path}: {name}"
        for path, tree in trees().items()
        if path.parts[0] == top
        for name in (path.stem, *names_in(tree))
        if RETIRED & set(re.findall(r"[a-z0-9]+", re.sub(r"([A-Z])", r"_\1", name).lower()))
    ]

    assert named == []


def test_every_word_of_the_page_has_one_meaning() -> None:
    page = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", page, re.MULTILINE)
    said = [word for cell in words if cell != "word" for word in cell.split(", ")]

    assert len(said) > 60
    assert [word for word in said if said.count(word) > 1] == []
    assert [word for word in said if set(word.split()) & RETIRED] == []
