"""The operations of the service, one entry each, and all that follows from an entry.

The money class decides what may be repeated. The client sends a request as the entry says, and
`callsheet video` and `callsheet webhooks` take their options, their question, their sentences and
their JSON from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, get_origin

from callsheet.tasks.service import answers
from callsheet.tasks.service.answers import (
    Created,
    Quote,
    ShareLink,
    SignedUrl,
    Started,
    Video,
    VideoPage,
    Webhook,
)

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

T_co = TypeVar("T_co", covariant=True)
Scope = Literal["read", "write", "ai"]


class Money(Enum):
    """What sending a request twice would cost."""

    READ = "R"  # nothing: it only looks
    KEYED = "K"  # nothing, as long as key and bytes are the same
    GENTLE = "G"  # nothing, but what it found may have changed: look again
    ONCE = "N"  # a second charge, or a second thing: it is sent once


@dataclass(frozen=True)
class Field:
    """A member of a body, and how to type it: `typed` is `--name TEXT` unless told.

    The word after the option says how it is read: `SECONDS` and `N` are numbers, `FILE|-` is a
    script in a file; `TEXT|@FILE` and `SCRIPT|@FILE` may be in one. Without dashes it is an
    argument; `--on/--off` is a switch. An option for `many` may be given again.
    """

    name: str
    words: str | None = None
    typed: str = ""
    required: bool = False
    many: bool = False

    @property
    def option(self) -> str:
        """The name of the option, or the argument as help shows it."""
        return (self.typed or f"--{self.name.replace('_', '-')}").split()[0]

    @property
    def value(self) -> str:
        """What stands for its value in help."""
        return self.typed.partition(" ")[2] or "TEXT"


#: Gives the members of a body.
Fields = Callable[[], tuple[Field, ...]]


@dataclass(frozen=True)
class Operation(Generic[T_co]):
    """One operation: `path` is relative to the base address and never holds a real id in logs.

    `read` makes a value of its answer. `conflict` says what 409 means here, in the words of the
    specification; `makes` is True where a success means that a new video exists.

    The rest is for people. `words` is the help of its command (None: it has none), `verb` the
    name, if not the first word of `name`; `fields` gives the members of its body (None: no body).
    `asks` is the question before it, `says` the sentence after it, `answer` the JSON member for
    what the service said, `columns` the members that a list shows.
    """

    name: str
    method: str
    path: str
    scope: Scope
    money: Money
    read: Callable[..., T_co]
    words: str | None = None
    fields: Fields | None = None
    asks: str = ""
    says: str = ""
    answer: str = ""
    columns: tuple[str, ...] = ()
    verb: str = ""
    conflict: str | None = None
    makes: bool = False

    @property
    def command(self) -> str:
        """What a person types after `callsheet video` or `callsheet webhooks`."""
        return self.verb or self.name.split()[0]

    @property
    def read_timeout(self) -> float:
        """Seconds without a byte: cutting a paid call early only makes its outcome unknown."""
        return 30.0 if self.money is Money.READ else 120.0

    @property
    def about(self) -> Literal["video", "webhook"]:
        """What its id is the id of."""
        return "webhook" if self.path.startswith("/webhooks") else "video"

    @property
    def pays(self) -> bool:
        """Whether it may spend credits: then it asks first, and is known to the ledger."""
        return self.money in (Money.KEYED, Money.ONCE) and self.about == "video"


def _of(*fields: Field) -> Fields:
    """Give these members."""
    return lambda: fields


def _of_row(operation: str, *only: str, **typed: str) -> Fields:
    """Give the members of a row's request for an operation, all or `only` some.

    Members of this kind of request come first, then those that all clips share. pydantic, which
    describes them, is imported when the members are used.
    """

    def field(name: str, member: FieldInfo, needs: tuple[tuple[str, ...], ...]) -> Field:
        words = (member.description or name).rstrip(".")
        kinds = [get_origin(one) for one in get_args(member.annotation)]
        return Field(
            name,
            words[0].lower() + words[1:],
            typed.get(name, ""),
            required=(name,) in needs,
            many=list in kinds or "NAME=" in typed.get(name, ""),
        )

    @cache
    def fields() -> tuple[Field, ...]:
        from callsheet.tasks.values.requests import REQUESTS, ClipRequest

        request = REQUESTS[operation]
        shared = ClipRequest.model_fields if issubclass(request, ClipRequest) else {}
        members = sorted(request.model_fields.items(), key=lambda one: one[0] in shared)
        return tuple(field(*one, request.needs) for one in members if not only or one[0] in only)

    return fields


R, K, G, N = Money.READ, Money.KEYED, Money.GENTLE, Money.ONCE
_BUSY, _NOT_READY = "a render is already running", "the video is not ready yet"
#: What a template, a tool, an export or a delivery is likely to say of itself.
CATALOG = ("id", "slug", "name", "title", "category", "description", "fields")
EXPORTS = ("id", "render", "status", "progress", "created_at", "finished_at", "credits_charged")
DELIVERY = (
    "created_at", "started_at", "sent_at", "time", "event", "kind", "type", "event_id",
    "attempt", "status", "status_code", "response_status", "success", "ok", "error", "outcome",
)  # fmt: skip

# fmt: off
_NAME = Field("name", "a name for it")
_EVENTS = Field("events", "such as video.ready", "--event KIND", many=True)
_REQUEST = _of_row(
    "create", tool="--tool ID", fields="--field NAME=TEXT", script="--script FILE|-",
    duration_seconds="--duration SECONDS", character_id="--character N")

# Videos (specification, section 4).
CREATE = Operation("create", "POST", "/videos", "write", K, Created.read,
    "make a video; shows the price, asks, and pays once", _REQUEST, makes=True,
    conflict="the same request is still being worked on")
ESTIMATE = Operation("estimate", "POST", "/videos/estimate", "read", R, Quote.read,
    "show what a video would cost; free", _REQUEST)
LIST = Operation("list", "GET", "/videos", "read", R, VideoPage.read,
    "list the organization's videos", columns=("video_id", "status", "title", "charged"))
GET = Operation("get", "GET", "/videos/{id}", "read", R, Video.read,
    "show what the service says about a video", verb="show")
DOWNLOAD = Operation("download", "GET", "/videos/{id}/download", "read", R, SignedUrl.read,
    "download the video, checked before it is written", conflict=_NOT_READY)
CAPTIONS = Operation("captions", "GET", "/videos/{id}/captions", "read", R, answers.caption_bytes,
    "download the captions")
RENDERS = Operation("renders", "GET", "/videos/{id}/renders", "read", R, answers.opaque,
    "list past exports, and the progress of the current one", columns=EXPORTS)
RENDER_PROGRESS = Operation(
    "render progress", "GET", "/videos/{id}/renders/progress", "read", R, answers.opaque)
TEMPLATES = Operation("templates", "GET", "/templates", "read", R, answers.entries,
    "list the templates", answer="templates", columns=CATALOG)
EDIT = Operation("edit", "PATCH", "/videos/{id}", "write", G, Video.glimpse,
    "change title, topic, script or caption settings",
    _of_row("create", "title", "topic", "script", script="--script FILE|-"), conflict=_BUSY,
    says="{id}: changed {changed}; the video stays as it is until `{again}`")
DELETE = Operation("delete", "DELETE", "/videos/{id}", "write", G, answers.done,
    "delete a video and its files", asks="Delete {id} and its files?", says="{id}: deleted",
    answer="deleted", conflict=_BUSY)
CANCEL = Operation("cancel", "POST", "/videos/{id}/cancel", "write", G, Video.glimpse,
    "stop a running render; its reserved credits are released", conflict="no render is running",
    says="{id}: stopped; the credits it reserved are released")
SHARE = Operation("share", "POST", "/videos/{id}/share-link", "write", G, ShareLink.read,
    "make a public link to the video, which expires", _of(), conflict=_NOT_READY)
REPORT = Operation("report", "POST", "/videos/{id}/report", "write", G, answers.done,
    "flag a video for review", _of(Field("reason", "what is wrong with it", required=True)),
    says="{id}: flagged for review", answer="reported")

# They spend credits without a quote and without a key.
GENERATE = Operation("generate", "POST", "/videos/{id}/generate", "write", N, Started.read,
    "render a draft, or render again after edits", conflict="already generating")
RENDER = Operation("render", "POST", "/videos/{id}/renders", "write", N, Started.read,
    "export again, after edits", _of(), conflict=_BUSY)
SCENE = Operation("scene", "POST", "/videos/{id}/scenes/{n}/regenerate", "write", N, Started.read,
    "regenerate one scene; the others do not change", conflict=_BUSY,
    fields=_of(Field("narration", "its spoken text", "--narration TEXT|@FILE")))
VOICE = Operation("voice", "POST", "/videos/{id}/voice", "write", N, Started.read,
    "make a new voiceover; without --voice-id, show its progress", conflict=_BUSY,
    fields=_of_row("create", "voice_id"))
VOICE_PROGRESS = Operation(
    "voice progress", "GET", "/videos/{id}/voice", "read", R, answers.opaque, answer="progress")
ANIMATE = Operation("image-to-video", "POST", "/videos/image-to-video", "ai", N, Created.read,
    "make a clip of one image", verb="animate", makes=True,
    fields=_of_row("image-to-video", image="IMAGE", narration="--narration TEXT|@FILE",
                   duration_seconds="--seconds N"))
AVATAR = Operation("talking-avatar", "POST", "/videos/talking-avatar", "ai", N, Created.read,
    "make your own recorded clip speak a new script", verb="avatar", makes=True,
    fields=_of_row("talking-avatar", clip="CLIP", script="--script SCRIPT|@FILE"))
SWAP = Operation("character-swap", "POST", "/videos/character-swap", "ai", N, Created.read,
    "put a character, or the person in photos, into a clip", verb="swap", makes=True,
    fields=_of_row("character-swap", clip="CLIP", photos="--photo URL",
                   character_id="--character N", duration_seconds="--seconds N"))

# Named in the specification without shape or scope beyond what section 5 says of scopes.
TOOLS = Operation("tools", "GET", "/tools", "read", R, answers.entries,
    "list the tools that write a script from a brief", answer="tools", columns=CATALOG)
CHARACTERS = Operation("characters", "GET", "/characters", "read", R, answers.entries)
CREDITS = Operation("credits", "GET", "/credits", "read", R, answers.available)
ME = Operation("me", "GET", "/me", "read", R, answers.opaque)

# Webhooks. A second create would leave a second subscription, its secret lost: sent once.
LIST_WEBHOOKS = Operation("list webhooks", "GET", "/webhooks", "read", R, Webhook.read_list,
    "list the organization's subscriptions", answer="webhooks",
    columns=("webhook_id", "url", "events", "active"))
CREATE_WEBHOOK = Operation("create webhook", "POST", "/webhooks", "write", N, Webhook.read,
    "subscribe; the secret is shown once and never again",
    _of(Field("url", "a public https address", "URL"), _NAME, _EVENTS))
GET_WEBHOOK = Operation("get webhook", "GET", "/webhooks/{id}", "read", R, Webhook.read,
    "show one subscription", verb="show")
EDIT_WEBHOOK = Operation("edit webhook", "PATCH", "/webhooks/{id}", "write", G, Webhook.read,
    "change address, events or name, or switch it on or off",
    _of(Field("url", "a public https address", "--url URL"), _NAME, _EVENTS,
        Field("is_active", "turn it on or off", "--enable/--disable")))
DELETE_WEBHOOK = Operation("delete webhook", "DELETE", "/webhooks/{id}", "write", G, answers.done,
    "end a subscription", asks="Delete {id}? Its secret is lost with it.", says="{id}: deleted",
    answer="deleted")
TEST_WEBHOOK = Operation("test webhook", "POST", "/webhooks/{id}/test", "write", G, answers.opaque,
    "send a signed test ping", answer="result", says="{id}: test ping requested; the answer:")
DELIVERIES = Operation("deliveries", "GET", "/webhooks/{id}/deliveries", "read", R, answers.entries,
    "list the last 50 delivery attempts", answer="deliveries", columns=DELIVERY)
# fmt: on

OPERATIONS: tuple[Operation[Any], ...] = tuple(
    value for value in globals().values() if isinstance(value, Operation)
)

#: What a row of a sheet can ask for, by the word in its `operation` column.
MAKING: dict[str, Operation[Created]] = {one.name: one for one in OPERATIONS if one.makes}
