"""What the verbs of a command share: options for every verb, and options many of them have.

Imports nothing of ours: help has to answer at once.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser


class Verbs:
    """The verbs of one command, such as `list` of `callsheet video`."""

    def __init__(self, command: ArgumentParser) -> None:
        self._verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)

    def add(self, name: str, words: str, *, asks: bool = False) -> ArgumentParser:
        """Return the parser of a new verb; one that `asks` has an answer given beforehand."""
        made = self._verbs.add_parser(
            name, help=words, description=f"{words[0].upper()}{words[1:]}."
        )
        # Suppressed defaults: `callsheet video --json list` must not be unsaid by `list`.
        made.add_argument(
            "--json", action="store_true", default=SUPPRESS, help="one JSON document on stdout"
        )
        made.add_argument(
            "--profile", metavar="NAME", default=SUPPRESS, help="settings from a TOML profile"
        )
        made.add_argument("-v", "--verbose", action="store_true", default=SUPPRESS, help="say more")
        if asks:
            made.add_argument("--yes", action="store_true", help="go ahead without being asked")
        return made


def takes_members(parser: ArgumentParser) -> None:
    """Let any member be added to the body that is sent, or replaced in it."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="add or replace a member of the body: JSON, or text where it is none",
    )
    parser.add_argument(
        "--unset", action="append", default=[], metavar="NAME", help="leave a member out of it"
    )


def takes_output(parser: ArgumentParser, *, otherwise: str) -> None:
    """Let a person say where a file goes."""
    parser.add_argument("-o", "--output", metavar="FILE", help=f"where it is written; {otherwise}")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")


def takes_wait(parser: ArgumentParser) -> None:
    """Let a person wait for a film."""
    parser.add_argument("--wait", action="store_true", help="wait until the film is there")
    parser.add_argument(
        "--max-wait", metavar="2h", help="wait so long at most; default CALLSHEET_DEADLINE"
    )
