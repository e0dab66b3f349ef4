"""Owns what a person may choose when starting the sandbox, and the refusal of what cannot work."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Rendering = Literal["real", "instant"]
RetryAfter = Literal["seconds", "date", "turns"]
Answers = Literal["enveloped", "bare", "renamed"]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


#: What options take, in the words of the person who typed another value.
_TAKES = {
    "port": "0 (any free one) to 65535",
    "time_scale": "a number above 0; 60 makes minutes seconds",
    "credits": "a number of credits from 0 on",
    "rate": "a number of paid calls from 1 on",
    "spend_limit": "a number of credits from 1 on",
    "rate_window": "a number of seconds above 0",
    "spend_window": "a number of seconds above 0",
}


class OptionRefused(Exception):
    """An option that cannot work; the message says why in a sentence."""


class Options(BaseModel):
    """How one sandbox is run; a description is what `--help` says. `credits` counts only when the
    state directory is new. Raises OptionRefused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="a loopback address")
    port: int = Field(8791, ge=0, le=65535, description="0 takes any free one")
    #: The file of a socket on which the parent process already listens, instead of host and port.
    fd: int | None = None
    origin: str | None = Field(
        None,
        pattern=r"^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?$",
        description="how others reach it; --host may then be any address",
    )
    key_file: Path | None = Field(None, description="with the key that holds every scope")
    state: Path = Field(Path(".callsheet/sandbox"), description="where it keeps itself")
    time_scale: Seconds = Field(1.0, description="60 makes minutes seconds")
    render: Rendering = Field("real", description="instant: the same video for each shape, at once")
    credits: int = Field(100_000, ge=0, description="the balance of a new state")
    rate: int | None = Field(None, ge=1, description="paid calls allowed in a window")
    rate_window: Seconds = Field(60.0, description="its length in seconds")
    spend_limit: int | None = Field(None, ge=1, description="credits in a window")
    spend_window: Seconds = Field(60.0, description="its length in seconds")
    retry_after: RetryAfter = Field("turns", description="in which form a 429 tells it")
    allow_loopback_webhooks: bool = Field(False, description="for tests on one machine")
    webhook_vendor: str = Field(
        "Service",
        pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$",
        description="X-<this>-Signature and so on",
    )
    answers: Answers = Field("enveloped", description="in which shape")
    script: Path | None = Field(None, description="faults to plan, in TOML or JSON")
    exit_with_parent: bool = Field(False, description="stop when stdin ends")
    json_: bool = Field(False, alias="json", description="say in one line of JSON when it is ready")

    def __init__(self, **said: Any) -> None:
        try:
            super().__init__(**said)
        except ValidationError as error:
            trouble = error.errors(include_url=False)[0]
            name = " ".join(str(part) for part in trouble["loc"])
            message = trouble["msg"].removeprefix("Value error, ")
            if name in _TAKES:
                message = f"it takes {_TAKES[name]}"
            if name:
                message = f'--{name.replace("_", "-")} cannot be "{trouble["input"]}": {message}'
            raise OptionRefused(f"{message}.") from None

    @model_validator(mode="after")
    def _listens_here(self) -> Self:
        if not is_loopback(self.host) and self.origin is None:
            message = (
                f"The sandbox listens on this machine only: {self.host} is not a loopback address"
            )
            raise ValueError(message)
        return self


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
