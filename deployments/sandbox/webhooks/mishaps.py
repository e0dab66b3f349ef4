"""Owns what a fault does to a delivery: the copies that are sent besides it, and how it is spoilt.

All of it happens to real services or is tried by strangers; a receiver has to see through it.
`missing` and `late` send nothing now, so they are the dispatcher's.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import NamedTuple

from deployments.sandbox.webhooks.events import new_event_id
from deployments.sandbox.webhooks.message import Message, signature_of


class Volley(NamedTuple):
    """What is sent for one attempt, in this order. Only the answer to `message` counts."""

    before: tuple[Message, ...]
    message: Message
    after: tuple[Message, ...]


def volley(message: Message, mishap: str | None) -> Volley:
    """Say what is really sent when a message is due."""
    if mishap == "doubled":
        return Volley((message,), message, ())
    if mishap == "forged":
        forged = replace(message, signature=signature_of(message.body, secrets.token_hex()))
        return Volley((forged,), message, ())
    if mishap == "replayed":
        return Volley((), message, (replace(message, event_id=new_event_id()),))
    if mishap == "reserialized":
        return Volley((), replace(message, body=_reserialized(message.body)), ())
    if mishap == "unsigned":
        return Volley((), replace(message, signature=None), ())
    return Volley((), message, ())


def _reserialized(body: bytes) -> bytes:
    """Say the same in other bytes, as a proxy does that parses JSON and writes it again."""
    return json.dumps(json.loads(body), indent=1).encode()
