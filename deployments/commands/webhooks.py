"""`callsheet webhooks`: every operation on webhook subscriptions, directly."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from callsheet.deployments.direct import subscription_verbs, webhook_verbs
from callsheet.deployments.direct.session import Verb, carry_out

VERBS: Mapping[str, Verb] = {
    "ensure": subscription_verbs.ensure,
    "rotate": subscription_verbs.rotate,
    "status": subscription_verbs.status,
    "list": webhook_verbs.list_webhooks,
    "create": webhook_verbs.create,
    "show": webhook_verbs.show,
    "edit": webhook_verbs.edit,
    "delete": webhook_verbs.delete,
    "test": webhook_verbs.test,
    "deliveries": webhook_verbs.deliveries,
}


#: These write into the ledger, or read what runs and receivers wrote: it is made if missing.
WITH_LEDGER = ("ensure", "rotate", "status")


def main(args: Namespace) -> int:
    """Carry out one verb."""
    return carry_out(args, VERBS[args.verb], pays=args.verb in WITH_LEDGER)
