"""Commands as someone can paste them: whatever is suggested with a value in it is made here.

`tests/test_suggestions.py` parses every call with the command line's own parser.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal

#: The options that every command needs here; of the process, since its threads suggest as well.
_always: list[str] = []

#: Whether the command that was typed uses the local sandbox, and the commands that take that.
_sandbox: list[bool] = [False]
TOLD_SANDBOX = frozenset((
    "adopt", "approve", "board", "cancel", "costs", "init", "mcp", "nightly", "plan", "prune",
    "reconcile", "resolve", "retake", "run", "tools", "up", "verify", "video",
))  # fmt: skip

#: Who reads: a person at a command, once one was typed in this process, or on Prefect's page.
_reader: list[Literal["command", "flow"]] = ["command"]


def suggest_for(profile: str | None, *, sandbox: bool = False, flow: bool = False) -> None:
    """Have every suggestion from now on name the profile and the sandbox its reader works with.

    For a `flow` that Prefect runs, what is to be added is a parameter and no option.
    """
    _always[:] = [] if profile is None else ["--profile", profile]
    _sandbox[0] = sandbox
    _reader[0] = "flow" if flow else "command"


#: What was typed in this process behind `callsheet`; empty where it cannot be typed again.
_typed: list[str] = []


def remember_typed(words: Sequence[str]) -> None:
    """Have suggestions repeat the words of this command, unless it read standard input."""
    _typed[:] = [] if "-" in words else words


def typed_again(*options: str, instead: tuple[str, str] | None = None) -> str | None:
    """Return the command that was typed, with an option and its value added or replaced.

    `instead` is a word that was typed, and the one that was meant. None where nothing was typed.
    """
    words = [instead[1] if instead and word == instead[0] else word for word in _typed]
    if options and options[0] in words:
        at = words.index(options[0])
        del words[at : at + len(options)]
    return " ".join(("callsheet", *map(shlex.quote, (*words, *options)))) if words else None


def suggest(command: str, *words: str) -> str:
    """Return `callsheet COMMAND WORDS`, quoted for a shell; capitals stand for what is not known.

    `command` may hold the verb too ("video show"). A word that begins with a dash is an option
    where it is written here, and a value where it comes from a campaign or a sheet.
    """
    told = _sandbox[0] and command.partition(" ")[0] in TOLD_SANDBOX
    more = ["--sandbox"] if told and "--sandbox" not in words else []
    more += [] if "--profile" in words else _always
    return " ".join(("callsheet", command, *map(shlex.quote, (*words, *more))))


def again_with(*words: str) -> str:
    """Return that the same command is to be run again, with these options; or the flow so."""
    if _reader[0] == "flow":
        return f"run the flow again{_parameters(words)}"
    added = f" with `{' '.join(shlex.quote(word) for word in words)}`" if words else ""
    return f"run the same command again{added}"


def _parameters(words: Sequence[str]) -> str:
    """Return options as the parameters of a flow: `--budget 50` is `budget=50`."""
    if not words:
        return ""
    option, *value = words
    name = option.removeprefix("--").replace("-", "_")
    return f" with `{name}={value[0] if value else 'true'}`"


def suggest_run(sheet: str | None, campaign: str, *words: str) -> str:
    """Return the command that runs a campaign again, from the sheet it was run from."""
    if not sheet or sheet == "-":
        return suggest("run", "SHEET", "--campaign", campaign, *words)
    named = [] if PurePath(sheet).stem == campaign else ["--campaign", campaign]
    return suggest("run", sheet, *named, *words)
