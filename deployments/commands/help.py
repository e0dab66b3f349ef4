"""`callsheet help WORD`: what a word means that Callsheet prints or that you can type."""

from __future__ import annotations

import tomllib
from argparse import Namespace
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from callsheet.deployments.parser import COMMANDS, EXIT_STATUSES, GROUPS, parser_of
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.ledger.reviews import REASONS
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.known_settings import KNOWN
from callsheet.tasks.sheet.json_schema import sheet_schema

#: The words that have their meaning from no other code.
WORDS = Path(__file__).parents[1] / "words.toml"
#: Nearest words that are offered for an unknown one.
NEAREST = 3


class Answer(NamedTuple):
    """One meaning of a word; `kind` is what it is a word for, such as state or column."""

    kind: str
    word: str
    text: str


def main(args: Namespace) -> int:
    """Show what a word means, all words of a kind, or the kinds; return 0.

    Raises BadInput, with the nearest words, for a word that is not known.
    """
    console = console_for(args)
    kinds = {kind: list(_answers(kind, of)) for kind, of in _meanings().items()}
    if not args.word:
        for kind, answers in kinds.items():
            some = ", ".join(one.word for one in answers[:4])
            console.print(f"{kind:<14} {len(answers):>3} words, such as {plain(some)}")
        console.print("`callsheet help KIND` lists them; `callsheet help WORD` explains one")
    said = " ".join(args.word)
    found = kinds["commands"] if said == "all" else _find(said, kinds) if said else []
    if said == "all":
        _show_commands(console)
    for one in found if said != "all" else ():
        console.print(f"[bold]{plain(one.word)}[/] ({one.kind}): {plain(one.text)}")
    if said in COMMANDS and not args.json:
        parser_of(said).print_all()
    if args.json:
        documents = [one._asdict() for one in found]
        print_json({"kinds": list(kinds), "answers": documents, "exit": 0})
    return 0


def _show_commands(console: Console) -> None:
    """List every command by what it is for."""
    for title, names in GROUPS.items():
        console.print(f"[bold]{title}[/]")
        for name in names:
            console.print(f"  {name:<14} {plain(COMMANDS[name][0])}")


def _meanings() -> dict[str, Mapping[str, str]]:
    """Return what each word of each kind means, from where it is defined."""
    own = tomllib.loads(WORDS.read_text("utf-8"))
    columns = sheet_schema()["$defs"]["columns"]["properties"]
    return {
        "commands": {name: does for name, (does, _) in COMMANDS.items()},
        "exit statuses": {str(status): text for status, text in EXIT_STATUSES.items()},
        "states": own["states"],
        "columns": {name: column["description"] for name, column in columns.items()},
        "settings": {name: _setting(name, *known) for name, known in KNOWN.items()},
        "reasons": REASONS,
        "words": own["glossary"],
    }


def _setting(name: str, default: str | None, text: str) -> str:
    said = "" if default is None else f" (default {default})"
    return f"{text}{said}; CALLSHEET_{name.upper()}, or {name} in a profile"


def _answers(kind: str, meanings: Mapping[str, str]) -> Iterator[Answer]:
    one = "exit status" if kind == "exit statuses" else kind.removesuffix("s")
    return (Answer(one, word, text) for word, text in meanings.items())


def _find(said: str, kinds: Mapping[str, list[Answer]]) -> list[Answer]:
    """Return every meaning of a word, or all words of a kind."""
    word = _folded(said)
    for kind, answers in kinds.items():
        if word in (_folded(kind), _folded(answers[0].kind)):
            return answers
    known: dict[str, list[Answer]] = {}
    for answer in (one for answers in kinds.values() for one in answers):
        for name in answer.word.split(", "):
            known.setdefault(_folded(name), []).append(answer)
    if word in known:
        return known[word]
    near = get_close_matches(word, known, n=NEAREST)
    meant = ", ".join(known[one][0].word for one in near)
    raise BadInput(
        f'Callsheet has no word "{said}"' + (f"; the nearest are {meant}" if meant else ""),
        remedy="`callsheet help` shows what kinds of words there are",
    )


def _folded(word: str) -> str:
    """Return a word as it is compared: an option, a variable and a header are the same."""
    name = word.strip().casefold().replace("-", "_").replace(" ", "_").strip("_")
    return name.removeprefix("callsheet_")
