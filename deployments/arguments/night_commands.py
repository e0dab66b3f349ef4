"""What the commands take that are about nights: inboxes of sheets, swept while everybody sleeps."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, _SubParsersAction


def nightly(parser: ArgumentParser) -> None:
    """Give `callsheet nightly` its arguments."""
    parser.add_argument(
        "inbox", metavar="INBOX", help="a folder, s3://bucket/prefix, a name in nights.toml, or "
        "nights.toml itself: all of its inboxes",
    )  # fmt: skip
    spending = parser.add_mutually_exclusive_group()
    spending.add_argument(
        "--approve-up-to", metavar="N", help="approve automatically, up to N credits a night"
    )
    spending.add_argument(
        "--plan-only", action="store_true", help="only make plans; a person approves them"
    )
    parser.add_argument("--per-sheet", metavar="N", help="approve at most N credits for one sheet")
    parser.add_argument(
        "--canary",
        action="store_true",
        help="make one video of a new campaign first; the others once it is kept",
    )
    parser.add_argument(
        "--budget", metavar="N", help="most credits each campaign may cost, over every run"
    )
    parser.add_argument(
        "--max-wait", metavar="2h", help="stop waiting after this long; the next run continues"
    )
    parser.add_argument(
        "--nights", metavar="FILE", help="path of nights.toml (default: in this folder)"
    )
    parser.add_argument(
        "--without-prefect",
        action="store_true",
        help="run without Prefect (nightly never needs it)",
    )
    parser.add_argument(
        "--sandbox", action="store_true", help="use the local sandbox; nothing is charged"
    )
    parser.add_argument("--time-scale", metavar="X", help="with --sandbox: render X times faster")


def nights(parser: ArgumentParser) -> None:
    """Give `callsheet nights` its arguments."""
    _take_file(parser)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _verb(verbs, "list", "list inboxes with their next and last nightly run")
    pause = _verb(verbs, "pause", "pause nightly runs until a date, or until you resume them")
    pause.add_argument(
        "words", nargs="*", metavar="WORD",
        help="`until 2027-01-03` or `3d`, then names of inboxes (default: all)",
    )  # fmt: skip
    _take_inboxes(_verb(verbs, "resume", "resume nightly runs"))
    install = _verb(verbs, "install", "schedule nightly runs with Prefect, or print lines for cron")
    _take_inboxes(install)
    install.add_argument(
        "--cron", metavar="CRON", help='schedule, such as "0 2 * * *"; stored in nights.toml'
    )
    install.add_argument(
        "--timezone", metavar="ZONE", help="time zone of the schedule, such as America/New_York"
    )
    install.add_argument("--pool", metavar="NAME", help="Prefect work pool for them")
    install.add_argument(
        "--without-prefect",
        action="store_true",
        help="print lines for cron, systemd and Windows instead",
    )
    _take_inboxes(_verb(verbs, "test", "send a sample digest to an inbox's addresses"))
    _take_inboxes(_verb(verbs, "digest", "send the digest that is due; safe to run twice"))


def _take_file(parser: ArgumentParser) -> None:
    parser.add_argument("--nights", metavar="FILE", help="path of nights.toml")


def _take_inboxes(parser: ArgumentParser) -> None:
    parser.add_argument(
        "inboxes", nargs="*", metavar="INBOX", help="names in nights.toml (default: all)"
    )


def _verb(verbs: _SubParsersAction[ArgumentParser], name: str, words: str) -> ArgumentParser:
    """Return the parser of a verb; what was said before the verb is not unsaid by it."""
    made = verbs.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
    made.add_argument("--nights", metavar="FILE", default=SUPPRESS, help="path of nights.toml")
    made.add_argument(
        "--json", action="store_true", default=SUPPRESS, help="print one JSON document"
    )
    made.add_argument(
        "--profile", metavar="NAME", default=SUPPRESS, help="read settings from this TOML profile"
    )
    made.add_argument(
        "-v", "--verbose", action="store_true", default=SUPPRESS, help="show more detail"
    )
    return made
