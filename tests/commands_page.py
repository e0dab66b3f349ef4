"""docs/commands.md, made from the command line itself (`python -m tests.reference`)."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from callsheet.deployments.parser import COMMANDS, build_parser

HEAD = """\
# Commands

Every command and option; `callsheet help COMMAND` prints them on your terminal. All commands take
`--json` (one JSON document on stdout; JSON lines for `rows`), `--profile NAME` and `-v`.
[The first page](index.md#exit-statuses) has the exit statuses, [sheets.md](sheets.md#choose-rows)
what `--select` takes.

Your shell can complete commands, options, choices and files. Add
`eval "$(callsheet completion bash)"` to `~/.bashrc` (zsh: `eval "$(callsheet completion zsh)"` to
`~/.zshrc`), or in fish write the output of `callsheet completion fish` to
`~/.config/fish/completions/callsheet.fish`.

"""
#: What every command takes.
EVERYWHERE = {"help", "json", "profile", "verbose"}
#: An option that so many commands take with the same meaning is described once.
MANY = 4
SHARED = """\
## Shared options

Several commands take these options. Each command below lists the ones that it takes.
"""


class Option(NamedTuple):
    """A row of a table: how the option is typed, and what it does."""

    shown: str
    does: str


def page() -> str:
    """Return the page in Markdown."""
    table = ["| command | |", "|---|---|"]
    table += [f"| [`callsheet {name}`](#{name}) | {does} |" for name, (does, _) in COMMANDS.items()]
    (commands,) = _verbs_of(build_parser())
    named = {name: commands.choices[name] for name in COMMANDS}
    shared = _shared([option for one in named.values() for option in _of_all_verbs(one)])
    parts = [HEAD + "\n".join(table), SHARED + "\n".join(_table(shared))]
    for name, (does, _) in COMMANDS.items():
        parts.append("\n".join(_part(name, does, named[name], shared)))
    return "\n\n".join(parts) + "\n"


def _shared(options: Sequence[Option]) -> list[Option]:
    """Return what many commands take, each name with the meaning that it has most often."""
    meanings: dict[str, Option] = {}
    for option, times in reversed(Counter(options).most_common()):
        if times >= MANY and option.shown.startswith("-"):
            meanings[option.shown] = option
    return [option for option in dict.fromkeys(options) if option in meanings.values()]


def _of_all_verbs(parser: argparse.ArgumentParser) -> Iterator[Option]:
    yield from _options(parser)
    for verbs in _verbs_of(parser):
        for of in verbs.choices.values():
            yield from _options(of)


def _part(
    name: str, does: str, parser: argparse.ArgumentParser, shared: Sequence[Option]
) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield f"{does[0].upper()}{does[1:]}."
    yield from _described(parser, shared)
    for verbs in _verbs_of(parser):
        helps = {action.dest: action.help for action in verbs._choices_actions}
        for verb, of in verbs.choices.items():
            yield ""
            yield f"### {name} {verb}"
            yield ""
            words = str(helps.get(verb) or "")
            yield f"{words[:1].upper()}{words[1:]}."
            yield from _described(of, shared)


def _described(parser: argparse.ArgumentParser, shared: Sequence[Option]) -> Iterator[str]:
    """Yield the lines on a command's own options, and the names of the others."""
    options = list(_options(parser))
    yield from _table([one for one in options if one not in shared])
    others = [f"`{one.shown}`" for one in options if one in shared]
    if others:
        yield ""
        yield f"[Shared options](#shared-options): {', '.join(others)}."


def _table(options: Sequence[Option]) -> Iterator[str]:
    if options:
        yield from ("", "| option | |", "|---|---|")
    for shown, does in options:
        yield f"| `{_in_cell(shown)}` | {_in_cell(does)} |"


def _in_cell(words: str) -> str:
    return words.replace("|", "\\|")


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if (
            not isinstance(action, argparse._SubParsersAction)
            and action.dest not in EVERYWHERE
            and action.help != argparse.SUPPRESS
        ):
            names = ", ".join(action.option_strings)
            yield Option(" ".join(filter(None, (names, _value(action)))), _help(action))


def _help(action: argparse.Action) -> str:
    # argparse fills in a default by `%`, so a percent sign is written twice.
    return (action.help or "").replace("%%", "%")


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    return f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()


def _verbs_of(
    parser: argparse.ArgumentParser,
) -> list[argparse._SubParsersAction[argparse.ArgumentParser]]:
    return [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
