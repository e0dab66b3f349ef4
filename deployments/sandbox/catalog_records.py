"""Owns the shapes of what the service says about itself, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from deployments.sandbox.records import Record


class Template(Record):
    """A template: `request` is a body for `POST /videos`, to be completed."""

    id: str
    name: str
    description: str
    request: dict[str, Any]


class TemplateList(Record):
    """The template library."""

    templates: list[Template]


class ToolField(Record):
    """One input of a tool."""

    name: str
    description: str
    required: bool


class Tool(Record):
    """A tool: it writes a script from named fields."""

    id: str
    name: str
    fields: list[ToolField]


class ToolList(Record):
    """Every tool."""

    tools: list[Tool]


class Character(Record):
    """A character; its id goes into `character_id`."""

    id: int
    name: str


class CharacterList(Record):
    """Every character on offer."""

    characters: list[Character]


class Voice(Record):
    """A voice; its id goes into `voice_id`."""

    id: str
    name: str
    language: str


class VoiceList(Record):
    """Every voice on offer."""

    voices: list[Voice]


class Credits(Record):
    """The organization's credits: `available` is the balance without what is reserved."""

    balance: int
    reserved: int
    available: int


class Organization(Record):
    """Whom a key belongs to."""

    id: str
    name: str


class KeyRecord(Record):
    """The key of this request; its value is never shown."""

    id: str
    name: str
    scopes: list[str]
    created_at: str
    expires_at: str | None


class Me(Record):
    """Whose key this is."""

    organization: Organization
    key: KeyRecord
