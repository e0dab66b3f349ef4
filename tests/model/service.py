"""A video service on a virtual clock, written from the specification alone, as a transport.

It keeps its own log of charges, forgets idempotency keys after its horizon, and does to an answer
whatever was planned. It raises `Violation` for what no client may do to it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import httpx

from tests.model.made import Made, price_of
from tests.model.virtual_time import Fuse, VirtualTime

#: For how long a key yields the same video, in seconds.
HORIZON = 86_400.0
CLIPS = ("image-to-video", "talking-avatar", "character-swap")
#: What can happen to one request.
TROUBLES = (
    "unreachable", "lost before", "lost after", "500 before", "500 after", "cut", "shapeless",
    "401", "402", "403", "409", "429", "429 long", "503",
)  # fmt: skip


class Violation(AssertionError):
    """A rule that is never broken was broken."""


@dataclass
class SimulatedService(httpx.AsyncBaseTransport):
    """The service. `paid` is asked before every paid call which take it is sent for."""

    time: VirtualTime
    fuse: Fuse
    paid: Callable[[str, bytes], int | None]
    shows_keys: bool = True
    clip_keys: bool = False
    videos: dict[str, Made] = field(default_factory=dict)
    troubles: dict[str, deque[str]] = field(default_factory=dict)
    fates: deque[tuple[str, float]] = field(default_factory=deque)
    closed_until: float = 0.0
    #: key -> when it was first seen, the bytes it came with, the video.
    keys: dict[str, tuple[float, bytes, str]] = field(default_factory=dict)
    #: take -> how calls without a key ended that were sent for it: "refused" or "unknown".
    once: dict[int, list[str]] = field(default_factory=dict)
    requests: int = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request, or end it as planned."""
        path = request.url.path.removeprefix("/api/v1/videos").strip("/")
        operation = _operation(request.method, path)
        planned = self.troubles.get(operation)
        trouble = planned.popleft() if planned else None
        self.fuse.burn("before request")
        if trouble == "unreachable":
            raise httpx.ConnectError("nobody there")
        self.requests += 1
        if self.time.now < self.closed_until - 0.001:
            raise Violation(f"{operation} was sent {self.closed_until - self.time.now:.3f} s early")
        response = self._answer(operation, path, request, trouble)
        self.fuse.burn("after request")
        if trouble in ("lost before", "lost after"):
            raise httpx.ReadError("the connection is gone")
        return response

    def foreign(self, body: dict[str, Any], fate: str, seconds: float) -> None:
        """Have somebody else of the organisation make a video."""
        self._make(body, None, None, (fate, seconds))

    def _answer(
        self, operation: str, path: str, request: httpx.Request, trouble: str | None
    ) -> httpx.Response:
        if operation == "create" or operation in CLIPS:
            return self._paid(operation, request.content, trouble)
        if trouble is not None and (refusal := self._refusal(trouble)) is not None:
            return refusal
        if operation == "cancel" and trouble not in ("lost before", "500 before", "503"):
            cancelled = self._cancel(path.removesuffix("/cancel"))
            return _error(500) if trouble == "500 after" else cancelled
        if trouble in ("500 before", "500 after", "503"):
            return _error(500)
        match operation:
            case "estimate":
                return _data({"credits": price_of(json.loads(request.content))})
            case "list":
                return self._list(parse_qs(request.url.query.decode()))
            case "get":
                return self._get(path)
            case "cancel":
                return _error(500)
            case _:
                return self._download(path.removesuffix("/download"))

    def _paid(self, operation: str, body: bytes, trouble: str | None) -> httpx.Response:
        take = self.paid(operation, body)
        asked = json.loads(body)
        keyed = "idempotency_key" in asked
        if not keyed and take is not None:
            if "unknown" in self.once.get(take, []):
                raise Violation(f"a call without a key was sent again for take {take}")
            self.once.setdefault(take, []).append("unknown")
        refusal = None if trouble is None else self._refusal(trouble)
        if refusal is None and "bad" in str(asked.get("topic")):
            refusal = _error(400)
        if refusal is not None:
            if not keyed and take is not None:
                self.once[take][-1] = "refused"
            return refusal
        if trouble in ("lost before", "500 before", "503"):
            return _error(500)
        answer = self._keyed(asked, body, take) if keyed else self._new(asked, take)
        if trouble == "500 after":
            return _error(500)
        if trouble == "cut":
            return httpx.Response(202, content=b'{"data": {"id": "vi')
        return _data({} if trouble == "shapeless" else answer, status=202)

    def _keyed(self, asked: dict[str, Any], body: bytes, take: int | None) -> dict[str, Any]:
        key = asked["idempotency_key"]
        at, before, video_id = self.keys.get(key, (0.0, b"", ""))
        if before and before != body:
            raise Violation(f"other bytes were sent under the key {key}")
        if before and self.time.now - at < HORIZON:
            return {"id": video_id, "status": "generating", "poll_after_seconds": 5}
        if before:
            raise Violation(f"key {key} was sent again after the service forgot it: paid twice")
        answer = self._new(asked, take)
        self.keys[key] = (self.time.now, body, answer["id"])
        return answer

    def _new(self, asked: dict[str, Any], take: int | None) -> dict[str, Any]:
        planned = self.fates.popleft() if self.fates else ("ready", 60.0)
        made = self._make(asked, take, asked.get("idempotency_key"), planned)
        return {"id": made.id, "status": "generating", "poll_after_seconds": 5}

    def _make(
        self, asked: dict[str, Any], take: int | None, key: str | None, fate: tuple[str, float]
    ) -> Made:
        ours = ("idempotency_key", "start_generation")
        body = {name: value for name, value in asked.items() if name not in ours}
        video_id = f"vid_{len(self.videos) + 1}"
        ends = self.time.now + fate[1]
        price = price_of(body)
        made = Made(video_id, body, price, self.time.now, ends, fate[0], take, key)
        self.videos[video_id] = made
        return made

    def _refusal(self, trouble: str) -> httpx.Response | None:
        if trouble in ("429", "429 long"):
            seconds = 30 if trouble == "429" else 4000
            self.closed_until = max(self.closed_until, self.time.now + seconds)
            return _error(429, {"retry-after": str(seconds)})
        return _error(int(trouble)) if trouble in ("401", "402", "403", "409") else None

    def _list(self, query: dict[str, list[str]]) -> httpx.Response:
        """Two videos a page, the newest first."""
        there = [made for made in reversed(self.videos.values()) if not made.deleted]
        start = int(query.get("cursor", ["0"])[0])
        shown = [self._record(made) for made in there[start : start + 2]]
        more = {"next_cursor": str(start + 2)} if start + 2 < len(there) else {}
        return _data({"videos": shown, **more})

    def _record(self, made: Made) -> dict[str, Any]:
        key = {"idempotency_key": made.key} if made.key and self.shows_keys else {}
        return {**made.body, **key, "id": made.id, "status": made.status(self.time.now)}

    def _get(self, video_id: str) -> httpx.Response:
        made = self.videos.get(video_id)
        if made is None or made.deleted:
            return _error(404)
        return _data({**self._record(made), "credits_charged": made.costs(self.time.now)})

    def _cancel(self, video_id: str) -> httpx.Response:
        made = self.videos.get(video_id)
        if made is None or made.deleted:
            return _error(404)
        if made.cancelled or made.is_over(self.time.now):
            return _error(409)
        made.cancelled = True
        return self._get(video_id)

    def _download(self, video_id: str) -> httpx.Response:
        made = self.videos.get(video_id)
        if made is None or made.deleted:
            return _error(404)
        if not made.has_video(self.time.now):
            return _error(409)
        return _data({"url": f"https://videos.test/{video_id}?signature=s"})


def _operation(method: str, path: str) -> str:
    if method == "GET":
        return "list" if not path else "download" if path.endswith("/download") else "get"
    return "cancel" if path.endswith("/cancel") else path or "create"


def _data(data: Any, *, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json={"data": data, "error": None, "meta": {}})


def _error(status: int, headers: dict[str, str] | None = None) -> httpx.Response:
    error = {"message": f"no ({status})", "code": f"e{status}", "retryable": status >= 500}
    return httpx.Response(status, json={"data": None, "error": error}, headers=headers)
