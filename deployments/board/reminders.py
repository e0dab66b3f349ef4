"""Reminds the team of a client who has not decided, a day before the day that the link names.

Once for each link, to every address for notices that the settings page has, whichever board is open
then. A message that fails is logged, and never an error.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.tasks.aftercare.guests import within
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.people import Link
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import count_shown
from callsheet.tasks.ledger.sessions import links_due
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices.action_items import campaign_page
from callsheet.tasks.notices.addresses import with_stored
from callsheet.tasks.notices.emails import alarm_letter
from callsheet.tasks.notices.publish import Sending, send_waiting, unfailing, write_down
from callsheet.tasks.values.amounts import count

#: How long before its day a client is reminded of, in seconds.
AHEAD = 86_400.0
#: In the place of the inbox that a notice is of.
BOARD = "board"


async def remind(board: Board) -> list[Sending]:
    """Send what is due by now; return what was sent. Again, send nothing."""
    inbox = with_stored(Inbox(name=BOARD, place="", board=board.origin), board.settings.home)
    return await unfailing(inbox, _remind(board, inbox)) if inbox.notify else []


async def _remind(board: Board, inbox: Inbox) -> list[Sending]:
    now = board.clock()
    for link in await board.read(links_due, at=now, until=now + AHEAD):
        campaign = await board.read(find_campaign, name=link.campaign)
        if campaign is None:
            continue
        undecided = within(link.guest(), RowFilter.of(client="none"))
        waiting = await board.read(count_shown, campaign_id=campaign.id, which=undecided)
        if waiting:
            subject, line = _words(link, waiting)
            page = campaign_page(board.origin, link.campaign, "videos")
            letter = alarm_letter(subject, (line,), inbox=BOARD, link=page)
            window = f"link {link.id} {link.due_at}"
            noting = partial(write_down, board.ledger, inbox, "client", letter, window=window)
            await noting(about=link.campaign, now=now)
    return await send_waiting(board.ledger, inbox, clock=board.clock)


def _words(link: Link, waiting: int) -> tuple[str, str]:
    """Return what a reminder is called, and what it says."""
    assert link.due_at is not None, "it is due"
    day = datetime.fromtimestamp(link.due_at - 1, UTC)
    videos = count(waiting, "video")
    subject = f"{link.name} has {videos} of {link.campaign} left to decide"
    return subject, f"The link asks for an answer by {day:%Y-%m-%d} (end of the day, UTC)."
