"""What somebody from outside sees, who came by a link, and what they say of it.

A guest's verdict is the client's: it stands beside that of the team, whose names, reasons and notes
stay inside.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.reviews import Review, Side
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import shown_rows
from callsheet.tasks.runtime.errors import NoSuch

#: In the place of the name of another guest.
OTHER = "another reviewer"


def side_of(person: Person) -> Side:
    """Return whose verdict a person gives."""
    return "team" if person.guest is None else "client"


def within(person: Person, which: RowFilter) -> RowFilter:
    """Return a filter that lets through nothing which a person may not see.

    A link shows the videos that someone of the team keeps, or all of them if it says so, of the
    rows that it was made for. What checks found is no matter of a guest, nor are reasons: a guest
    finds videos by their ids and titles.
    """
    if person.guest is None:
        return which
    review = None if person.guest.all_videos else "keep"
    called = which.words("q")
    shown = which.but(video="yes", review=review, flagged=None, q=None, called=called)
    return shown & RowFilter.parse(person.guest.selection)


def check_sees(
    connection: Connection, person: Person, campaign: Campaign, row: str, take: int | None
) -> None:
    """Raise NoSuch for a guest to whom the video of this take of a row is not shown."""
    if person.guest is None:
        return
    wanted = within(person, RowFilter.of(row=row))
    found = shown_rows(connection, campaign_id=campaign.id, which=wanted).rows
    if not found or (take not in (None, found[0].video_take) and not person.guest.all_videos):
        raise NoSuch(f"your link does not show that video of {row[:80]}")


def shown_to(person: Person, review: Review | None) -> Review | None:
    """Return a review as a person is shown it: a guest reads no words but those of their link."""
    if review is None or person.guest is None:
        return review
    if person.guest.wrote(review.by):
        return replace(review, by=person.guest.bare(review.by))
    return replace(review, by=OTHER, reason=None, note=None)
