"""`callsheet video` and `webhooks`: every operation of the service, directly."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from functools import partial

from callsheet.deployments.direct import create, perform, video_verbs, webhook_verbs
from callsheet.deployments.direct.session import Verb, execute
from callsheet.tasks.service import operations as ops

#: The operations that take more than one request, or more than their entry says.
SPECIAL: Mapping[str, Verb] = {
    ops.CREATE.name: create.create,
    ops.ESTIMATE.name: create.estimate,
    ops.LIST.name: video_verbs.list_videos,
    ops.GET.name: video_verbs.show,
    ops.RENDERS.name: video_verbs.renders,
    ops.DOWNLOAD.name: video_verbs.download,
    ops.CAPTIONS.name: video_verbs.captions,
    ops.VOICE.name: perform.voice,
    ops.CREATE_WEBHOOK.name: webhook_verbs.create,
}
#: The verbs for the subscription that runs use. They write to the ledger, or read what runs and
#: receivers wrote: it is made if missing.
OWN: Mapping[str, Verb] = {
    "ensure": webhook_verbs.ensure,
    "rotate": webhook_verbs.rotate,
    "status": webhook_verbs.status,
}


def main(args: Namespace) -> int:
    """Execute one verb."""
    operation = args.operation
    if operation is None:
        return execute(args, OWN[args.verb], pays=True)
    ordinarily = partial(perform.perform, operation=operation)
    return execute(args, SPECIAL.get(operation.name, ordinarily), pays=operation.pays)


#: `callsheet webhooks` ends in the same way.
webhooks = main
