"""Every operation of the service as literals: its line in the table, and one call of each."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from callsheet.tasks.service import VideoService
from callsheet.tasks.service import operations as ops
from callsheet.tasks.service.operations import Money

READ, KEYED, GENTLE, ONCE = Money.READ, Money.KEYED, Money.GENTLE, Money.ONCE

#: The specification's tables (section 4), and what sending each twice would cost.
TABLE = {
    "list": ("GET", "/videos", "read", READ),
    "create": ("POST", "/videos", "write", KEYED),
    "estimate": ("POST", "/videos/estimate", "read", READ),
    "get": ("GET", "/videos/{id}", "read", READ),
    "edit": ("PATCH", "/videos/{id}", "write", GENTLE),
    "delete": ("DELETE", "/videos/{id}", "write", GENTLE),
    "generate": ("POST", "/videos/{id}/generate", "write", ONCE),
    "cancel": ("POST", "/videos/{id}/cancel", "write", GENTLE),
    "download": ("GET", "/videos/{id}/download", "read", READ),
    "renders": ("GET", "/videos/{id}/renders", "read", READ),
    "render": ("POST", "/videos/{id}/renders", "write", ONCE),
    "render progress": ("GET", "/videos/{id}/renders/progress", "read", READ),
    "scene": ("POST", "/videos/{id}/scenes/{n}/regenerate", "write", ONCE),
    "voice progress": ("GET", "/videos/{id}/voice", "read", READ),
    "voice": ("POST", "/videos/{id}/voice", "write", ONCE),
    "captions": ("GET", "/videos/{id}/captions", "read", READ),
    "share": ("POST", "/videos/{id}/share-link", "write", GENTLE),
    "report": ("POST", "/videos/{id}/report", "write", GENTLE),
    "image-to-video": ("POST", "/videos/image-to-video", "ai", ONCE),
    "talking-avatar": ("POST", "/videos/talking-avatar", "ai", ONCE),
    "character-swap": ("POST", "/videos/character-swap", "ai", ONCE),
    "templates": ("GET", "/templates", "read", READ),
    "list webhooks": ("GET", "/webhooks", "read", READ),
    "create webhook": ("POST", "/webhooks", "write", ONCE),
    "get webhook": ("GET", "/webhooks/{id}", "read", READ),
    "edit webhook": ("PATCH", "/webhooks/{id}", "write", GENTLE),
    "delete webhook": ("DELETE", "/webhooks/{id}", "write", GENTLE),
    "test webhook": ("POST", "/webhooks/{id}/test", "write", GENTLE),
    "deliveries": ("GET", "/webhooks/{id}/deliveries", "read", READ),
    # Named there without a line of their own.
    "tools": ("GET", "/tools", "read", READ),
    "characters": ("GET", "/characters", "read", READ),
    "credits": ("GET", "/credits", "read", READ),
    "me": ("GET", "/me", "read", READ),
}


@dataclass(frozen=True)
class Asked:
    """One call of the client, and the request it must become; `answer` is a success."""

    call: Callable[[VideoService], Awaitable[Any]]
    target: str
    body: Any = None
    answer: Any = None
    status: int = 200


async def listed(service: VideoService) -> list[Any]:
    return [video async for video in service.list_videos()]


KEYED_BODY = b'{"idempotency_key":"cs1_k","topic":"x"}'
VIDEO = {"id": "vid_1", "status": "generating", "poll_after_seconds": 5}
HOOK = {"id": "wh_1", "url": "https://r.test/h", "events": ["video.ready"], "is_active": True}
ASKED = {
    "list": Asked(listed, "/videos", answer=[]),
    "create": Asked(
        lambda s: s.create(KEYED_BODY, key="cs1_k"),
        "/videos",
        json.loads(KEYED_BODY),
        VIDEO,
        202,
    ),
    "estimate": Asked(
        lambda s: s.estimate({"topic": "x"}), "/videos/estimate", {"topic": "x"}, {"credits": 3}
    ),
    "get": Asked(lambda s: s.get("vid_1"), "/videos/vid_1", answer=VIDEO),
    "edit": Asked(
        lambda s: s.ask(ops.EDIT, "vid_1", {"title": "é"}), "/videos/vid_1", {"title": "é"}, VIDEO
    ),
    "delete": Asked(lambda s: s.ask(ops.DELETE, "vid_1"), "/videos/vid_1"),
    "generate": Asked(
        lambda s: s.ask(ops.GENERATE, "vid_1"), "/videos/vid_1/generate", None, VIDEO, 202
    ),
    "cancel": Asked(lambda s: s.cancel("vid_1"), "/videos/vid_1/cancel", None, VIDEO),
    "download": Asked(
        lambda s: s.download("vid_1"), "/videos/vid_1/download", answer={"url": "https://f.test/1"}
    ),
    "renders": Asked(lambda s: s.renders("vid_1"), "/videos/vid_1/renders", answer=[{"n": 1}]),
    "render": Asked(
        lambda s: s.ask(ops.RENDER, "vid_1", {"resolution": 2}),
        "/videos/vid_1/renders",
        {"resolution": 2},
        VIDEO,
        202,
    ),
    "render progress": Asked(
        lambda s: s.ask(ops.RENDER_PROGRESS, "vid_1"),
        "/videos/vid_1/renders/progress",
        answer={"p": 5},
    ),
    "scene": Asked(
        lambda s: s.ask(ops.SCENE, "vid_1", {"narration": "Now."}, scene=2),
        "/videos/vid_1/scenes/2/regenerate",
        {"narration": "Now."},
        VIDEO,
        202,
    ),
    "voice progress": Asked(
        lambda s: s.ask(ops.VOICE_PROGRESS, "vid_1"), "/videos/vid_1/voice", answer={"p": 5}
    ),
    "voice": Asked(
        lambda s: s.ask(ops.VOICE, "vid_1", {"voice_id": "v2"}),
        "/videos/vid_1/voice",
        {"voice_id": "v2"},
        VIDEO,
        202,
    ),
    "captions": Asked(
        lambda s: s.captions("vid_1", "vtt"), "/videos/vid_1/captions?format=vtt", answer="WEBVTT"
    ),
    "share": Asked(
        lambda s: s.ask(ops.SHARE, "vid_1", {"days": 3}),
        "/videos/vid_1/share-link",
        {"days": 3},
        {"url": "https://f.test/s"},
    ),
    "report": Asked(
        lambda s: s.ask(ops.REPORT, "vid_1", {"reason": "odd"}),
        "/videos/vid_1/report",
        {"reason": "odd"},
    ),
    **{
        name: Asked(
            lambda s, name=name: s.make(name, b'{"made":"of this"}', key=None),
            f"/videos/{name}",
            {"made": "of this"},
            VIDEO,
            202,
        )
        for name in ("image-to-video", "talking-avatar", "character-swap")
    },
    "templates": Asked(lambda s: s.templates(), "/templates", answer=[{"id": 1}]),
    "list webhooks": Asked(lambda s: s.ask(ops.LIST_WEBHOOKS), "/webhooks", answer=[HOOK]),
    "create webhook": Asked(
        lambda s: s.ask(
            ops.CREATE_WEBHOOK,
            body={"url": "https://r.test/h", "events": ["video.ready"], "name": "n"},
        ),
        "/webhooks",
        {"url": "https://r.test/h", "events": ["video.ready"], "name": "n"},
        HOOK,
        201,
    ),
    "get webhook": Asked(lambda s: s.ask(ops.GET_WEBHOOK, "wh_1"), "/webhooks/wh_1", answer=HOOK),
    "edit webhook": Asked(
        lambda s: s.ask(ops.EDIT_WEBHOOK, "wh_1", {"is_active": True}),
        "/webhooks/wh_1",
        {"is_active": True},
        HOOK,
    ),
    "delete webhook": Asked(lambda s: s.ask(ops.DELETE_WEBHOOK, "wh_1"), "/webhooks/wh_1"),
    "test webhook": Asked(lambda s: s.ask(ops.TEST_WEBHOOK, "wh_1"), "/webhooks/wh_1/test"),
    "deliveries": Asked(
        lambda s: s.ask(ops.DELIVERIES, "wh_1"), "/webhooks/wh_1/deliveries", answer=[]
    ),
    "tools": Asked(lambda s: s.tools(), "/tools", answer={"tools": []}),
    "characters": Asked(lambda s: s.characters(), "/characters", answer={"characters": []}),
    "credits": Asked(lambda s: s.credits(), "/credits", answer={"available": 7}),
    "me": Asked(lambda s: s.ask(ops.ME), "/me", answer={"organisation": "o"}),
}
