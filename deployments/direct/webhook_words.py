"""The words of `callsheet webhooks`: its verbs, their arguments and options."""

from __future__ import annotations

from argparse import ArgumentParser

from deployments.direct.words import Verbs, takes_members


def add_webhook_verbs(command: ArgumentParser) -> None:
    """Give `callsheet webhooks` its verbs."""
    verbs = Verbs(command)
    verbs.add("ensure", "make or mend the one that runs learn of films by, and try it out")
    verbs.add("rotate", "replace that one by one with a new secret; no delivery is lost")
    verbs.add("status", "what is heard of it, and what needs a person")
    verbs.add("list", "the subscriptions of the organisation")
    create = verbs.add("create", "subscribe; the secret is shown once and never again")
    create.add_argument("url", metavar="URL", help="a public https address")
    create.add_argument("--name", metavar="TEXT")
    create.add_argument(
        "--secret-file", metavar="PATH", help="write the secret there instead of showing it"
    )
    _of_a_webhook(verbs, "show", "one subscription")
    edit = _of_a_webhook(verbs, "edit", "change address, events or name, or switch it on or off")
    edit.add_argument("--url", metavar="URL")
    edit.add_argument("--name", metavar="TEXT")
    switch = edit.add_mutually_exclusive_group()
    switch.add_argument("--enable", action="store_true", help="also after it was disabled")
    switch.add_argument("--disable", action="store_true")
    for parser in (create, edit):
        parser.add_argument(
            "--event", action="append", default=[], metavar="KIND", help="such as video.ready"
        )
        takes_members(parser)
    _of_a_webhook(verbs, "delete", "end a subscription", asks=True)
    _of_a_webhook(verbs, "test", "have a signed ping sent")
    _of_a_webhook(verbs, "deliveries", "the last 50 attempts at delivery")


def _of_a_webhook(verbs: Verbs, name: str, words: str, *, asks: bool = False) -> ArgumentParser:
    made = verbs.add(name, words, asks=asks)
    made.add_argument("id", metavar="ID", help="the webhook's id, wh_...")
    return made
