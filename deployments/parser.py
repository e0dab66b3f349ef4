"""What a person may type: the commands, each with the file that says what it takes.

Imports little, and makes the parser of no command but the one that is called: help has to answer at
once.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

#: What each exit status of a command means.
EXIT_STATUSES = {
    0: "everything is delivered, or nothing to do",
    1: "a fault in Callsheet, or the run stopped in the middle",
    2: "bad input, nothing was spent",
    3: "finished, some rows need attention",
    4: "refused to spend (budget, approval)",
    5: "parked until later: run it again",
}
START = """\
Try your own sheet on this machine, at no cost:
  callsheet init                    write a sample sheet to begin with
  callsheet check SHEET             list every problem with its cell
  callsheet run SHEET --sandbox     make its videos with the local sandbox
  callsheet help WORD               explain a word that Callsheet uses
  callsheet help all                list every command

Exit status:
"""
EPILOG = START + "".join(f"  {status}  {text}\n" for status, text in EXIT_STATUSES.items())

#: Every command: what it does, and how the file of `deployments.arguments` begins that it is in.
COMMANDS = {
    "init": (
        "write a profile and a sample sheet that fits the service, after five questions",
        "first",
    ),
    "check": ("list every problem in a sheet; makes no network calls", "sheet"),
    "plan": ("show what would happen to each row and its price; spends nothing", "sheet"),
    "show-plan": ("show a saved plan, and whether it is still valid; spends nothing", "sheet"),
    "run": ("plan, ask for approval once, make the videos, report", "sheet"),
    "adopt": ("take over videos that were made elsewhere, at no charge", "sheet"),
    "tools": ("list the service's tools, their fields, and a sample row", "sheet"),
    "schema": ("print the JSON Schema of YAML and JSON sheets, for your editor", "sheet"),
    "status": ("show campaigns, or one campaign: rows by state, credits", "campaign"),
    "rows": ("list every row: state, credits, where its video is", "campaign"),
    "explain": ("show the full history of one row, and why it is in its state", "campaign"),
    "resolve": ("settle a paid call whose outcome is unknown", "campaign"),
    "verify": ("check that every delivered file is still in the store and intact", "campaign"),
    "reconcile": ("compare the ledger with the service", "campaign"),
    "export": ("export videos as a ZIP, or rows, takes, events or costs", "campaign"),
    "costs": ("add up what all campaigns cost, by brand, month, person and more", "campaign"),
    "review": ("keep or reject a row's video, with a reason", "campaign"),
    "contact-sheet": ("put a campaign's videos on one page to share", "campaign"),
    "approve": ("keep the first videos of a campaign and approve the rows that wait", "campaign"),
    "retake": ("make new videos for rows; shows the price and asks first", "campaign"),
    "ledger": ("back up, restore, check, upgrade or shrink the ledger", "campaign"),
    "cancel": ("cancel rows or a whole campaign, even during a run", "campaign"),
    "prune": ("delete videos at the service that are stored and not needed there", "campaign"),
    "nightly": ("scan an inbox and make the videos of new and changed sheets", "server"),
    "nights": ("list, schedule, pause and test nightly runs", "server"),
    "video": ("call any video operation of the service directly", "direct"),
    "webhooks": ("call any webhook operation of the service directly", "direct"),
    "login": ("get an API key for the service and store it", "server"),
    "logout": ("revoke the key from login and delete it here", "server"),
    "whoami": ("show which key is used, where it comes from, what it may do", "server"),
    "up": ("start everything (board, Prefect, receiver) and restart what crashes", "server"),
    "board": ("open the dashboard: from a sheet to approved videos, in a browser", "server"),
    "allow": ("let an agent approve credits by itself, per day; list and revoke agents", "server"),
    "mcp": ("let an AI agent work with campaigns, over stdin and stdout", "server"),
    "receive": ("receive webhooks until you stop it; each one triggers a status check", "server"),
    "sandbox": ("run a local copy of the video service; nothing is charged", "server"),
    "doctor": ("check that this machine is set up correctly; changes nothing", "server"),
    "help": ("explain a word: state, exit status, column, setting, reason, command", "first"),
    "completion": ("print the script that completes commands in your shell", "first"),
}


#: Every command by what it is for; the first ones are on the first help.
GROUPS = {
    "From a sheet to videos": (
        "init", "check", "plan", "run", "status", "explain", "review", "retake", "export", "board",
    ),
    "Rows and campaigns": (
        "rows", "approve", "cancel", "resolve", "adopt", "costs", "contact-sheet", "show-plan",
    ),
    "What is at the service and in the store": ("verify", "reconcile", "prune"),
    "Sheets": ("tools", "schema"),
    "Every night, and for others": ("nightly", "nights", "up", "receive", "allow", "mcp"),
    "This machine": (
        "doctor", "login", "logout", "whoami", "ledger", "sandbox", "completion", "help",
    ),
    "The service by hand": ("video", "webhooks"),
}  # fmt: skip
MAIN = next(iter(GROUPS.values()))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(
        prog="callsheet",
        description="Turn a campaign sheet into finished videos. Every row is quoted before a "
        "credit is spent, never paid for twice, and delivered with proof.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=_ShowVersion, nargs=0, help="print the version and exit"
    )
    parser.add_subparsers(
        action=_Commands, title="commands", dest="command", metavar="COMMAND", required=True
    )
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
    return f"{words[0].upper()}{words[1:]}."


class _Parser(argparse.ArgumentParser):
    """Raises BadInput where argparse would print its usage and leave."""

    #: The options that are used first, of a command with many; `callsheet help COMMAND` shows all.
    first: frozenset[str] = frozenset()

    def format_help(self) -> str:
        """Return the help; of many options those that people use first."""
        if not self.first:
            return super().format_help()
        program, _, command = self.prog.partition(" ")
        kept = [one for one in self._actions if not one.option_strings or one.dest in self.first]
        short = argparse.ArgumentParser(
            prog=self.prog,
            description=self.description,
            epilog=f"{len(self._actions) - len(kept)} more options: {program} help {command}",
            add_help=False,
        )
        for action in kept:
            short._add_action(action)
        return short.format_help()

    def print_all(self) -> None:
        """Print every option."""
        self._print_message(super().format_help(), sys.stdout)

    def error(self, message: str) -> NoReturn:
        from callsheet.deployments.misunderstood import misunderstood

        raise misunderstood(self, message)


class _ShowVersion(argparse.Action):
    """Print the version; looking it up costs time that no other command should pay."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from callsheet.tasks.runtime.process import own_version

        print(f"callsheet {own_version()}")
        parser.exit()


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The commands; the first help shows those of the main job."""

    def __init__(self, prog: str, **how: Any) -> None:
        super().__init__(prog=prog, **how)
        self.choices = self._name_parser_map = _Parsers(prog)  # type: ignore[assignment]
        self._choices_actions = [
            self._ChoicesPseudoAction(name, (), COMMANDS[name][0]) for name in MAIN
        ]


class _Parsers(Mapping[str, argparse.ArgumentParser]):
    """The parsers of the commands, each made when it is first asked for."""

    def __init__(self, prog: str) -> None:
        self._prog = prog
        self._made: dict[str, argparse.ArgumentParser] = {}

    def __getitem__(self, name: str) -> argparse.ArgumentParser:
        if name not in self._made:
            self._made[name] = parser_of(name, self._prog)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def parser_of(command: str, prog: str = "callsheet") -> _Parser:
    """Return the parser of a command."""
    does, part = COMMANDS[command]
    parser = _Parser(prog=f"{prog} {command}", description=_sentence(does))
    _take_shared(parser)
    arguments = importlib.import_module(f"callsheet.deployments.arguments.{part}_commands")
    getattr(arguments, command.replace("-", "_"))(parser)
    return parser


def add_verb(verbs: Any, name: str, words: str) -> argparse.ArgumentParser:
    """Return the parser of a new verb; what was typed before the verb is not undone by it."""
    made: argparse.ArgumentParser = verbs.add_parser(name, help=words, description=_sentence(words))
    _take_shared(made, default=argparse.SUPPRESS)
    return made


def _take_shared(parser: argparse.ArgumentParser, **how: Any) -> None:
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document on stdout", **how
    )
    parser.add_argument(
        "--profile", metavar="NAME", help="read settings from this TOML profile", **how
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show more detail", **how)
