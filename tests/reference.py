"""What is made from the code: pages of commands, API and errors, a table of columns, a schema.

python -m tests.reference     writes them into docs/ and configs/
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from fastapi import FastAPI

from callsheet.deployments.board import refusals
from callsheet.deployments.board.app import _routes
from callsheet.deployments.cli import execute
from callsheet.tasks.runtime import errors
from callsheet.tasks.sheet.json_schema import sheet_schema
from tests import commands_page
from tests.programs import ROOT
from tests.promises.surfaces import api

# ruff: noqa: E501 - lines of pages are as long as in other pages.
API_HEAD = """\
# The API

Every call of `/api/v1`, made from the code. Send your token as `Authorization: Bearer TOKEN`. [The tutorial](tutorials/api.md) uses the
most important calls; [the board's page](board.md#from-a-sheet-to-a-run) explains how they work together, roles and events; your board has
the same as OpenAPI at `/api/v1/openapi.json`.

A refusal is `application/problem+json`: `title`, `status`, `detail`, `remedy` (what to do) and `problems`. A query parameter or member that
the call does not know is refused with 422. Approving a plan again returns the same run.
"""
ERRORS_HEAD = """\
# Errors

Every error that a command or a flow ends with, made from the code. A command prints what happened, what it cost and what to type next, and
ends with the exit status below. A program catches the class: `from callsheet import SpendRefused`. Each error has `exit_status`,
`remedy`, and `spent`: the credits that were charged or set aside, or None where that is not known. `--json` prints `error`, `exit`, `spent` and `remedy`.
"""


def pages() -> dict[str, str]:
    """Return every page by its name in docs/."""
    return {
        "commands": commands_page.page(),
        "api": _api_page(),
        "errors": _errors_page(),
        "sheets": _sheets_page((ROOT / "docs" / "sheets.md").read_text(encoding="utf-8")),
    }


def _sheets_page(text: str) -> str:
    """Return the page about sheets with its table of columns as the code has them."""
    columns = sheet_schema()["$defs"]["columns"]["properties"]
    table = [f"| `{name}` | {column['description']} |\n" for name, column in columns.items()]
    return re.sub(
        r"(?<=^\| column \| what it says \|\n\|---\|---\|\n)(\|.*\n)+",
        lambda _: "".join(table),
        text,
        flags=re.MULTILINE,
    )


def _api_page() -> str:
    app = FastAPI(title="Callsheet")
    app.router.routes.extend(_routes())
    promised = api()
    calls = [
        (operation["tags"][0], f"{method.upper()} {path}", operation)
        for path, operations in refusals.describe(app)["paths"].items()
        for method, operation in operations.items()
    ]
    lines = [API_HEAD]
    answers: dict[str, str] = {}
    for tag, group in groupby(sorted(calls, key=lambda one: one[0]), key=lambda one: one[0]):
        lines.append(f"## {tag.capitalize()}\n")
        for _, call, operation in group:
            lines += _call(call, operation, promised, answers)
    return "\n".join(lines)


def _call(
    call: str, operation: dict[str, Any], promised: dict[str, str], answers: dict[str, str]
) -> Iterator[str]:
    """Yield the lines on a call; `answers` has the long ones so far, with the call of each."""
    yield f"### `{call.replace('/api/v1', '')}`\n"
    yield f"{' '.join(operation['description'].split())}\n"
    yield "| | |\n|---|---|"
    about = {key.removeprefix(f"{call} "): said for key, said in promised.items()
             if key.startswith(f"{call} ")}  # fmt: skip
    for key, said in about.items():
        if found := re.fullmatch(r"(query|header) (\S+)", key):
            yield f"| {found[1]} `{found[2]}` | {_cell(said)} |"
        if found := re.fullmatch(r"takes \S+ \.([^.\[]+)", key):
            yield f"| body `{found[1]}` | {_cell(said)} |"
    for status in sorted(name for name in operation["responses"] if name.startswith("2")):
        start = f"answers {status} ."
        members = [key.removeprefix(start) for key in about if key.startswith(start)]
        said_here = _members(members) or _cell(about[f"answers {status}"])
        first = answers.setdefault(said_here, call.replace("/api/v1", ""))
        is_new = len(said_here) < LONG or first == call.replace("/api/v1", "")
        yield f"| answer {status} | {said_here if is_new else f'the same as `{first}`'} |"
    yield f"| operation id | `{operation['operationId']}` |\n"


#: A longer answer, in characters, is written out with the first call that gives it.
LONG = 60


def _members(members: Sequence[str]) -> str:
    """Return members of an answer, each with those that are one level below it."""
    below: dict[str, list[str]] = {}
    for one in members:
        if " = " not in one and one.count(".") < 2 and not one.endswith(("[]", "*")):
            name, _, member = one.partition(".")
            below.setdefault(name.removesuffix("[]"), [])
            below[name.removesuffix("[]")] += [f"`{member}`"] if member else []
    lists = {one.partition(".")[0].removesuffix("[]") for one in members if "[]" in one}
    shown = []
    for name, inside in below.items():
        each = ("each with " if name in lists else "with ") + ", ".join(inside)
        shown.append(f"`{name}` ({each})" if inside else f"`{name}`")
    return ", ".join(shown)


def _cell(said: str) -> str:
    return said.replace("|", "\\|")


def _errors_page() -> str:
    lines = [ERRORS_HEAD, "| error | exit status | what happened |", "|---|---|---|"]
    return "\n".join([*lines, *_errors(errors.CallsheetError, 0)]) + "\n"


def _errors(error: type[errors.CallsheetError], depth: int) -> Iterator[str]:
    words = " ".join((inspect.getdoc(error) or "").partition("\n\n")[0].split())
    yield f"| {'– ' * depth}`{error.__name__}` | {error.exit_status} | {_cell(words)} |"
    for one in error.__subclasses__():
        if one.__module__ == errors.__name__:
            yield from _errors(one, depth + 1)


if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / "docs" / f"{name}.md").write_text(text, encoding="utf-8")
    execute(["schema", "-o", str(ROOT / "configs/campaigns/callsheet.schema.json")])
