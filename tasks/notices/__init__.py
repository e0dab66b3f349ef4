"""Word of a night to people: digests, alarms, and pings to whatever watches over it."""

from tasks.notices.alarms import alarm
from tasks.notices.pings import ping
from tasks.notices.publish import Sending
from tasks.notices.sample import send_sample
from tasks.notices.tell import digest, tell
