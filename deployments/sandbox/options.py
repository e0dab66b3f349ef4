"""Owns what a person may choose when starting the sandbox, and the refusal of what cannot work."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Rendering = Literal["real", "instant"]
RetryAfter = Literal["seconds", "date", "turns"]
Answers = Literal["enveloped", "bare", "renamed"]

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?")


class OptionRefused(Exception):
    """An option that cannot work; the message says why in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How one sandbox is run. `credits` counts only when the state directory is new."""

    host: str = "127.0.0.1"
    port: int = 8791
    #: The file of a socket on which the parent process already listens, instead of host and port.
    fd: int | None = None
    #: How others reach it, where they do: in a network of containers.
    origin: str | None = None
    #: A file with the key that holds every scope; without it that is made up.
    key_file: Path | None = None
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
        for good, sentence in self._rules():
            if not good:
                raise OptionRefused(sentence)

    def _rules(self) -> Iterator[tuple[bool, str]]:
        here = f"The sandbox listens on this machine only: {self.host} is not a loopback address."
        yield is_loopback(self.host) or self.origin is not None, here
        origin = (
            "The origin is how others reach it, like http://sandbox:8791, and no more than that."
        )
        yield self.origin is None or bool(_ORIGIN.fullmatch(self.origin)), origin
        port = f"There is no port {self.port}: use 0 (any free one) to 65535."
        yield 0 <= self.port <= 65535, port
        scale = "The time scale must be a number above 0; 60 makes minutes seconds."
        yield _above_zero(self.time_scale), scale
        yield self.render in get_args(Rendering), "Rendering is either real or instant."
        answers = get_args(Answers)
        yield self.answers in answers, f"Answers are one of {', '.join(answers)}."
        yield self.credits >= 0, "The balance of credits cannot begin below 0."
        rate = "The rate must be at least one paid call per window."
        yield self.rate is None or self.rate >= 1, rate
        window = "must be a number of seconds above 0."
        yield _above_zero(self.rate_window), f"The rate window {window}"
        limit = "The spend limit must be at least one credit per window."
        yield self.spend_limit is None or self.spend_limit >= 1, limit
        yield _above_zero(self.spend_window), f"The spend window {window}"
        forms = get_args(RetryAfter)
        yield self.retry_after in forms, f"Retry-After comes as one of {', '.join(forms)}."
        vendor = "The webhook vendor is a part of header names: letters, digits and hyphens."
        yield bool(re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", self.webhook_vendor)), vendor


def _above_zero(number: float) -> bool:
    return math.isfinite(number) and number > 0


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
