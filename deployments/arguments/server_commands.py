"""What the commands take that stay up, board, receiver and sandbox, and `doctor`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, _SubParsersAction


def board(parser: ArgumentParser) -> None:
    """Give `callsheet board` its arguments."""
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1: this machine alone")
    parser.add_argument("--port", type=int, default=8788, help="8788; 0 takes a free one")
    parser.add_argument("--open", action="store_true", help="open it in a browser, logged in")
    parser.add_argument(
        "--sandbox", action="store_true", help="videos that cost nothing, to try it"
    )
    parser.add_argument("--url", metavar="URL", help="how browsers reach it: https://board.example")
    parser.add_argument(
        "--behind-proxy", action="store_true", help="believe X-Forwarded-Proto, -Host and -For"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    _invite(_verb(verbs, "invite", "let somebody in: prints a one-time login and a token"))
    people = _verb(verbs, "people", "who may come in")
    people.add_argument("--revoke", metavar="NAME", help="let them in no more, at once")
    _link(_verb(verbs, "link", "an address for somebody from outside: no account, one campaign"))
    links = _verb(verbs, "links", "the addresses that were made for people from outside")
    links.add_argument("--revoke", metavar="N", type=int, help="end the link of this number")


def _invite(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="what they are called in every log")
    parser.add_argument(
        "--role", required=True, choices=("viewer", "reviewer", "approver", "admin")
    )
    parser.add_argument("--allowance", metavar="N", help="credits a day that they may approve")
    parser.add_argument("--again", action="store_true", help="renew who is there already")


def _link(parser: ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="CAMPAIGN", help="whose videos it opens")
    parser.add_argument("--name", required=True, metavar="NAME", help="who it is for")
    parser.add_argument(
        "--right", action="append", default=[], choices=("see", "decide", "download"),
        help="what they may do; see unless told", dest="rights",
    )  # fmt: skip
    parser.add_argument("--lasts", default="14d", metavar="D", help="14d unless told, 90d at most")


def _verb(verbs: _SubParsersAction[ArgumentParser], name: str, words: str) -> ArgumentParser:
    """Return the parser of a verb; what was said before the verb is not unsaid by it."""
    made = verbs.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
    made.add_argument("--json", action="store_true", default=SUPPRESS, help="one JSON document")
    made.add_argument("--profile", metavar="NAME", default=SUPPRESS, help="settings of a profile")
    made.add_argument("-v", "--verbose", action="store_true", default=SUPPRESS, help="say more")
    made.add_argument("--url", metavar="URL", default=SUPPRESS, help="how browsers reach the board")
    return made


def up(parser: ArgumentParser) -> None:
    """Give `callsheet up` its arguments."""
    parser.add_argument(
        "--sandbox", action="store_true", help="videos that cost nothing, to try it"
    )
    parser.add_argument("--time-scale", metavar="X", help="with --sandbox: renders X times faster")
    parser.add_argument("--open", action="store_true", help="open the board in a browser")
    parser.add_argument(
        "--without", action="append", default=[], metavar="PART",
        choices=("prefect", "deployments", "worker", "board", "receiver"),
        help="leave one out: prefect, deployments, worker, board or receiver",
    )  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1", help="of the board: this machine alone")
    parser.add_argument("--port", type=int, metavar="N", help="of the board: 8788; 0 a free one")
    parser.add_argument("--url", metavar="URL", help="how browsers reach the board")
    parser.add_argument("--behind-proxy", action="store_true", help="as for the board")
    parser.add_argument("--prefect-port", type=int, metavar="N", help="4200; 0 takes a free one")
    parser.add_argument("--status", action="store_true", help="how each part is; 0 when all are up")
    parser.add_argument("--down", action="store_true", help="stop what is up")


def receive(parser: ArgumentParser) -> None:
    """Give `callsheet receive` its arguments: none of its own."""


def doctor(parser: ArgumentParser) -> None:
    """Give `callsheet doctor` its arguments: none of its own."""


def sandbox(parser: ArgumentParser) -> None:
    """Give `callsheet sandbox` its arguments."""
    parser.add_argument("--port", type=int, default=8791, help="8791; 0 takes a free one")
    parser.add_argument("--state", metavar="DIR", help="default .callsheet/sandbox")
    parser.add_argument("--time-scale", metavar="X", help="X times faster")
    parser.add_argument("--credits", type=int, metavar="N", help="the balance of a new sandbox")
    parser.add_argument("--rate", type=int, metavar="N", help="paid calls a minute before 429")
    parser.add_argument("--spend-limit", type=int, metavar="N", help="credits a minute before 429")
    parser.add_argument(
        "--retry-after", choices=("seconds", "date", "turns"), default="turns",
        help="how a 429 says when to come back; default both by turns",
    )  # fmt: skip
    parser.add_argument(
        "--render", choices=("real", "instant"), default="real", help="instant: one video for all"
    )
    parser.add_argument(
        "--allow-loopback-webhooks", action="store_true", help="for tests on one machine"
    )
    parser.add_argument(
        "--answers", choices=("enveloped", "bare", "renamed"), default="enveloped",
        help="the shape of its answers, where the specification is silent",
    )  # fmt: skip
    parser.add_argument("--script", metavar="FILE", help="what is to go wrong, in TOML or JSON")
    parser.add_argument(
        "--webhook-vendor", metavar="NAME", default="Service", help="X-NAME-Signature and so on"
    )
