"""The operations of the service, one row each. The money class decides what may be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

Scope = Literal["read", "write", "ai"]


class Money(Enum):
    """What sending a request twice would cost."""

    READ = "R"  # nothing: it only looks
    KEYED = "K"  # nothing, as long as key and bytes are the same
    GENTLE = "G"  # nothing, but what it found may have changed: look again
    ONCE = "N"  # a second charge, or a second thing: it is sent once


@dataclass(frozen=True)
class Operation:
    """One operation: `path` is relative to the base address and never holds a real id in logs.

    `conflict` says what 409 means here, in the words of the specification; `makes` is True where
    a success means that a new video exists.
    """

    name: str
    method: str
    path: str
    scope: Scope
    money: Money
    conflict: str | None = None
    makes: bool = False

    @property
    def read_timeout(self) -> float:
        """Seconds without a byte: cutting a paid call early only makes its outcome unknown."""
        return 30.0 if self.money is Money.READ else 120.0


R, K, G, N = Money.READ, Money.KEYED, Money.GENTLE, Money.ONCE
_BUSY = "a render is already running"

# Videos (specification, section 4).
LIST = Operation("list", "GET", "/videos", "read", R)
CREATE = Operation(
    "create",
    "POST",
    "/videos",
    "write",
    K,
    conflict="the same request is still being worked on",
    makes=True,
)
ESTIMATE = Operation("estimate", "POST", "/videos/estimate", "read", R)
GET = Operation("get", "GET", "/videos/{id}", "read", R)
EDIT = Operation("edit", "PATCH", "/videos/{id}", "write", G, conflict=_BUSY)
DELETE = Operation("delete", "DELETE", "/videos/{id}", "write", G, conflict=_BUSY)
GENERATE = Operation(
    "generate", "POST", "/videos/{id}/generate", "write", N, conflict="already generating"
)
CANCEL = Operation(
    "cancel", "POST", "/videos/{id}/cancel", "write", G, conflict="no render is running"
)
DOWNLOAD = Operation(
    "download", "GET", "/videos/{id}/download", "read", R, conflict="the video is not ready yet"
)
RENDERS = Operation("renders", "GET", "/videos/{id}/renders", "read", R)
RENDER = Operation("render", "POST", "/videos/{id}/renders", "write", N, conflict=_BUSY)
RENDER_PROGRESS = Operation("render progress", "GET", "/videos/{id}/renders/progress", "read", R)
SCENE = Operation("scene", "POST", "/videos/{id}/scenes/{n}/regenerate", "write", N, conflict=_BUSY)
VOICE_PROGRESS = Operation("voice progress", "GET", "/videos/{id}/voice", "read", R)
VOICE = Operation("voice", "POST", "/videos/{id}/voice", "write", N, conflict=_BUSY)
CAPTIONS = Operation("captions", "GET", "/videos/{id}/captions", "read", R)
SHARE = Operation(
    "share", "POST", "/videos/{id}/share-link", "write", G, conflict="the video is not ready yet"
)
REPORT = Operation("report", "POST", "/videos/{id}/report", "write", G)
ANIMATE = Operation("image-to-video", "POST", "/videos/image-to-video", "ai", N, makes=True)
AVATAR = Operation("talking-avatar", "POST", "/videos/talking-avatar", "ai", N, makes=True)
SWAP = Operation("character-swap", "POST", "/videos/character-swap", "ai", N, makes=True)
TEMPLATES = Operation("templates", "GET", "/templates", "read", R)

# Named in the specification without shape or scope beyond what section 5 says of scopes.
TOOLS = Operation("tools", "GET", "/tools", "read", R)
CHARACTERS = Operation("characters", "GET", "/characters", "read", R)
CREDITS = Operation("credits", "GET", "/credits", "read", R)
ME = Operation("me", "GET", "/me", "read", R)

# Webhooks. A second create would leave a second subscription, its secret lost: sent once.
LIST_WEBHOOKS = Operation("list webhooks", "GET", "/webhooks", "read", R)
CREATE_WEBHOOK = Operation("create webhook", "POST", "/webhooks", "write", N)
GET_WEBHOOK = Operation("get webhook", "GET", "/webhooks/{id}", "read", R)
EDIT_WEBHOOK = Operation("edit webhook", "PATCH", "/webhooks/{id}", "write", G)
DELETE_WEBHOOK = Operation("delete webhook", "DELETE", "/webhooks/{id}", "write", G)
TEST_WEBHOOK = Operation("test webhook", "POST", "/webhooks/{id}/test", "write", G)
DELIVERIES = Operation("deliveries", "GET", "/webhooks/{id}/deliveries", "read", R)

OPERATIONS = tuple(value for value in globals().values() if isinstance(value, Operation))

#: What a row of a sheet can ask for, by the word in its `operation` column.
MAKING = {operation.name: operation for operation in OPERATIONS if operation.makes}
