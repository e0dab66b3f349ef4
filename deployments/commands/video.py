"""`callsheet video` and `webhooks`: every operation of the service, directly."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from callsheet.deployments.direct import create, paid_verbs, video_verbs, webhook_verbs
from callsheet.deployments.direct.session import Verb, carry_out

# `callsheet video`: every operation on videos, directly.


VERBS: Mapping[str, Verb] = {
    "create": create.create,
    "estimate": create.estimate,
    "list": video_verbs.list_videos,
    "show": video_verbs.show,
    "renders": video_verbs.renders,
    "templates": video_verbs.templates,
    "tools": video_verbs.tools,
    "download": video_verbs.download,
    "captions": video_verbs.captions,
    "edit": video_verbs.edit,
    "delete": video_verbs.delete,
    "cancel": video_verbs.cancel,
    "share": video_verbs.share,
    "report": video_verbs.report,
    "generate": paid_verbs.generate,
    "render": paid_verbs.render,
    "scene": paid_verbs.scene,
    "voice": paid_verbs.voice,
    "animate": paid_verbs.animate,
    "avatar": paid_verbs.avatar,
    "swap": paid_verbs.swap,
}
#: These spend credits: they ask first, and are known to the ledger.
PAYING = frozenset({"create", "generate", "render", "scene", "voice", "animate", "avatar", "swap"})


def main(args: Namespace) -> int:
    """Carry out one verb."""
    return carry_out(args, VERBS[args.verb], pays=args.verb in PAYING)


# `callsheet webhooks`: every operation on webhook subscriptions, directly.


WEBHOOK_VERBS: Mapping[str, Verb] = {
    "ensure": webhook_verbs.ensure,
    "rotate": webhook_verbs.rotate,
    "status": webhook_verbs.status,
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


def webhooks(args: Namespace) -> int:
    """Carry out one verb."""
    return carry_out(args, WEBHOOK_VERBS[args.verb], pays=args.verb in WITH_LEDGER)
