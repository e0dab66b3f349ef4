"""What the commands take that get a key of the service, drop it, or say which it is."""

from __future__ import annotations

from argparse import ArgumentParser


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
