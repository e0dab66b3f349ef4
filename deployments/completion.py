"""What a shell offers when you press Tab: commands, options, choices, files and profiles.

Has to answer at once and must not disturb: it loads the parser alone, reads no ledger and writes
nothing.
"""

from __future__ import annotations

import os
from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from argcomplete.completers import BaseCompleter
from argcomplete.finders import CompletionFinder

from callsheet.deployments.parser import COMMANDS, build_parser
from callsheet.tasks.runtime.home import profile_folders

SHEETS = (".csv", ".tsv", ".xlsx", ".yaml", ".yml", ".json")
#: What is named by a word in capitals: the endings of such files; all files have the empty one.
_FILES = {"SHEET": SHEETS, "FILE": ("",), "DIR": ("/",), "PATH": ("",), "INBOX": ("",)}
_VERDICTS = ("keep", "reject", "undo")


def complete() -> None:
    """Answer a shell, which says in the environment what is typed, and leave."""
    # Without options until a dash is typed: behind `run`, a sheet is wanted.
    _Finder()(build_parser(), always_complete_options=False, default_completer=_Completer())


class _Finder(CompletionFinder):
    """Lists commands by their names: making the parser of each takes half a second."""

    def _get_subparser_completions(
        self, parser: _SubParsersAction[ArgumentParser], begin: str
    ) -> list[str]:
        helps = {action.dest: action.help or "" for action in parser._get_subactions()}
        found = {name: words for name, words in helps.items() if name.startswith(begin)}
        self._display_completions.update(found)
        return list(found)


class _Completer(BaseCompleter):
    """Offers what the word in capitals stands for that help shows for an argument."""

    def __call__(
        self, *, prefix: str, action: Action, parser: ArgumentParser, parsed_args: Namespace
    ) -> Iterable[str]:
        name = str(action.metavar or action.dest).partition("=")[0]
        if name in _FILES:
            return _files(prefix, _FILES[name])
        if action.dest == "profile":
            return _profiles()
        if action.dest == "by" and name == "COLUMN":
            from callsheet.deployments.arguments.campaign_commands import COSTS_BY

            return COSTS_BY
        if action.dest == "word":
            return COMMANDS.keys()
        return _VERDICTS if "VERDICT" in name and parsed_args.words else ()


def _profiles() -> list[str]:
    return [file.stem for folder in profile_folders(Path.cwd()) for file in folder.glob("*.toml")]


def _files(prefix: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield folders, and the files with one of the endings, that begin like `prefix`."""
    typed, begun = os.path.split(prefix)
    with suppress(OSError):
        for entry in os.scandir(Path(typed).expanduser()):
            if entry.name.startswith(begun) and (begun or not entry.name.startswith(".")):
                shown = os.path.join(typed, entry.name) + ("/" if entry.is_dir() else "")
                if entry.is_dir() or shown.endswith(endings):
                    yield shown
