"""What the commands take that stay up: the board, the receiver of webhooks, and the sandbox."""

from __future__ import annotations

from argparse import ArgumentParser


def board(parser: ArgumentParser) -> None:
    """Give `callsheet board` its arguments."""
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1: this machine alone")
    parser.add_argument("--port", type=int, default=8788, help="8788; 0 takes a free one")
    parser.add_argument("--open", action="store_true", help="open it in a browser, logged in")
    parser.add_argument("--sandbox", action="store_true", help="films that cost nothing, to try it")


def receive(parser: ArgumentParser) -> None:
    """Give `callsheet receive` its arguments: none of its own."""


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
        "--render", choices=("real", "instant"), default="real", help="instant: one film for all"
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
