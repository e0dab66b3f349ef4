"""The video service, typed and async. Knows no ledger, no Prefect and no store."""

from callsheet.tasks.runtime.process import Clock, utc_now
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
from callsheet.tasks.service.operations import MAKING, OPERATIONS, Money, Operation
from callsheet.tasks.service.rate_limits import Gate
