"""Arguments of the commands that serve, run at night, or handle keys."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, _SubParsersAction

from callsheet.deployments.arguments.sheet_commands import SELECT, take_waves
from callsheet.deployments.parser import add_verb


def take_socket(parser: ArgumentParser) -> None:
    """Have a server take the socket on which its parent process listens, as `callsheet up` does."""
    parser.add_argument("--fd", type=int, metavar="NUMBER", help=SUPPRESS)


def board(parser: ArgumentParser) -> None:
    """Give `callsheet board` its arguments."""
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default 127.0.0.1: this machine only)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8788,
        help="port to listen on (default 8788; 0 picks a free one)",
    )
    take_socket(parser)
    parser.add_argument(
        "--open", action="store_true", help="open the board in a browser, logged in"
    )
    parser.add_argument(
        "--sandbox", action="store_true", help="use the local sandbox; nothing is charged"
    )
    parser.add_argument(
        "--url", metavar="URL", help="address that browsers use, such as https://board.example"
    )
    parser.add_argument(
        "--behind-proxy", action="store_true", help="trust X-Forwarded-Proto, -Host and -For"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    _invite(_verb(verbs, "invite", "add a person: prints a one-time login and a token"))
    people = _verb(verbs, "people", "list people and their roles")
    people.add_argument("--revoke", metavar="NAME", help="remove this person's access at once")
    _link(_verb(verbs, "link", "make a guest link: one campaign, no account"))
    links = _verb(verbs, "links", "list guest links")
    links.add_argument("--revoke", metavar="N", type=int, help="revoke the link with this number")


def _invite(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the person, shown in every log")
    parser.add_argument(
        "--role", required=True, choices=("viewer", "reviewer", "approver", "admin")
    )
    parser.add_argument("--allowance", metavar="N", help="credits this person may approve per day")
    parser.add_argument(
        "--again",
        action="store_true",
        help="renew the login and token of an existing person, who keeps an allowance unless you "
        "give another; to lift it, revoke the person first",
    )


def _link(parser: ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="CAMPAIGN", help="campaign that the link opens")
    parser.add_argument("--name", required=True, metavar="NAME", help="name of the guest")
    parser.add_argument(
        "--right", action="append", default=[], choices=("see", "decide", "download"),
        help="what the guest may do (default see); repeatable", dest="rights",
    )  # fmt: skip
    parser.add_argument(
        "--lasts",
        default="14d",
        metavar="D",
        help="how long the link works (default 14d, at most 90d)",
    )
    parser.add_argument(
        "--all-videos", action="store_true", help="also show videos that your team has not kept"
    )
    parser.add_argument("--select", metavar="EXPR", help=f"show {SELECT}")
    parser.add_argument("--logo", metavar="FILE", help="the client's logo: PNG, JPEG or WebP")
    parser.add_argument(
        "--due", metavar="DAY", help="last day for the guest to decide, as 2026-12-24"
    )


def _verb(verbs: _SubParsersAction[ArgumentParser], name: str, words: str) -> ArgumentParser:
    made = add_verb(verbs, name, words)
    made.add_argument(
        "--url", metavar="URL", default=SUPPRESS, help="address that browsers use for the board"
    )
    return made


def allow(parser: ArgumentParser) -> None:
    """Give `callsheet allow` its arguments."""
    parser.add_argument(
        "agent", nargs="?", metavar="agent:NAME", help="the agent (default: list them all)"
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument(
        "--credits", metavar="N", help="credits that it may approve per day (UTC); 0: none"
    )
    change.add_argument("--revoke", action="store_true", help="remove this agent's access at once")
    parser.add_argument(
        "--per-day",
        action="store_true",
        help="--credits is per day (always so)",
    )
    parser.add_argument(
        "--token", action="store_true",
        help="print a new token for /mcp on the board; the old one stops working",
    )  # fmt: skip


def mcp(parser: ArgumentParser) -> None:
    """Give `callsheet mcp` its arguments."""
    parser.add_argument(
        "--agent", default="agent:local", metavar="NAME",
        help="whose allowance counts (default agent:local); see `callsheet allow`",
    )  # fmt: skip
    parser.add_argument(
        "--never-ask",
        action="store_true",
        help="never ask in the client: above the allowance, you approve on the board",
    )
    parser.add_argument(
        "--url", metavar="URL", help="address that browsers use for the board, in links to plans"
    )
    parser.add_argument(
        "--sandbox", action="store_true", help="use the local sandbox; nothing is charged"
    )


def up(parser: ArgumentParser) -> None:
    """Give `callsheet up` its arguments."""
    parser.add_argument(
        "--sandbox", action="store_true", help="use the local sandbox; nothing is charged"
    )
    parser.add_argument("--time-scale", metavar="X", help="with --sandbox: render X times faster")
    parser.add_argument("--open", action="store_true", help="open the board in a browser")
    parser.add_argument(
        "--without", action="append", default=[], metavar="PART",
        choices=("prefect", "deployments", "worker", "board", "receiver"),
        help="do not start prefect, deployments, worker, board or receiver; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address of the board (default 127.0.0.1: this machine only)",
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help="port of the board (default 8788; 0 picks a free one)"
    )
    parser.add_argument("--url", metavar="URL", help="address that browsers use for the board")
    parser.add_argument(
        "--behind-proxy", action="store_true", help="trust X-Forwarded-Proto, -Host and -For"
    )
    parser.add_argument(
        "--prefect-port",
        type=int,
        metavar="N",
        help="port of Prefect (default 4200; 0 picks a free one)",
    )
    parser.add_argument(
        "--status", action="store_true", help="show the state of each part; exit 0 if all are up"
    )
    parser.add_argument("--down", action="store_true", help="stop everything")


def receive(parser: ArgumentParser) -> None:
    """Give `callsheet receive` its arguments."""
    take_socket(parser)


def doctor(parser: ArgumentParser) -> None:
    """Give `callsheet doctor` its arguments: none of its own."""


def sandbox(parser: ArgumentParser) -> None:
    """Give `callsheet sandbox` its arguments."""
    parser.add_argument(
        "--port",
        type=int,
        default=8791,
        help="port to listen on (default 8791; 0 picks a free one)",
    )
    parser.add_argument(
        "--state", metavar="DIR", help="folder for its data (default .callsheet/sandbox)"
    )
    parser.add_argument("--time-scale", metavar="X", help="render X times faster")
    parser.add_argument("--credits", type=int, metavar="N", help="balance of a new sandbox")
    parser.add_argument(
        "--rate", type=int, metavar="N", help="paid calls per minute before it answers 429"
    )
    parser.add_argument(
        "--spend-limit", type=int, metavar="N", help="credits per minute before it answers 429"
    )
    parser.add_argument(
        "--retry-after", choices=("seconds", "date", "turns"), default="turns",
        help="form of Retry-After in a 429 (default: both, in turn)",
    )  # fmt: skip
    parser.add_argument(
        "--render",
        choices=("real", "instant"),
        default="real",
        help="instant: the same video file for every render",
    )
    parser.add_argument(
        "--allow-loopback-webhooks",
        action="store_true",
        help="send webhooks to this machine too, for tests",
    )
    parser.add_argument(
        "--answers", choices=("enveloped", "bare", "renamed"), default="enveloped",
        help="shape of its answers, where the specification is silent",
    )  # fmt: skip
    parser.add_argument("--script", metavar="FILE", help="faults to produce, in TOML or JSON")
    parser.add_argument(
        "--webhook-vendor",
        metavar="NAME",
        default="Service",
        help="name in its headers, such as X-NAME-Signature",
    )


# Arguments of `nightly` and `nights`.


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
        help="make one video of each kind of row first; the others once you keep it",
    )
    take_waves(parser)
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
    _night_verb(verbs, "list", "list inboxes with their next and last nightly run")
    pause = _night_verb(verbs, "pause", "pause nightly runs until a date, or until you resume them")
    pause.add_argument(
        "words", nargs="*", metavar="WORD",
        help="`until 2027-01-03` or `3d`, then names of inboxes (default: all)",
    )  # fmt: skip
    _take_inboxes(_night_verb(verbs, "resume", "resume nightly runs"))
    install = _night_verb(
        verbs, "install", "schedule nightly runs with Prefect, or print lines for cron"
    )
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
        help="print lines for cron instead",
    )
    _take_inboxes(_night_verb(verbs, "test", "send a sample digest to an inbox's addresses"))
    _take_inboxes(_night_verb(verbs, "digest", "send the digest that is due; safe to run twice"))


def _take_file(parser: ArgumentParser) -> None:
    parser.add_argument("--nights", metavar="FILE", help="path of nights.toml")


def _take_inboxes(parser: ArgumentParser) -> None:
    parser.add_argument(
        "inboxes", nargs="*", metavar="INBOX", help="names in nights.toml (default: all)"
    )


def _night_verb(verbs: _SubParsersAction[ArgumentParser], name: str, words: str) -> ArgumentParser:
    made = add_verb(verbs, name, words)
    made.add_argument("--nights", metavar="FILE", default=SUPPRESS, help="path of nights.toml")
    return made


# Arguments of the commands that get, drop or show a key of the service.


def login(parser: ArgumentParser) -> None:
    """Give `callsheet login` its arguments."""
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--browser", action="store_true", help="approve in a browser on this machine")
    way.add_argument("--device", action="store_true", help="enter a code in a browser anywhere")
    way.add_argument(
        "--email", metavar="ADDRESS", help="email this person a link to approve, valid for a day"
    )
    way.add_argument("--with-token", action="store_true", help="read a key from standard input")
    parser.add_argument(
        "--scopes", metavar="LIST", help="scopes to ask for (default read,write,ai)"
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--no-store", action="store_true", help="test the login, then revoke the key")
    kept.add_argument(
        "--token-file", metavar="FILE", help="write the key to FILE and store it nowhere else"
    )


def logout(parser: ArgumentParser) -> None:
    """Give `callsheet logout` its arguments."""
    parser.add_argument(
        "--revoke", action="store_true", help="also revoke a key that came from --with-token"
    )


def whoami(parser: ArgumentParser) -> None:
    """Give `callsheet whoami` its arguments: none of its own."""
