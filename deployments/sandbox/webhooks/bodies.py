"""Owns what the webhook operations take, and the records they answer with."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from deployments.sandbox.bodies import Body
from deployments.sandbox.webhooks.events import KINDS


def _known(kinds: list[str]) -> list[str]:
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"must hold known kinds only: {', '.join(KINDS)}")
    return list(dict.fromkeys(kinds))


Kinds = Annotated[
    list[str],
    Field(min_length=1, json_schema_extra={"items": {"type": "string", "enum": list(KINDS)}}),
    AfterValidator(_known),
]
#: `check_url` has the rule; it depends on how the sandbox was started.
Url = Annotated[
    str,
    Field(
        json_schema_extra={"format": "uri", "pattern": "^https?://", "maxLength": 2048},
        description="Public and https; http only for a sandbox that allows loopback webhooks.",
    ),
]
Name = Annotated[str, StringConstraints(max_length=200)]


class CreateWebhook(Body):
    """What `POST /webhooks` takes (specification, section 4)."""

    url: Url
    events: Kinds
    name: Name = ""


class PatchWebhook(Body):
    """What `PATCH /webhooks/{id}` takes."""

    url: Url | None = None
    events: Kinds | None = None
    name: Name | None = None
    is_active: bool | None = None


class WebhookShown(BaseModel):
    """A webhook as every answer shows it; the secret is in none but the first."""

    id: str
    url: str
    events: list[str]
    name: str
    is_active: bool
    consecutive_failures: int
    disabled_at: str | None
    disabled_reason: str | None
    created_at: str
    updated_at: str


class WebhookCreated(WebhookShown):
    """The answer to a create, and the only one that holds the signing secret."""

    secret: str


class WebhookList(BaseModel):
    """Every webhook of the organization, oldest first."""

    webhooks: list[WebhookShown]


class WebhookDeleted(BaseModel):
    """The answer to a delete."""

    id: str
    deleted: bool


class PingResult(BaseModel):
    """What became of a test ping: `status` is null when the receiver did not answer."""

    delivered: bool
    event_id: str
    status: int | None
    error: str | None
    milliseconds: int


class AttemptShown(BaseModel):
    """One attempt at a delivery, as `GET /webhooks/{id}/deliveries` lists it."""

    id: str
    event_id: str
    event: str
    attempt: int
    outcome: str
    status: int | None
    error: str | None
    started_at: str
    milliseconds: int
    next_attempt_at: str | None


class AttemptList(BaseModel):
    """The last 50 attempts, newest first."""

    deliveries: list[AttemptShown]
