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
        "--approve-up-to", metavar="N", help="credits that may be approved in a night unasked"
    )
    spending.add_argument(
        "--plan-only", action="store_true", help="spend nothing that nobody has approved"
    )
    parser.add_argument("--per-sheet", metavar="N", help="the most of these for one sheet")
    parser.add_argument(
        "--canary",
        action="store_true",
        help="of a new campaign one video, the others once it is kept",
    )
    parser.add_argument(
        "--budget", metavar="N", help="credits a campaign may cost in its whole life"
    )
    parser.add_argument(
        "--max-wait", metavar="2h", help="park what is not finished after this long"
    )
    parser.add_argument("--nights", metavar="FILE", help="nights.toml, where it is another file")
    parser.add_argument(
        "--without-prefect", action="store_true", help="as always: a sweep brings no Prefect along"
    )
    parser.add_argument(
        "--sandbox", action="store_true", help="videos that cost nothing, to try it"
    )
    parser.add_argument("--time-scale", metavar="X", help="with --sandbox: X times faster")


def nights(parser: ArgumentParser) -> None:
    """Give `callsheet nights` its arguments."""
    _take_file(parser)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _verb(verbs, "list", "the inboxes: when their next night is, and how the last one was")
    pause = _verb(verbs, "pause", "sweep nothing for a while, or until it is resumed")
    pause.add_argument(
        "words", nargs="*", metavar="WORD",
        help="until 2027-01-03 (or 3d); and inboxes, all of them unless named",
    )  # fmt: skip
    _take_inboxes(_verb(verbs, "resume", "sweep again"))
    install = _verb(verbs, "install", "have Prefect start the nights, or say how cron does")
    _take_inboxes(install)
    install.add_argument("--cron", metavar="CRON", help='when: "0 2 * * *"; kept in nights.toml')
    install.add_argument("--timezone", metavar="ZONE", help="whose clock: Europe/Berlin")
    install.add_argument("--pool", metavar="NAME", default="callsheet", help="callsheet: work pool")
    install.add_argument(
        "--without-prefect", action="store_true", help="lines for cron, systemd and Windows"
    )
    _take_inboxes(_verb(verbs, "test", "send a sample to the addresses of an inbox"))
    _take_inboxes(_verb(verbs, "digest", "send the digest that is due; twice is once"))


def _take_file(parser: ArgumentParser) -> None:
    parser.add_argument("--nights", metavar="FILE", help="the inboxes; nights.toml unless given")


def _take_inboxes(parser: ArgumentParser) -> None:
    parser.add_argument(
        "inboxes", nargs="*", metavar="INBOX", help="names in nights.toml; all unless given"
    )


def _verb(verbs: _SubParsersAction[ArgumentParser], name: str, words: str) -> ArgumentParser:
    """Return the parser of a verb; what was said before the verb is not unsaid by it."""
    made = verbs.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
    made.add_argument("--nights", metavar="FILE", default=SUPPRESS, help="the inboxes")
    made.add_argument("--json", action="store_true", default=SUPPRESS, help="one JSON document")
    made.add_argument("--profile", metavar="NAME", default=SUPPRESS, help="settings of a profile")
    made.add_argument("-v", "--verbose", action="store_true", default=SUPPRESS, help="say more")
    return made
