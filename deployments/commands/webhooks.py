"""`callsheet webhooks`: every operation on webhook subscriptions, directly."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from deployments.direct import subscriptions
from deployments.direct.session import Verb, carry_out

VERBS: Mapping[str, Verb] = {
    "list": subscriptions.list_webhooks,
    "create": subscriptions.create,
    "show": subscriptions.show,
    "edit": subscriptions.edit,
    "delete": subscriptions.delete,
    "test": subscriptions.test,
    "deliveries": subscriptions.deliveries,
}


def main(args: Namespace) -> int:
    """Carry out one verb."""
    return carry_out(args, VERBS[args.verb], pays=False)
