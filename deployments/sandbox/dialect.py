"""Owns the other ways of answering that the specification leaves open: other names, other shapes.

`bare` answers without the envelope. `renamed` answers as another team might have built it: the
members and states that the specification names stay, and all it does not show is called
otherwise. Refusals, files and texts are the same in every dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Receive, Scope, Send

from callsheet.deployments.sandbox.faults.struck import Answer, held_back
from callsheet.deployments.sandbox.operations import Operations
from callsheet.deployments.sandbox.options import Answers

JsonObject = dict[str, Any]

VERSION = "2031-04-01"

#: States that the specification does not name; `generating` and `draft` it does.
STATES = {
    "completed": "ready",
    "failed": "error",
    "cancelled": "stopped",
    "running": "processing",
    "idle": "none",
}
#: What the caller once sent comes back as it was.
AS_SENT = ("fields", "script")
ENVELOPE = {"data", "error", "meta"}


class Dialect:
    """Puts the answers of the REST API into one dialect; streams, files and texts pass."""

    def __init__(self, app: ASGIApp, answers: Answers, operations: Operations) -> None:
        self._app = app
        self._bare = answers == "bare"
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self._operations.of(scope)
        if operation is None or not scope["path"].startswith("/api/v1/"):
            await self._app(scope, receive, send)
            return
        answer = await held_back(self._app, scope, receive)
        said = _enveloped(answer)
        if said is not None:
            body = said["data"] if self._bare else _renamed(operation.name, said, scope)
            answer = answer.saying(body)
        await answer.give(send)


def _enveloped(answer: Answer) -> JsonObject | None:
    """Read a success that came in the envelope; None for anything else."""
    if not 200 <= answer.status < 300 or not answer.header("content-type").endswith("json"):
        return None
    said = answer.json()
    return said if isinstance(said, dict) and set(said) == ENVELOPE else None


def _renamed(operation: str, said: JsonObject, scope: Scope) -> JsonObject:
    host = dict(scope["headers"]).get(b"host", b"localhost").decode("latin-1")
    here, data = f"http://{host}{scope['path']}", _restated(said["data"])
    if operation in RENAMED:
        data = RENAMED[operation](data, here)
    elif set(data) == {"id", "status", "poll_after_seconds"}:
        # A created video, whatever made it.
        called = {"video_id": data.pop("id"), **data}
        data = {**called, "object": "video.created", "watch": f"{here}/{called['video_id']}"}
    elif [type(value) for value in data.values()] == [list]:
        [items] = data.values()
        data = {"items": items, "count": len(items)}
    else:
        data = {**data, "object": operation}
    meta = {**said["meta"], "api_version": VERSION, "warnings": []}
    return {"data": data, "meta": meta, "links": {"self": here}}


def _restated(data: Any) -> Any:
    """Call every state by its other name, wherever it stands."""
    if isinstance(data, list):
        return [_restated(item) for item in data]
    if not isinstance(data, dict):
        return data
    kept = {name: value if name in AS_SENT else _restated(value) for name, value in data.items()}
    if isinstance(kept.get("status"), str):
        kept["status"] = STATES.get(kept["status"], kept["status"])
    return kept


def _video(data: JsonObject) -> JsonObject:
    called = {MEMBERS.get(name, name): value for name, value in data.items()}
    return {**called, "object": "video", "labels": []}


def _tool(tool: JsonObject) -> JsonObject:
    fields = tool["fields"]
    schema = {
        "type": "object",
        "properties": {one["name"]: {"title": one["description"]} for one in fields},
        "required": [one["name"] for one in fields if one.get("required")],
    }
    known = {"slug": tool["id"], "label": tool["name"], "summary": tool["description"]}
    return {**known, "input_schema": schema}


def _list(data: JsonObject, here: str) -> JsonObject:
    items, cursor = [_video(video) for video in data["videos"]], data["next_cursor"]
    following = f"{here}?{urlencode({'cursor': cursor})}" if cursor else None
    return {"items": items, "next": following, "count": len(items)}


MEMBERS = {
    "credits_charged": "credits_used",
    "credits_reserved": "credits_held",
    "progress": "percent",
    "failure_reason": "error_detail",
}
#: What an operation answers in place of its data; `here` is its own address.
RENAMED: dict[str, Callable[[JsonObject, str], JsonObject]] = {
    **dict.fromkeys(
        ("get", "patch"), lambda data, _: {"video": _video(data), "viewer": {"can_edit": True}}
    ),
    **dict.fromkeys(
        ("webhooks_create", "webhooks_get", "webhooks_patch"),
        lambda data, _: {"webhook": {**data, "object": "webhook", "api_version": VERSION}},
    ),
    **dict.fromkeys(("cancel", "delete"), lambda data, _: {"ok": True}),
    "estimate": lambda data, _: {
        "quote": {
            "total": {"credits": data["credits"], "unit": "credit"},
            "lines": data["breakdown"],
        },
        "valid_for_seconds": 900,
    },
    "download": lambda data, here: {
        "download_url": data["url"],
        "valid_until": data["expires_at"],
        "poster": {"href": f"{here}/poster.jpg", "mime_type": "image/jpeg"},
        "mime_type": "video/mp4",
    },
    "share": lambda data, _: {
        "share_url": data["url"],
        "valid_until": data["expires_at"],
        "views": 0,
    },
    "tools": lambda data, _: {"items": [_tool(tool) for tool in data["tools"]]},
    "list": _list,
}
