"""`callsheet video`: every operation on videos, directly."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from callsheet.deployments.direct import create, unquoted, video_files, video_verbs
from callsheet.deployments.direct.session import Verb, carry_out

VERBS: Mapping[str, Verb] = {
    "create": create.create,
    "estimate": create.estimate,
    "list": video_verbs.list_videos,
    "show": video_verbs.show,
    "renders": video_verbs.renders,
    "templates": video_verbs.templates,
    "tools": video_verbs.tools,
    "download": video_files.download,
    "captions": video_files.captions,
    "edit": video_verbs.edit,
    "delete": video_verbs.delete,
    "cancel": video_verbs.cancel,
    "share": video_verbs.share,
    "report": video_verbs.report,
    "generate": unquoted.generate,
    "render": unquoted.render,
    "scene": unquoted.scene,
    "voice": unquoted.voice,
    "animate": unquoted.animate,
    "avatar": unquoted.avatar,
    "swap": unquoted.swap,
}
#: These spend credits: they ask first, and are known to the ledger.
PAYING = frozenset({"create", "generate", "render", "scene", "voice", "animate", "avatar", "swap"})


def main(args: Namespace) -> int:
    """Carry out one verb."""
    return carry_out(args, VERBS[args.verb], pays=args.verb in PAYING)
