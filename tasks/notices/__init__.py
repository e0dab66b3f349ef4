"""Notices of nightly runs: digests, alarms, and pings to a monitoring service."""

from callsheet.tasks.notices.addresses import with_stored
from callsheet.tasks.notices.digests import alarm, digest
from callsheet.tasks.notices.publish import Sending, send_sample
from callsheet.tasks.notices.send import ping
