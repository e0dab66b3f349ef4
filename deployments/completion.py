"""What a shell offers when you press Tab: commands, options, files, and names from the ledger.

Has to answer at once and must not disturb: it loads the parser alone, reads only a ledger that is a
SQLite file, writes nothing, and is silent where anything is missing.
"""

from __future__ import annotations

import os
import sqlite3
import tomllib
from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from argcomplete.completers import BaseCompleter
from argcomplete.finders import CompletionFinder

from callsheet.deployments.parser import COMMANDS, build_parser
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.home import find_home, find_profile, named_profile, profile_folders

#: The most names that are offered.
MOST = 1000
SHEETS = (".csv", ".tsv", ".xlsx", ".yaml", ".yml", ".json")
#: What is named by a word in capitals: the endings of such files; all files have the empty one.
_FILES = {"SHEET": SHEETS, "FILE": ("",), "DIR": ("/",), "PATH": ("",), "INBOX": ("",)}
_VERDICTS = ("keep", "reject", "undo")
_CAMPAIGNS = "SELECT name FROM campaigns ORDER BY id DESC LIMIT ?"
_ROWS = """SELECT row FROM rows WHERE substr(row, 1, length(:begin)) = :begin AND campaign_id =
    coalesce((SELECT id FROM campaigns WHERE name = :campaign), (SELECT max(id) FROM campaigns))
    ORDER BY position LIMIT :most"""
_STATES = "SELECT DISTINCT state FROM rows ORDER BY state LIMIT ?"


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
        if action.dest == "word":
            return COMMANDS.keys()
        with (
            suppress(sqlite3.Error, OSError, ValueError, CallsheetError),
            closing(_ledger(parsed_args)) as ledger,
        ):
            return list(_names(ledger, name, prefix, parsed_args))
        return ()


def _names(ledger: sqlite3.Connection, name: str, begin: str, typed: Namespace) -> Iterator[str]:
    """Yield the campaigns, rows or states that an argument may be, the newest campaign first."""
    words = getattr(typed, "words", None) or [getattr(typed, "campaign", None)]
    if name == "STATE":
        yield from (state for (state,) in ledger.execute(_STATES, (MOST,)))
    if words == [None] and name.startswith(("CAMPAIGN", "ROW")):
        yield from (campaign for (campaign,) in ledger.execute(_CAMPAIGNS, (MOST,)))
    if "ROW" in name:
        wanted = {"begin": begin, "campaign": words[0], "most": MOST}
        yield from (row for (row,) in ledger.execute(_ROWS, wanted))
    if "VERDICT" in name and words != [None]:
        yield from _VERDICTS


def _ledger(typed: Namespace) -> sqlite3.Connection:
    """Open the ledger that the command would use, to read it; raise ValueError for a server's."""
    address = os.environ.get("CALLSHEET_LEDGER", "")
    profile = getattr(typed, "profile", None) or named_profile(os.environ)
    if profile and not address:
        address = str(_profile(profile).get("ledger", ""))
    path = Path(address.removeprefix("sqlite:///"))
    if not address:
        path = find_home(Path.cwd()) / "ledger.db"
    elif not address.startswith("sqlite:///"):
        raise ValueError("a server may keep a shell waiting")
    # Without a log next to it, even a reader would make one, unless it takes the file for final.
    log = path.with_name(f"{path.name}-wal")
    how = "mode=ro" if log.exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=0.1)


def _profile(name: str) -> dict[str, object]:
    return tomllib.loads(find_profile(name, Path.cwd()).read_text("utf-8"))


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
