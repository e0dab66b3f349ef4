"""What the commands take that are about nights: inboxes of sheets, swept while everybody sleeps."""

from __future__ import annotations

from argparse import ArgumentParser


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
        help="of a new campaign one film, the others once it is kept",
    )
    parser.add_argument(
        "--budget", metavar="N", help="credits a campaign may cost in its whole life"
    )
    parser.add_argument(
        "--max-wait", metavar="2h", help="park what is not finished after this long"
    )
    parser.add_argument("--nights", metavar="FILE", help="nights.toml, where it is another file")
    parser.add_argument("--sandbox", action="store_true", help="films that cost nothing, to try it")
    parser.add_argument("--time-scale", metavar="X", help="with --sandbox: X times faster")
