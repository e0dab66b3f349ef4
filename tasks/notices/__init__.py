"""Word of a night to people: digests, alarms, and pings to whatever watches over it."""

from callsheet.tasks.notices.alarms import alarm
from callsheet.tasks.notices.pings import ping
from callsheet.tasks.notices.publish import Sending
from callsheet.tasks.notices.sample import send_sample
from callsheet.tasks.notices.tell import digest, tell
