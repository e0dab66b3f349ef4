"""`callsheet video`: every operation on videos, directly."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from deployments.direct import changes, clips, create, files, looks, remakes
from deployments.direct.session import Verb, carry_out

VERBS: Mapping[str, Verb] = {
    "create": create.create,
    "estimate": create.estimate,
    "list": looks.list_videos,
    "show": looks.show,
    "renders": looks.renders,
    "templates": looks.templates,
    "tools": looks.tools,
    "download": files.download,
    "captions": files.captions,
    "edit": changes.edit,
    "delete": changes.delete,
    "cancel": changes.cancel,
    "share": changes.share,
    "report": changes.report,
    "generate": remakes.generate,
    "render": remakes.render,
    "scene": remakes.scene,
    "voice": remakes.voice,
    "animate": clips.animate,
    "avatar": clips.avatar,
    "swap": clips.swap,
}
#: These spend credits: they ask first, and are known to the ledger.
PAYING = frozenset({"create", "generate", "render", "scene", "voice", "animate", "avatar", "swap"})


def main(args: Namespace) -> int:
    """Carry out one verb."""
    return carry_out(args, VERBS[args.verb], pays=args.verb in PAYING)
