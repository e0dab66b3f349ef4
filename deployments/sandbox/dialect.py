"""Owns the other ways of answering that the specification leaves open: other names, other shapes.

`bare` answers without the envelope. `renamed` answers as another team might have built it: the
members and states that the specification names stay, and all it does not show is called
otherwise. Refusals, files and texts are the same in every dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Receive, Scope, Send

from callsheet.deployments.sandbox.faults.struck import Answer, held_back
from callsheet.deployments.sandbox.operations import Operations
from callsheet.deployments.sandbox.options import Answers

JsonObject = dict[str, Any]
Renaming = Callable[[JsonObject, str], JsonObject]

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
    data = _restated(said["data"])
    rename = RENAMED.get(operation) or _by_shape(data)
    if rename is not None:
        data = rename(data, _address(scope))
    elif isinstance(data, dict):
        data = {**data, "object": operation}
    meta = {**said["meta"], "api_version": VERSION, "warnings": []}
    return {"data": data, "meta": meta, "links": {"self": _address(scope)}}


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


def _address(scope: Scope) -> str:
    host = dict(scope["headers"]).get(b"host", b"localhost").decode("latin-1")
    return f"http://{host}{scope['path']}"


def _by_shape(data: Any) -> Renaming | None:
    """Know a created video by its members, whatever made it, and a list by having no others."""
    if not isinstance(data, dict):
        return None
    if set(data) == {"id", "status", "poll_after_seconds"}:
        return _created
    return _items if [type(value) for value in data.values()] == [list] else None


def _created(data: JsonObject, address: str) -> JsonObject:
    called = {"video_id": data.pop("id"), **data}
    return {**called, "object": "video.created", "watch": f"{address}/{called['video_id']}"}


def _video(data: JsonObject, _: str) -> JsonObject:
    called = {
        "credits_used": data.pop("credits_charged", None),
        "credits_held": data.pop("credits_reserved", None),
        "percent": data.pop("progress", None),
        "error_detail": data.pop("failure_reason", None),
    }
    return {
        "video": {**data, **called, "object": "video", "labels": []},
        "viewer": {"can_edit": True},
    }


def _quote(data: JsonObject, _: str) -> JsonObject:
    total = {"credits": data["credits"], "unit": "credit"}
    return {"quote": {"total": total, "lines": data.get("breakdown")}, "valid_for_seconds": 900}


def _download(data: JsonObject, address: str) -> JsonObject:
    return {
        "download_url": data["url"],
        "valid_until": data.get("expires_at"),
        "poster": {"href": f"{address}/poster.jpg", "mime_type": "image/jpeg"},
        "mime_type": "video/mp4",
    }


def _share(data: JsonObject, _: str) -> JsonObject:
    return {"share_url": data["url"], "valid_until": data.get("expires_at"), "views": 0}


def _webhook(data: JsonObject, _: str) -> JsonObject:
    return {"webhook": {**data, "object": "webhook", "api_version": VERSION}}


def _items(data: JsonObject, _: str) -> JsonObject:
    [items] = data.values()
    return {"items": items, "count": len(items)}


def _tools(data: JsonObject, _: str) -> JsonObject:
    items = [
        {
            "slug": tool["id"],
            "label": tool["name"],
            "summary": tool["description"],
            "input_schema": {
                "type": "object",
                "properties": {
                    one["name"]: {"title": one["description"]} for one in tool["fields"]
                },
                "required": [one["name"] for one in tool["fields"] if one["required"]],
            },
        }
        for tool in data["tools"]
    ]
    return {"items": items, "count": len(items)}


def _list(data: JsonObject, address: str) -> JsonObject:
    cursor = data["next_cursor"]
    following = f"{address}?{urlencode({'cursor': cursor})}" if cursor else None
    items = [_video(video, address)["video"] for video in data["videos"]]
    return {"items": items, "next": following, "count": len(items)}


def _done(_: JsonObject, __: str) -> JsonObject:
    return {"ok": True}


RENAMED: Mapping[str, Renaming] = {
    "get": _video,
    "patch": _video,
    "estimate": _quote,
    "download": _download,
    "list": _list,
    "tools": _tools,
    "share": _share,
    "webhooks_create": _webhook,
    "webhooks_get": _webhook,
    "webhooks_patch": _webhook,
    "cancel": _done,
    "delete": _done,
}
