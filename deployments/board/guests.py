"""What a guest, who came by a link, is shown of what people inside have said of videos.

A guest sees verdicts, and their own words. The names, reasons and notes of others stay inside.
"""

from __future__ import annotations

from dataclasses import replace

from callsheet.deployments.board.who import Person
from callsheet.tasks.ledger import Review

#: In the place of a name.
OTHER = "another reviewer"


def shown_to(person: Person, review: Review | None) -> Review | None:
    """Return a review as this person is shown it."""
    if review is None or person.guest is None or review.by == person.name:
        return review
    return replace(review, by=OTHER, reason=None, note=None)
