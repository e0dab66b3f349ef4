"""When an inbox is swept, written into `nights.toml`: that file is the truth for all that asks.

What else stands in it, remarks too, stays as it is.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from callsheet.tasks.errors import ConfigurationError
from callsheet.tasks.nights.inboxes import Inbox

#: Between the head of a table and the next one.
_HEAD = re.compile(r"^\s*\[")


def write_terms(file: Path, inbox: Inbox, terms: Mapping[str, str]) -> bool:
    """Write terms of an inbox into a file, which is made if need be; whether anything changed.

    Raises ConfigurationError where the file has the inbox in a shape that is not ours to change.
    """
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    # A folder beside the file is named from there, so that all of it can move.
    beside = Path(inbox.place)
    if not inbox.is_bucket and beside.is_relative_to(file.parent):
        inbox = replace(inbox, place=beside.relative_to(file.parent).as_posix())
    changed = with_terms_of(text, inbox, terms)
    if changed == text:
        return False
    written = tomllib.loads(changed).get("inbox", {}).get(inbox.name, {})
    if any(written.get(name) != value for name, value in terms.items()):
        said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in terms.items())
        raise ConfigurationError(
            f"{file} has {inbox.name} in a shape that is not changed here",
            remedy=f"write it there yourself: {said}",
        )
    new = file.with_name(f".{file.name}.new")
    new.write_text(changed, encoding="utf-8")
    new.replace(file)
    return True


def with_terms_of(text: str, inbox: Inbox, terms: Mapping[str, str]) -> str:
    """Return the text of a `nights.toml` with these terms of an inbox; a new inbox comes last."""
    said = {
        name: f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in terms.items()
    }
    lines = text.splitlines(keepends=True)
    heads = {f"[inbox.{inbox.name}]", f"[inbox.{json.dumps(inbox.name)}]"}
    start = next((n for n, line in enumerate(lines) if _head(line) in heads), None)
    if start is None:
        place = f"place = {_text(inbox.place)}\n"
        gap = "" if not lines else "\n" if lines[-1].endswith("\n") else "\n\n"
        return f"{text}{gap}[inbox.{_key(inbox.name)}]\n{place}{''.join(said.values())}"
    end = next((n for n in range(start + 1, len(lines)) if _HEAD.match(lines[n])), len(lines))
    for n in range(start + 1, end):
        name = lines[n].partition("=")[0].strip()
        if name in said:
            lines[n] = said.pop(name)
    return "".join([*lines[: start + 1], *said.values(), *lines[start + 1 :]])


def _head(line: str) -> str:
    """Return the head of a table without spaces and remarks."""
    return re.sub(r"\s", "", line.partition("#")[0])


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
