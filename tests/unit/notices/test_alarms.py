"""Nights that fail as a whole, and nights that do not come, are told once per window."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import insert, update

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema_runs import nights, pauses
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices import alarm, digest
from callsheet.tasks.runtime.known_settings import Settings
from tests.hearing_of_nights import Mailbox
from tests.unit.notices.made_nights import MADE, UNCHANGED, at, night, swept


async def come_by(
    ledger: Ledger, settings: Settings, inbox: Inbox, date: str, time: str = "08:00"
) -> None:
    """Send what is due on a day."""
    await digest(ledger, settings, [inbox], clock=lambda: at(date, time))


async def test_silence_is_an_alarm_ever_more_rarely(
    ledger: Ledger, settings: Settings, inbox: Inbox, post: Mailbox
) -> None:
    await swept(ledger, night("2026-11-01", UNCHANGED))
    for day in range(1, 10):
        await come_by(ledger, settings, inbox, f"2026-11-0{day}")
        await come_by(ledger, settings, inbox, f"2026-11-0{day}", "20:00")

    assert post.subjects == [
        "spring: 1 nightly run did not start",
        "spring: 3 nightly runs did not start",
        "spring: 7 nightly runs did not start",
    ]


async def test_when_nights_come_again_that_is_told(
    ledger: Ledger, settings: Settings, inbox: Inbox, post: Mailbox
) -> None:
    await swept(ledger, night("2026-11-01", UNCHANGED))
    await come_by(ledger, settings, inbox, "2026-11-01")
    await come_by(ledger, settings, inbox, "2026-11-02")
    await swept(ledger, night("2026-11-03", UNCHANGED))
    await come_by(ledger, settings, inbox, "2026-11-03")
    await swept(ledger, night("2026-11-04", UNCHANGED))
    await come_by(ledger, settings, inbox, "2026-11-04")

    missed, after = "spring: 1 nightly run did not start", "Nothing to do: 1 campaign as it was"
    assert post.subjects == [missed, after]


async def test_an_inbox_that_was_never_swept_has_until_its_next_night(
    ledger: Ledger, settings: Settings, inbox: Inbox, post: Mailbox
) -> None:
    await come_by(ledger, settings, inbox, "2026-11-01")
    await come_by(ledger, settings, inbox, "2026-11-01", "23:00")
    before = list(post.subjects)
    await come_by(ledger, settings, inbox, "2026-11-02")

    assert before == []
    assert post.subjects == ["spring: 1 nightly run did not start"]


async def test_a_night_of_many_sweeps_is_no_silence(
    ledger: Ledger, settings: Settings, inbox: Inbox, post: Mailbox
) -> None:
    hourly = replace(inbox, cron="0 * * * *")
    await swept(ledger, night("2026-11-22", UNCHANGED))
    last = update(nights).values(ended_at=at("2026-11-22", "09:02"))
    await ledger.write(lambda connection: connection.execute(last))

    await come_by(ledger, settings, hourly, "2026-11-22", "09:50")
    before = list(post.subjects)
    await come_by(ledger, settings, hourly, "2026-11-22", "10:40")

    assert before == []
    assert post.subjects == ["spring: 1 nightly run did not start"]


@pytest.mark.parametrize("paused", ["spring", "*"])
async def test_a_pause_is_no_silence(
    paused: str, ledger: Ledger, settings: Settings, inbox: Inbox, post: Mailbox
) -> None:
    await swept(ledger, night("2026-11-01", UNCHANGED))
    pause = insert(pauses).values(inbox=paused, until=at("2026-11-20"), by="ann", at=0.0)
    await ledger.write(lambda connection: connection.execute(pause))

    await come_by(ledger, settings, inbox, "2026-11-05")

    assert post.letters == []


async def test_a_night_that_does_not_end_is_told_once(
    ledger: Ledger, settings: Settings, inbox: Inbox, post: Mailbox
) -> None:
    await swept(ledger, night("2026-11-22", MADE))
    await ledger.write(lambda c: c.execute(update(nights).values(ended_at=None, report=None)))

    await come_by(ledger, settings, inbox, "2026-11-22", "08:00")
    await come_by(ledger, settings, inbox, "2026-11-22", "09:00")

    assert post.subjects == ["spring: the nightly run of November 22 did not finish"]


async def test_nobody_is_alarmed_of_an_inbox_without_a_schedule(
    ledger: Ledger, settings: Settings, inbox: Inbox, post: Mailbox
) -> None:
    await swept(ledger, night("2026-11-01", UNCHANGED))

    await come_by(ledger, settings, replace(inbox, cron=None), "2026-11-22")

    assert post.letters == []


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
