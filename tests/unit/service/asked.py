"""Every operation of the service as literals: its line in the table, and one call of each."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from callsheet.tasks.service import OPERATIONS, VideoService, Webhook
from callsheet.tasks.service.operations import CREATE_WEBHOOK, Money

READ, KEYED, GENTLE, ONCE = Money.READ, Money.KEYED, Money.GENTLE, Money.ONCE
CLIP = b'{"made":"of this"}'
KEYED_BODY = b'{"idempotency_key":"cs1_k","topic":"x"}'
VIDEO = {"id": "vid_1", "status": "generating", "poll_after_seconds": 5}
HOOK = {"id": "wh_1", "url": "https://r.test/h", "events": ["video.ready"], "is_active": True}


@dataclass(frozen=True)
class Asked:
    """One operation, a body to send and a success to answer it with."""

    method: str
    path: str
    scope: str
    money: Money
    answer: Any = None
    status: int = 200
    body: Any = None
    query: str = ""

    @property
    def ids(self) -> list[str]:
        if "{id}" not in self.path:
            return []
        return ["wh_1" if self.path.startswith("/webhooks") else "vid_1"]

    @property
    def target(self) -> str:
        path = self.path.replace("{n}", "2") + self.query
        return path.replace("{id}", *self.ids) if self.ids else path

    async def call(self, service: VideoService) -> Any:
        """Send it by the client's own method, or as any operation is sent."""
        (operation,) = [one for one in OPERATIONS if ASKED.get(one.name) is self]
        if operation.name in METHODS:
            return await METHODS[operation.name](service)
        scene = 2 if "{n}" in self.path else None
        return await service.ask(operation, *self.ids, body=self.body, scene=scene)


async def listed(service: VideoService) -> list[Any]:
    return [video async for video in service.list_videos()]


#: The operations that the client has a method for.
METHODS: dict[str, Callable[[VideoService], Awaitable[Any]]] = {
    "list": listed,
    "create": lambda s: s.create(KEYED_BODY, key="cs1_k"),
    "estimate": lambda s: s.estimate({"topic": "x"}),
    "captions": lambda s: s.captions("vid_1", "vtt"),
    "get": lambda s: s.get("vid_1"),
    "download": lambda s: s.download("vid_1"),
    "cancel": lambda s: s.cancel("vid_1"),
    "renders": lambda s: s.renders("vid_1"),
    "image-to-video": lambda s: s.make("image-to-video", CLIP, key=None),
    "talking-avatar": lambda s: s.make("talking-avatar", CLIP, key=None),
    "character-swap": lambda s: s.make("character-swap", CLIP, key=None),
    "templates": lambda s: s.templates(),
    "tools": lambda s: s.tools(),
    "characters": lambda s: s.characters(),
    "credits": lambda s: s.credits(),
}

# fmt: off
#: The specification's tables (section 4), and what sending each twice would cost.
ASKED = {
    "list": Asked("GET", "/videos", "read", READ, []),
    "create": Asked("POST", "/videos", "write", KEYED, VIDEO, 202, json.loads(KEYED_BODY)),
    "estimate": Asked("POST", "/videos/estimate", "read", READ, {"credits": 3}, 200,
                      {"topic": "x"}),
    "get": Asked("GET", "/videos/{id}", "read", READ, VIDEO),
    "edit": Asked("PATCH", "/videos/{id}", "write", GENTLE, VIDEO, 200, {"title": "é"}),
    "delete": Asked("DELETE", "/videos/{id}", "write", GENTLE),
    "generate": Asked("POST", "/videos/{id}/generate", "write", ONCE, VIDEO, 202),
    "cancel": Asked("POST", "/videos/{id}/cancel", "write", GENTLE, VIDEO),
    "download": Asked("GET", "/videos/{id}/download", "read", READ, {"url": "https://f.test/1"}),
    "renders": Asked("GET", "/videos/{id}/renders", "read", READ, [{"n": 1}]),
    "render": Asked("POST", "/videos/{id}/renders", "write", ONCE, VIDEO, 202, {}),
    "render progress": Asked("GET", "/videos/{id}/renders/progress", "read", READ, {"p": 5}),
    "scene": Asked("POST", "/videos/{id}/scenes/{n}/regenerate", "write", ONCE, VIDEO, 202,
                   {"narration": "Now."}),
    "voice progress": Asked("GET", "/videos/{id}/voice", "read", READ, {"p": 5}),
    "voice": Asked("POST", "/videos/{id}/voice", "write", ONCE, VIDEO, 202, {"voice_id": "v2"}),
    "captions": Asked("GET", "/videos/{id}/captions", "read", READ, "WEBVTT", query="?format=vtt"),
    "share": Asked("POST", "/videos/{id}/share-link", "write", GENTLE,
                   {"url": "https://f.test/s"}, 200, {"days": 3}),
    "report": Asked("POST", "/videos/{id}/report", "write", GENTLE, None, 200, {"reason": "odd"}),
    **{
        name: Asked("POST", f"/videos/{name}", "ai", ONCE, VIDEO, 202, json.loads(CLIP))
        for name in ("image-to-video", "talking-avatar", "character-swap")
    },
    "templates": Asked("GET", "/templates", "read", READ, [{"id": 1}]),
    "list webhooks": Asked("GET", "/webhooks", "read", READ, [HOOK]),
    "create webhook": Asked("POST", "/webhooks", "write", ONCE, HOOK, 201,
                            {"url": "https://r.test/h", "events": ["video.ready"], "name": "n"}),
    "get webhook": Asked("GET", "/webhooks/{id}", "read", READ, HOOK),
    "edit webhook": Asked("PATCH", "/webhooks/{id}", "write", GENTLE, HOOK, 200,
                          {"is_active": True}),
    "delete webhook": Asked("DELETE", "/webhooks/{id}", "write", GENTLE),
    "test webhook": Asked("POST", "/webhooks/{id}/test", "write", GENTLE),
    "deliveries": Asked("GET", "/webhooks/{id}/deliveries", "read", READ, []),
    # Named there without a line of their own.
    "tools": Asked("GET", "/tools", "read", READ, {"tools": []}),
    "characters": Asked("GET", "/characters", "read", READ, {"characters": []}),
    "credits": Asked("GET", "/credits", "read", READ, {"available": 7}),
    "me": Asked("GET", "/me", "read", READ, {"organisation": "o"}),
}
# fmt: on
TABLE = {name: (one.method, one.path, one.scope, one.money) for name, one in ASKED.items()}


async def subscribe(
    service: VideoService, url: str, events: Sequence[str] = ("video.ready",)
) -> Webhook:
    """Make a subscription, to ready videos unless told."""
    body = {"url": url, "events": list(events)}
    return await service.ask(CREATE_WEBHOOK, body=body)
