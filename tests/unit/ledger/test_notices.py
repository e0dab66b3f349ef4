"""A notice is sent by one process at a time, and never again once it was sent."""

from __future__ import annotations

import pytest

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.notices import (
    TAKEN,
    Notice,
    keep_notices,
    note_sent,
    note_unsent,
    take_notice,
)

NOW = 1_800_000_000.0
NOTICE = Notice(
    key="digest:a",
    inbox="spring",
    kind="digest",
    address="a",
    subject="s",
    about="{}",
    letter="{}",
    made_at=NOW,
)


async def take(ledger: Ledger, after: float) -> bool:
    return await ledger.write(take_notice, key=NOTICE.key, at=NOW + after)


@pytest.mark.parametrize(
    ("after", "taken"),
    [
        (1.0, False),
        (TAKEN, True),
        # Clocks of two machines differ a little.
        (-30.0, False),
        # A clock was set back.
        (-TAKEN - 1, True),
    ],
)
async def test_a_notice_is_left_to_who_took_it_for_a_while(
    ledger: Ledger, after: float, taken: bool
) -> None:
    await ledger.write(keep_notices, several=[NOTICE])
    assert await take(ledger, 0)
    assert await take(ledger, after) is taken


async def test_what_could_not_be_sent_is_taken_again_at_once(ledger: Ledger) -> None:
    await ledger.write(keep_notices, several=[NOTICE])
    assert await take(ledger, 0)
    await ledger.write(note_unsent, key=NOTICE.key, because="refused")
    assert await take(ledger, 1)


async def test_what_was_sent_is_never_taken_again(ledger: Ledger) -> None:
    """Also where another process had read it as waiting before, and takes it only later."""
    await ledger.write(keep_notices, several=[NOTICE])
    assert await take(ledger, 0)
    await ledger.write(note_sent, key=NOTICE.key, at=NOW + 1)
    assert not await take(ledger, TAKEN + 2)
    # Nor where a second try had failed after the first one arrived.
    await ledger.write(note_unsent, key=NOTICE.key, because="no answer")
    assert not await take(ledger, TAKEN + 3)
