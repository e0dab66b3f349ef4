"""Owns what a person may choose when starting the sandbox, and the refusal of what cannot work."""

from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Rendering = Literal["real", "instant"]
RetryAfter = Literal["seconds", "date", "turns"]
Answers = Literal["enveloped", "bare", "renamed"]


class OptionRefused(Exception):
    """An option that cannot work; the message says why in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How one sandbox is run. `credits` counts only when the state directory is new."""

    host: str = "127.0.0.1"
    port: int = 8791
    state: Path = Path(".callsheet/sandbox")
    time_scale: float = 1.0
    render: Rendering = "real"
    credits: int = 100_000
    rate: int | None = None
    rate_window: float = 60.0
    spend_limit: int | None = None
    spend_window: float = 60.0
    retry_after: RetryAfter = "turns"
    allow_loopback_webhooks: bool = False
    webhook_vendor: str = "Service"
    answers: Answers = "enveloped"
    script: Path | None = None
    exit_with_parent: bool = False
    json: bool = False

    def __post_init__(self) -> None:
        if not _loopback(self.host):
            msg = (
                f"The sandbox listens on this machine only: {self.host} is not a loopback address."
            )
            raise OptionRefused(msg)
        if not 0 <= self.port <= 65535:
            raise OptionRefused(f"There is no port {self.port}: use 0 (any free one) to 65535.")
        if not (math.isfinite(self.time_scale) and self.time_scale > 0):
            raise OptionRefused(
                "The time scale must be a number above 0; 60 makes minutes seconds."
            )
        if self.render not in ("real", "instant"):
            raise OptionRefused("Rendering is either real or instant.")
        if self.answers not in get_args(Answers):
            raise OptionRefused(f"Answers are one of {', '.join(get_args(Answers))}.")
        if self.credits < 0:
            raise OptionRefused("The balance of credits cannot begin below 0.")
        self._check_limits()
        if self.retry_after not in get_args(RetryAfter):
            raise OptionRefused(f"Retry-After comes as one of {', '.join(get_args(RetryAfter))}.")
        if not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", self.webhook_vendor):
            raise OptionRefused(
                "The webhook vendor is a part of header names: letters, digits and hyphens."
            )

    def _check_limits(self) -> None:
        if self.rate is not None and self.rate < 1:
            raise OptionRefused("The rate must be at least one paid call per window.")
        if not (math.isfinite(self.rate_window) and self.rate_window > 0):
            raise OptionRefused("The rate window must be a number of seconds above 0.")
        if self.spend_limit is not None and self.spend_limit < 1:
            raise OptionRefused("The spend limit must be at least one credit per window.")
        if not (math.isfinite(self.spend_window) and self.spend_window > 0):
            raise OptionRefused("The spend window must be a number of seconds above 0.")


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
