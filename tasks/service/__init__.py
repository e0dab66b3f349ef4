"""The video service, typed and async. Knows no ledger, no Prefect and no store."""

from tasks.clock import Clock, utc_now
from tasks.service.answers import Created, Quote, ShareLink, SignedUrl, Started, Video, Webhook
from tasks.service.client import VideoService
from tasks.service.gate import Gate
from tasks.service.operations import MAKING, OPERATIONS, Money, Operation
from tasks.service.pace import Pace
from tasks.service.request_log import LogEntry
