"""The video service, typed and async. Knows no ledger, no Prefect and no store."""

from callsheet.tasks.clock import Clock, utc_now
from callsheet.tasks.service.answers import (
    Created,
    Quote,
    ShareLink,
    SignedUrl,
    Started,
    Video,
    Webhook,
)
from callsheet.tasks.service.client import VideoService
from callsheet.tasks.service.gate import Gate
from callsheet.tasks.service.operations import MAKING, OPERATIONS, Money, Operation
from callsheet.tasks.service.pace import Pace
from callsheet.tasks.service.request_log import LogEntry
