"""The video service, typed and async. Knows no ledger, no Prefect and no store."""

from tasks.clock import Clock, utc_now
from tasks.service.client import VideoService
from tasks.service.gate import Gate
from tasks.service.operations import MAKING, OPERATIONS, Money, Operation
from tasks.service.shapes import Shapes
from tasks.service.values import (
    Attempt,
    Created,
    Quote,
    ShareLink,
    SignedUrl,
    Started,
    Video,
    Webhook,
)

__all__ = [
    "MAKING",
    "OPERATIONS",
    "Attempt",
    "Clock",
    "Created",
    "Gate",
    "Money",
    "Operation",
    "Quote",
    "Shapes",
    "ShareLink",
    "SignedUrl",
    "Started",
    "Video",
    "VideoService",
    "Webhook",
    "utc_now",
]
