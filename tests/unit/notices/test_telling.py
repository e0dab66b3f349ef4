"""A night is told once to everybody, and one that failed as a whole at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select

from callsheet.tasks.ledger.deletions import OldVideo, record_deletion
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema_runs import nights, notices
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.reports import SheetReport
from callsheet.tasks.notices import Sending, alarm, digest
from callsheet.tasks.runtime.crash_points import arm
from callsheet.tasks.runtime.known_settings import Settings
from tests.campaigns import Stage, brief
from tests.hearing_of_nights import Mailbox
from tests.unit.notices.made_nights import DEAR, FAILED, MADE, UNCHANGED, at, night, swept
from tests.web import Watcher

MORNING = at("2026-11-22", "08:00")
READY = "spring: 2 of 2 videos ready, 6 credits"


async def no_wait(_: float) -> None:
    """Wait for nothing."""


class Desk:
    """Whoever tells people of nights, at a moment."""

    def __init__(self, ledger: Ledger, settings: Settings, inbox: Inbox) -> None:
        self.ledger, self.settings, self.inbox = ledger, settings, inbox
        self.now = MORNING

    async def digest(self, **more: Any) -> list[Sending]:
        named = {"clock": lambda: self.now, "sleep": no_wait, **more}
        return await digest(self.ledger, self.settings, [self.inbox], **named)

    async def mornings(self, sheets: Mapping[str, Sequence[SheetReport]]) -> None:
        """Sweep nights, and tell of each in its morning."""
        for date, found in sheets.items():
            await swept(self.ledger, night(date, *found))
            self.now = at(date, "08:00")
            await self.digest()

    async def everything_kept(self) -> str:
        """Return all that the ledger keeps of notices."""
        query = select(notices)
        return str(await self.ledger.read(lambda connection: connection.execute(query).all()))

    async def kept(self) -> list[tuple[str, bool, bool]]:
        """Return the notices in the ledger: kind, whether sent, whether there is still a letter."""
        query = select(notices).order_by(notices.c.id)
        found = await self.ledger.read(lambda connection: connection.execute(query).all())
        return [(one.kind, one.sent_at is not None, one.letter is not None) for one in found]


@pytest.fixture
def desk(ledger: Ledger, settings: Settings, inbox: Inbox) -> Desk:
    return Desk(ledger, settings, inbox)


async def test_a_night_is_told_once(desk: Desk, post: Mailbox) -> None:
    await swept(desk.ledger, night("2026-11-22", MADE))

    first, *others = await asyncio.gather(desk.digest(), desk.digest(), desk.digest())
    sent = [one for several in (first, *others) for one in several if one.failed is None]
    again = await desk.digest()

    assert post.subjects == [READY]
    assert [one.address for one in sent] == ["mail to ann@example.com"]
    assert again == []
    assert await desk.kept() == [("digest", True, False)]


async def test_a_night_with_nothing_to_do_is_silent_but_for_who_wants_to_hear_of_it(desk, post):
    await desk.mornings({"2026-11-21": [UNCHANGED]})
    assert await desk.kept() == [("quiet", True, False)]
    desk.inbox = replace(desk.inbox, quiet=False)
    await desk.mornings({"2026-11-22": [UNCHANGED]})

    assert post.subjects == ["Nothing to do: 1 campaign as it was"]


@pytest.mark.parametrize("digest_at", ["08:00", None])
async def test_the_digest_comes_at_its_time_or_at_the_end_of_the_sweep(digest_at, desk, post):
    desk.inbox = replace(desk.inbox, digest_at=digest_at)
    report = night("2026-11-22", MADE)
    await swept(desk.ledger, report)
    desk.now = report.ended_at
    await desk.digest(report=report)
    at_night = list(post.subjects)
    desk.now = MORNING
    await desk.digest()

    assert at_night == ([] if digest_at else [READY])
    assert post.subjects == [READY]


async def test_scans_all_day_send_one_digest_at_its_time(desk: Desk, post: Mailbox) -> None:
    """One that is under way at that time is told at its end, and later ones the next morning."""
    desk.inbox = replace(desk.inbox, digest_at="08:00")
    for number, (ended, subjects) in enumerate(
        {"07:40": 0, "08:01": 1, "10:00": 1, "23:00": 1}.items(), start=1
    ):
        made = replace(MADE, delivered=("a", "b", "c", "d")[:number])
        report = night("2026-11-21", made, ended=ended)
        await desk.ledger.write(lambda connection: connection.execute(delete(nights)))
        await swept(desk.ledger, report)
        desk.now = report.ended_at
        await desk.digest(report=replace(report, begun_at=report.ended_at - 60))
        assert len(post.subjects) == subjects, ended
    # The first scan of the next day is over before the digest is looked for.
    today = replace(night("2026-11-22", UNCHANGED, ended="08:01"), begun_at=MORNING + 10)
    await swept(desk.ledger, today)
    desk.now = MORNING + 90
    await desk.digest(report=today)
    await desk.digest()
    await desk.digest()
    assert len(post.subjects) == 2


async def test_trouble_is_told_again_with_how_long_it_lasts_until_it_is_over(desk, post):
    """A night that failed has settled nothing."""
    days = {f"2026-11-0{day}": [FAILED] for day in range(1, 9)}
    await desk.mornings(days | {"2026-11-02": [], "2026-11-09": [UNCHANGED]})

    assert post.subjects == [
        "spring: 1 of 2 videos ready, 1 needs you",
        "Waiting for 3 nights – spring: 1 of 2 videos ready, 1 needs you",
        "Waiting for 7 nights – spring: 1 of 2 videos ready, 1 needs you",
        "Nothing to do: 1 campaign as it was",
    ]


async def test_videos_that_a_night_deletes_are_named(desk: Desk, post: Mailbox) -> None:
    stage = await Stage.set(desk.ledger, brief("a"), brief("b"), brief("c"))
    for row, by in (("a", "retention"), ("b", "Ann"), ("c", "retention")):
        made = await stage.delivered(row)
        assert made.take is not None
        then = at("2026-11-21" if row == "c" else "2026-11-22", "02:20")
        old = OldVideo(row=made, take=made.take)
        await stage.write(record_deletion, old, by=by, words="deleted", at=then)
    await swept(desk.ledger, night("2026-11-22", UNCHANGED))

    await desk.digest()

    (mail,) = post.letters
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["From"] == "Callsheet <callsheet@example.com>"
    assert mail["Message-ID"].endswith("@example.com>")
    for kind in ("plain", "html"):
        part = mail.get_body((kind,))
        assert "deleted at the service (keep_at_service): a" in part.get_content()
        assert "(keep_at_service): a," not in part.get_content()


async def test_nights_that_nobody_was_told_of_come_with_the_next(desk: Desk, post: Mailbox) -> None:
    """Though nothing changed in it."""
    await desk.mornings({"2026-11-19": [replace(MADE, delivered=("z",))]})
    await swept(desk.ledger, night("2026-11-20", replace(MADE, delivered=("a",))))
    await swept(desk.ledger, night("2026-11-21", replace(MADE, delivered=("b",))))
    await desk.mornings({"2026-11-22": [UNCHANGED]})

    text = post.letters[-1].get_body(("plain",))
    assert text is not None
    assert len(post.letters) == 2
    assert "2 NEW VIDEOS" in text.get_content()
    assert "12 credits this night" in text.get_content()


async def test_one_who_cannot_be_reached_keeps_nobody_else_from_hearing(desk, post, web, caplog):
    nobody = "mailto://ann:hunter2secret@127.0.0.1:9?from=c@example.com&to=ben@example.com"
    desk.inbox = replace(desk.inbox, notify=(nobody, *desk.inbox.notify, "env:NOT_THERE"))
    await swept(desk.ledger, night("2026-11-22", MADE))

    sent = {one.address: one.failed for one in await desk.digest()}

    assert post.subjects == [READY]
    assert sent["mail to ann@example.com"] is None
    assert "ConnectionRefusedError" in str(sent["mail to ben@example.com"])
    assert "NOT_THERE is not set" in caplog.text
    assert "hunter2" not in caplog.text + await desk.everything_kept()
    assert await desk.kept() == [("digest", False, True), ("digest", True, False)]


async def test_what_could_not_be_sent_is_sent_later_and_only_that(desk: Desk, post: Mailbox):
    """Unless it could not be sent for long."""
    desk.inbox = replace(desk.inbox, cron=None)
    for date, later in (("2026-11-22", 3600), ("2026-11-26", 3 * 86400)):
        await swept(desk.ledger, night(date, replace(MADE, delivered=(date,))))
        desk.now = at(date, "08:00")
        post.refusing = True
        (first,) = await desk.digest()
        assert "550" in str(first.failed)
        post.refusing = False
        desk.now += later
        await desk.digest()
        await desk.digest()

    assert post.subjects == [READY]


class Killed(BaseException):
    """The process ends here."""


#: Where a process is killed -> how many mails there are once another one has come by.
KILLED = [("notices: written down", 1), ("notices: taken", 1), ("notices: sent", 2)]


async def killed_at(desk: Desk, point: str) -> None:
    def kill(name: str, _: object) -> None:
        if name == point:
            raise Killed

    arm(kill)
    try:
        with pytest.raises(Killed):
            await desk.digest()
    finally:
        arm(lambda *_: None)


@pytest.mark.crashpoint("notices: written down", "notices: taken", "notices: sent")
@pytest.mark.parametrize(("point", "mails"), KILLED)
async def test_whoever_dies_leaves_it_to_the_next(point, mails, desk: Desk, post: Mailbox):
    await swept(desk.ledger, night("2026-11-22", MADE))
    await killed_at(desk, point)

    at_once = [one.failed for one in await desk.digest()]
    desk.now += 700
    await desk.digest()
    await desk.digest()

    # What was taken is theirs for a while; one that was sent in that moment is sent again, under
    # the id that it had.
    assert at_once == (
        [None] if point == "notices: written down" else ["another process is sending it"]
    )
    assert len(post.letters) == mails
    assert len({mail["Message-ID"] for mail in post.letters}) == 1


#: Has the ledger take a first notice and no second one, as if it were killed in between.
ONE_ONLY = {
    "sqlite": (
        "CREATE TRIGGER one_only BEFORE INSERT ON notices "
        "WHEN (SELECT count(*) FROM notices) = 1 BEGIN SELECT RAISE(ABORT, 'no room'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION one_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF "
        "(SELECT count(*) FROM notices) = 1 THEN RAISE EXCEPTION 'no room'; END IF; "
        "RETURN NEW; END $$",
        "CREATE TRIGGER one_only BEFORE INSERT ON notices FOR EACH ROW EXECUTE FUNCTION one_only()",
    ),
}
BOTH_AGAIN = {
    "sqlite": ("DROP TRIGGER one_only",),
    "postgresql": ("DROP TRIGGER one_only ON notices", "DROP FUNCTION one_only"),
}


async def carried_out(ledger: Ledger, statements: Mapping[str, Sequence[str]]) -> None:
    """Carry out statements, of each kind of database its own."""

    def change(connection: Connection) -> None:
        for statement in statements[connection.dialect.name]:
            connection.exec_driver_sql(statement)

    await ledger.write(change)


@pytest.mark.safeguard(
    "tasks/notices/publish.py",
    "await ledger.write(keep_notices, several=several)",
    "for one in several:\n        await ledger.write(keep_notices, several=[one])",
)
async def test_everybody_hears_though_it_ends_between_two_of_them(desk: Desk, post: Mailbox):
    two = [post.address(f"{name}@example.com") for name in ("ann", "ben")]
    desk.inbox = replace(desk.inbox, notify=tuple(two))
    await swept(desk.ledger, night("2026-11-22", MADE))
    await carried_out(desk.ledger, ONE_ONLY)
    try:
        await desk.digest()
    finally:
        await carried_out(desk.ledger, BOTH_AGAIN)

    await desk.digest()
    await desk.digest()

    told = sorted(str(mail["To"]) for mail in post.letters)
    assert told == ["ann@example.com", "ben@example.com"]


@pytest.mark.safeguard(
    "tasks/notices/digests.py",
    "return told.get(night.night) == night.ended_at",
    "return told.get(night.night) == night.ended_at or night.night <= max(told)",
)
async def test_a_digest_is_sent_after_the_clock_was_set_back(desk: Desk, post: Mailbox) -> None:
    """A night was told by a clock that was days ahead; those after it are told all the same."""
    await desk.mornings(
        {
            "2026-11-25": [replace(MADE, delivered=("a",))],
            "2026-11-22": [replace(MADE, delivered=("b",))],
        }
    )
    await desk.digest()
    await desk.mornings({"2026-11-23": [UNCHANGED]})

    assert post.subjects == [READY, READY]


async def test_some_hear_of_one_campaign_alone(desk: Desk, post: Mailbox) -> None:
    desk.inbox = replace(desk.inbox, notify_of={"dear": (post.address("dee@example.com"),)})
    await desk.mornings({"2026-11-21": [MADE], "2026-11-22": [UNCHANGED, DEAR]})
    await desk.digest()

    told = [(str(mail["To"]), str(mail["Subject"])) for mail in post.letters]
    dear = "dear: 40 videos for 120 credits wait for your approval"
    assert told[-2:] == [("ann@example.com", dear), ("dee@example.com", dear)]
    assert [to for to, _ in told].count("dee@example.com") == 1


async def test_a_chat_hears_a_few_lines(desk: Desk, web: Watcher) -> None:
    desk.inbox = replace(desk.inbox, notify=(f"json://127.0.0.1:{web.port}/hooks/s3cr3thook",))
    await swept(desk.ledger, night("2026-11-22", FAILED))

    (sent,) = await desk.digest()

    (call,) = web.calls
    assert sent.failed is None
    assert "s3cr3thook" not in sent.address
    assert call.path == "/hooks/s3cr3thook"
    assert "1 video needs you: https://board.example/c/spring/attention" in call.body
    assert "<" not in call.body

    # One that refuses says why.
    web.status = 403
    await swept(desk.ledger, night("2026-11-23", MADE))
    desk.now = at("2026-11-23", "08:00")
    (sent,) = await desk.digest()
    assert "error=403" in str(sent.failed)
    assert "s3cr3thook" not in str(sent.failed)


async def test_word_never_fails_a_night(desk, tmp_path, caplog):
    report = night("2026-11-22", MADE)
    strange = replace(desk.inbox, timezone="Mars/Olympus", digest_at="25:99")

    sent = await digest(desk.ledger, desk.settings, [strange], report=report, clock=lambda: MORNING)

    assert sent == []
    assert "notices of spring" in caplog.text


async def test_a_night_that_failed_is_told_at_once_and_then_ever_more_rarely(ledger, inbox, post):
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


async def test_after_a_night_that_went_well_a_failure_is_new(ledger, inbox, post):
    await alarm(ledger, inbox, "2026-11-01", "no", clock=lambda: at("2026-11-01", "02:01"))
    await swept(ledger, night("2026-11-02", UNCHANGED))
    await alarm(ledger, inbox, "2026-11-03", "no", clock=lambda: at("2026-11-03", "02:01"))

    assert post.subjects == ["spring: the nightly run failed"] * 2
