"""A notice is sent by one process at a time, and never again once it was sent."""

from __future__ import annotations

import pytest

from callsheet.tasks.ledger import notices
from callsheet.tasks.ledger.ledger import Ledger

NOW = 1_800_000_000.0
NOTICE = notices.Notice(
    key="digest:a", inbox="spring", kind="digest", address="a", subject="s", about="{}",
    letter="{}", made_at=NOW,
)  # fmt: skip


async def take(ledger: Ledger, after: float) -> bool:
    return await ledger.write(notices.take_notice, key=NOTICE.key, at=NOW + after)


@pytest.mark.safeguard("tasks/ledger/notices.py", "notices.c.tried_at > at + TAKEN,", "")
@pytest.mark.parametrize(
    ("after", "taken"),
    [
        (1.0, False),
        (notices.TAKEN, True),
        # Clocks of two machines differ a little.
        (-30.0, False),
        # A clock was set back.
        (-notices.TAKEN - 1, True),
    ],
)
async def test_a_notice_is_left_to_who_took_it_for_a_while(ledger: Ledger, after, taken):
    await ledger.write(notices.keep_notices, several=[NOTICE])
    assert await take(ledger, 0)
    assert await take(ledger, after) is taken


@pytest.mark.safeguard(
    "tasks/ledger/notices.py",
    "notices.c.key == key,\n            notices.c.sent_at.is_(None),",
    "notices.c.key == key,",
)
async def test_what_was_sent_is_never_taken_again(ledger: Ledger) -> None:
    """Also where another process had read it as waiting before, and takes it only later."""
    await ledger.write(notices.keep_notices, several=[NOTICE])
    assert await take(ledger, 0)
    # What could not be sent is taken again at once.
    await ledger.write(notices.note_unsent, key=NOTICE.key, because="refused")
    assert await take(ledger, 1)
    await ledger.write(notices.note_sent, key=NOTICE.key, at=NOW + 1)
    assert not await take(ledger, notices.TAKEN + 2)
    # Nor where a second try had failed after the first one arrived.
    await ledger.write(notices.note_unsent, key=NOTICE.key, because="no answer")
    assert not await take(ledger, notices.TAKEN + 3)
