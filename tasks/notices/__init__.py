"""Word of a night to people: digests, alarms, and pings to whatever watches over it."""

from callsheet.tasks.notices.digests import alarm, digest, tell
from callsheet.tasks.notices.publish import Sending, send_sample
from callsheet.tasks.notices.send import ping
