"""docs/commands.md, made from the command line itself (`python -m tests.reference`)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

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
SHARED = {"help", "json", "profile", "verbose"}


def page() -> str:
    """Return the page in Markdown."""
    table = ["| command | |", "|---|---|"]
    table += [f"| [`callsheet {name}`](#{name}) | {does} |" for name, (does, _) in COMMANDS.items()]
    parts = [HEAD + "\n".join(table)]
    (commands,) = _verbs_of(build_parser())
    for name, (does, _) in COMMANDS.items():
        parts.append("\n".join(_part(name, does, commands.choices[name])))
    return "\n\n".join(parts) + "\n"


def _part(name: str, does: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield f"{does[0].upper()}{does[1:]}."
    yield from _options(parser)
    for verbs in _verbs_of(parser):
        helps = {action.dest: action.help for action in verbs._choices_actions}
        for verb, of in verbs.choices.items():
            yield ""
            yield f"### {name} {verb}"
            yield ""
            words = str(helps.get(verb) or "")
            yield f"{words[:1].upper()}{words[1:]}."
            yield from _options(of)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    actions = [
        action
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction)
        and action.dest not in SHARED
        and action.help != argparse.SUPPRESS
    ]
    if actions:
        yield from ("", "| option | |", "|---|---|")
    for action in actions:
        names = ", ".join(action.option_strings)
        value = _value(action)
        shown = " ".join(filter(None, (names, value))).replace("|", "\\|")
        yield f"| `{shown}` | {_help(action)} |"


def _help(action: argparse.Action) -> str:
    # argparse fills in a default by `%`, so a percent sign is written twice.
    return (action.help or "").replace("%%", "%").replace("|", "\\|")


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
