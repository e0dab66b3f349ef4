"""What a person may type: the commands, each with the file that says what it takes.

Imports little, and makes the parser of no command but the one that is called: help has to answer at
once.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

EPILOG = """\
to try a sheet of your own, on this machine and at no cost:
  callsheet check SHEET             every problem of it, each with its cell
  callsheet run SHEET --sandbox     videos of it, by a service of our own

exit status:
  0  everything delivered, or nothing to do     3  finished, some rows need a person
  1  a fault in Callsheet                       4  refused to spend (budget, approval)
  2  bad input: nothing was spent               5  parked until a later moment: run it again
"""

#: Every command: what it does, and how the file of `deployments.arguments` begins that it is in.
COMMANDS = {
    "check": ("every problem of a sheet at once; contacts nobody", "sheet"),
    "plan": ("what would happen to each row and its price; spends nothing", "sheet"),
    "run": ("plan, ask once, produce, report", "sheet"),
    "tools": ("what the service's tools take, and a row to begin with", "sheet"),
    "schema": ("the JSON Schema of YAML and JSON sheets, for your editor", "sheet"),
    "status": ("campaigns, or one of them: rows by state, credits", "ledger"),
    "rows": ("a line for every row: state, credits, where its video is", "ledger"),
    "explain": ("everything that is known of one row, and why", "ledger"),
    "resolve": ("settle a paid call whose outcome nobody knows", "ledger"),
    "verify": ("is every delivery still in the store, and intact?", "ledger"),
    "reconcile": ("compare the ledger with what the service says", "ledger"),
    "export": ("rows, takes, events or costs, for spreadsheets and programs", "ledger"),
    "review": ("keep or reject the video of a row, with a reason", "ledger"),
    "contact-sheet": ("a campaign's videos on one page or picture, to be sent", "ledger"),
    "retake": ("another take of rows: a new video at a price that is asked about", "ledger"),
    "ledger": ("back a ledger up, restore it, check it, make it small", "ledger"),
    "cancel": ("cancel rows or a whole campaign, also while a run is at work", "ledger"),
    "nightly": ("sweep an inbox of sheets: what is new or changed is made", "night"),
    "nights": ("list nights, pause them, have them started, see what they tell", "night"),
    "video": ("every operation on videos, directly", "direct"),
    "webhooks": ("every operation on webhook subscriptions, directly", "direct"),
    "login": ("get a key for the service and keep it", "key"),
    "logout": ("revoke the key that login got, and forget it", "key"),
    "whoami": ("which key is in force, where it comes from, what it may do", "key"),
    "up": ("start it all: Prefect, a worker, the board, the receiver; and keep it up", "server"),
    "board": ("the dashboard: from a sheet to approved videos, in a browser", "server"),
    "receive": ("hear webhooks until stopped: hints where to look, never believed", "server"),
    "sandbox": ("run the whole video service on this machine", "server"),
    "doctor": ("is everything here as Callsheet needs it? changes nothing", "server"),
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(
        prog="callsheet",
        description="A campaign sheet becomes finished videos: quoted before a credit is spent, "
        "never paid for twice, delivered with proof.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="say it and stop")
    parser.add_subparsers(action=_Commands, dest="command", metavar="COMMAND", required=True)
    return parser


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what was typed; raise BadInput where it cannot be meant."""
    parser = build_parser()
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        command = _verbs(parser)[args.command]
        verb = _verbs(command).get(getattr(args, "verb", ""), command)
        verb.error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def _verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the commands, or of a command's verbs."""
    return {
        name: of
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, of in action.choices.items()
    }


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}" + ("" if words.endswith("?") else ".")


class _Parser(argparse.ArgumentParser):
    """Raises BadInput where argparse would print its usage and leave."""

    def error(self, message: str) -> NoReturn:
        from callsheet.deployments.misunderstood import misunderstood

        raise misunderstood(self, message)


class _ShowVersion(argparse.Action):
    """Print the version; looking it up costs time that no other command should pay."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"callsheet {version('callsheet')}")
        parser.exit()


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The commands, in the order in which help shows them."""

    def __init__(self, prog: str, **how: Any) -> None:
        super().__init__(prog=prog, **how)
        self.choices = self._name_parser_map = _Parsers(prog)  # type: ignore[assignment]
        self._choices_actions = [
            self._ChoicesPseudoAction(name, (), does) for name, (does, _) in COMMANDS.items()
        ]


class _Parsers(Mapping[str, argparse.ArgumentParser]):
    """The parsers of the commands, each made when it is first asked for."""

    def __init__(self, prog: str) -> None:
        self._prog = prog
        self._made: dict[str, argparse.ArgumentParser] = {}

    def __getitem__(self, name: str) -> argparse.ArgumentParser:
        if name not in self._made:
            self._made[name] = _parser_of(name, f"{self._prog} {name}")
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _parser_of(command: str, prog: str) -> argparse.ArgumentParser:
    does, part = COMMANDS[command]
    parser = _Parser(prog=prog, description=_sentence(does))
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--profile", metavar="NAME", help="settings from a TOML profile")
    parser.add_argument("-v", "--verbose", action="store_true", help="say more")
    arguments = importlib.import_module(f"callsheet.deployments.arguments.{part}_commands")
    getattr(arguments, command.replace("-", "_"))(parser)
    return parser
