"""Pauses as people set and lift them: each is in the activity log beside what it changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, tzinfo

from sqlalchemy import Connection

from callsheet.tasks.duration import parse_duration
from callsheet.tasks.errors import BadInput
from callsheet.tasks.ledger.acts import note_act
from callsheet.tasks.ledger.nights import EVERY_INBOX, Pause, pause, pauses_at, resume


def read_moment(text: str, *, zone: tzinfo, at: float) -> float:
    """Return until when a pause is to last: a date (its beginning in a zone), a moment, or `3d`.

    Raises BadInput for what is none of these, or has passed.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            return at + parse_duration(text)
        except BadInput:
            raise BadInput(
                f'"{text}" is neither a date nor a duration; nothing was changed',
                remedy="write it like 2027-01-03, 2027-01-03T18:00 or 3d",
            ) from None
    moment = (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
    if moment <= at:
        raise BadInput(f"{text} has passed: there is nothing to pause until then")
    return moment


def set_pauses(connection: Connection, pauses: Sequence[Pause]) -> None:
    """Have inboxes sleep, each until its moment; whatever pause they were in."""
    for one in pauses:
        pause(connection, one)
        note_act(connection, at=one.at, by=one.by, act="pause nights", words=whose(one.inbox))


def lift_pauses(
    connection: Connection, *, inboxes: Collection[str] | None, by: str, at: float
) -> tuple[list[str], list[Pause]]:
    """End the pauses of inboxes, or every one; return whose were lifted, and those that stay."""
    held = [one.inbox for one in pauses_at(connection, at)]
    lifted = [name for name in held if inboxes is None or name in inboxes]
    for name in lifted:
        resume(connection, name)
        note_act(connection, at=at, by=by, act="resume nights", words=whose(name))
    return lifted, pauses_at(connection, at)


def whose(inbox: str) -> str:
    """Return whose pause it is, for people."""
    return "all inboxes" if inbox == EVERY_INBOX else inbox
