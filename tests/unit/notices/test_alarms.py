"""Nights that fail as a whole are told once per window."""

from __future__ import annotations

import pytest

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices import alarm, digest
from callsheet.tasks.runtime.known_settings import Settings
from tests.hearing_of_nights import Mailbox
from tests.unit.notices.made_nights import UNCHANGED, at, night, swept


@pytest.mark.merge
async def test_a_night_that_goes_well_after_a_failure_is_told(
    ledger: Ledger, settings: Settings, inbox: Inbox, post: Mailbox
) -> None:
    await swept(ledger, night("2026-11-01", UNCHANGED))
    await alarm(ledger, inbox, "2026-11-02", "no", clock=lambda: at("2026-11-02", "02:01"))
    for day in (3, 4):
        await swept(ledger, night(f"2026-11-0{day}", UNCHANGED))
        await digest(
            ledger, settings, [inbox], clock=lambda day=day: at(f"2026-11-0{day}", "08:00")
        )

    failed, after = "spring: the nightly run failed", "Nothing to do: 1 campaign as it was"
    assert post.subjects == [failed, after]


async def test_a_night_that_failed_is_told_at_once_and_then_ever_more_rarely(
    ledger: Ledger, inbox: Inbox, post: Mailbox
) -> None:
    for day in range(1, 8):
        date = f"2026-11-0{day}"
        # What it came to until then is kept as that of any night.
        await swept(ledger, night(date))
        words = "the ledger is locked by another program; Bearer abcdefgh12345678"
        for _ in range(2):
            await alarm(ledger, inbox, date, words, clock=lambda date=date: at(date, "02:01"))

    text = post.letters[0].get_body(("plain",))
    assert text is not None
    assert post.subjects == [
        "spring: the nightly run failed",
        "spring: the nightly run failed for 3 nights",
        "spring: the nightly run failed for 7 nights",
    ]
    assert "locked by another program" in text.get_content()
    assert "abcdefgh" not in text.get_content()


async def test_after_a_night_that_went_well_a_failure_is_new(
    ledger: Ledger, inbox: Inbox, post: Mailbox
) -> None:
    await alarm(ledger, inbox, "2026-11-01", "no", clock=lambda: at("2026-11-01", "02:01"))
    await swept(ledger, night("2026-11-02", UNCHANGED))
    await alarm(ledger, inbox, "2026-11-03", "no", clock=lambda: at("2026-11-03", "02:01"))

    assert post.subjects == ["spring: the nightly run failed"] * 2
