"""`callsheet webhooks`: every operation on webhook subscriptions, directly."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from deployments.direct import subscribing, subscriptions
from deployments.direct.session import Verb, carry_out

VERBS: Mapping[str, Verb] = {
    "ensure": subscribing.ensure,
    "rotate": subscribing.rotate,
    "status": subscribing.status,
    "list": subscriptions.list_webhooks,
    "create": subscriptions.create,
    "show": subscriptions.show,
    "edit": subscriptions.edit,
    "delete": subscriptions.delete,
    "test": subscriptions.test,
    "deliveries": subscriptions.deliveries,
}


#: These write into the ledger, or read what runs and receivers wrote: it is made if missing.
WITH_LEDGER = ("ensure", "rotate", "status")


def main(args: Namespace) -> int:
    """Carry out one verb."""
    return carry_out(args, VERBS[args.verb], pays=args.verb in WITH_LEDGER)
