"""Owns what a request body may hold, and the sentence that names the field when it may not."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal, TypeVar

from fastapi import Request
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from deployments.sandbox.envelope import Refusal
from deployments.sandbox.tools import TOOLS

Script = Annotated[dict[str, JsonValue], Field(min_length=1)]
Text = Annotated[str, StringConstraints(max_length=2000)]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
Key = Annotated[str, StringConstraints(min_length=1, max_length=255)]
MAY_BE_NULL = {"character_id"}


class Body(BaseModel):
    """Strict: no unknown field, no text for a number, null only where the specification has it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _no_nulls(cls, said: object) -> object:
        if isinstance(said, dict):
            for name, value in said.items():
                if value is None and name not in MAY_BE_NULL:
                    raise ValueError(f"{name} is null; leave it out instead")
        return said

    @field_validator("script", check_fields=False)
    @classmethod
    def _script_has_scenes(cls, script: dict[str, JsonValue]) -> dict[str, JsonValue]:
        scenes = script.get("scenes")
        if scenes is not None and (not isinstance(scenes, list) or not scenes):
            raise ValueError("scenes must be a list of scenes")
        return script


class CreateVideo(Body):
    """What `POST /videos` and `POST /videos/estimate` take."""

    tool: str | None = None
    fields: dict[str, JsonValue] | None = None
    duration_seconds: Annotated[int, Field(ge=1, le=600)] = 30
    script: Script | None = None
    title: Text | None = None
    topic: Text | None = None
    mode: Literal["talking-head", "cinematic", "hybrid", "stock-narrated", "smart-mix"] | None = (
        None
    )
    style: Literal["talking-head", "cinematic"] | None = None
    character_id: int | None = None
    voice_id: Text | None = None
    music_id: Text | None = None
    caption_style: Text | None = None
    aspect_ratio: Literal["9:16", "1:1", "16:9"] = "9:16"
    language: Language = "en"
    start_generation: bool = True
    idempotency_key: Key | None = None
    video_model: Text | None = None

    @model_validator(mode="after")
    def _one_of_tool_and_script(self) -> CreateVideo:
        if (self.tool is None) == (self.script is None):
            raise ValueError("give exactly one of tool and script")
        if self.tool is not None and self.tool not in TOOLS:
            raise ValueError(f"tool must be one of {', '.join(TOOLS)}")
        if self.fields is not None and self.tool is None:
            raise ValueError("fields are inputs for a tool, and there is no tool")
        return self


class PatchVideo(Body):
    """What `PATCH /videos/{id}` takes."""

    title: Text | None = None
    topic: Text | None = None
    script: Script | None = None
    caption_style: Text | None = None
    caption_settings: dict[str, JsonValue] | None = None


AnyBody = TypeVar("AnyBody", bound=Body)


def body_of(kind: type[AnyBody]) -> Callable[[Request], Awaitable[AnyBody]]:
    """Make the dependency that reads a body; it runs after the key was checked, not before."""

    async def read(request: Request) -> AnyBody:
        try:
            said = json.loads(await request.body(), parse_constant=_refuse_constant)
            # Half a surrogate pair passes for JSON, but can be neither stored nor answered.
            json.dumps(said, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise _invalid("The body is not JSON.") from None
        if not isinstance(said, dict):
            raise _invalid("The body must be a JSON object.")
        try:
            return kind.model_validate(said)
        except ValidationError as error:
            raise _invalid(_sentence(error)) from None

    return read


def described(kind: type[Body]) -> dict[str, object]:
    """Describe a body for the OpenAPI document, which cannot see it in a signature."""
    schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _invalid(message: str) -> Refusal:
    return Refusal(400, "invalid_request", message)


def _sentence(error: ValidationError) -> str:
    """Name every field that is wrong, and never repeat what was in it."""
    told = []
    for trouble in error.errors(include_url=False, include_input=False, include_context=False):
        field = ".".join(str(part) for part in trouble["loc"][:3])
        what = trouble["msg"].removeprefix("Value error, ")
        if trouble["type"] == "extra_forbidden":
            what = "is not a field of this request"
        told.append(f"{field}: {what}" if field else what)
    return "; ".join(told[:10])
