"""A night is told once to everybody, whatever happens to whoever tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from callsheet.tasks.ledger.deletions import OldVideo, record_deletion
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema_runs import notices
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices import Sending, digest
from callsheet.tasks.runtime.crash_points import arm
from callsheet.tasks.runtime.known_settings import Settings
from tests.campaigns import Stage, brief
from tests.certificates import certificate
from tests.hearing_of_nights import Mailbox, mailbox
from tests.unit.notices.made_nights import (
    DEAR,
    FAILED,
    MADE,
    UNCHANGED,
    at,
    night,
    swept,
)
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

    async def digest(self) -> list[Sending]:
        return await digest(
            self.ledger, self.settings, [self.inbox], clock=lambda: self.now, sleep=no_wait
        )

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

    sent = await desk.digest()
    again = await desk.digest()

    assert post.subjects == [READY]
    assert [one.failed for one in sent] == [None]
    assert sent[0].address == "mail to ann@example.com"
    assert again == []
    assert await desk.kept() == [("digest", True, False)]


async def test_a_night_with_nothing_to_do_is_silent(desk: Desk, post: Mailbox) -> None:
    await swept(desk.ledger, night("2026-11-22", UNCHANGED))

    assert await desk.digest() == []
    assert post.letters == []
    assert await desk.kept() == [("quiet", True, False)]


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
    for kind in ("plain", "html"):
        part = mail.get_body((kind,))
        assert "deleted at the service (keep_at_service): a" in part.get_content()
        assert "(keep_at_service): a," not in part.get_content()


async def test_who_wants_to_hear_of_every_night_does(desk: Desk, post: Mailbox) -> None:
    desk.inbox = replace(desk.inbox, quiet=False)
    await swept(desk.ledger, night("2026-11-22", UNCHANGED))

    await desk.digest()
    await desk.digest()

    assert post.subjects == ["Nothing to do: 1 campaign as it was"]


async def test_the_mail_has_a_page_a_text_and_an_id_of_its_own(desk: Desk, post: Mailbox) -> None:
    await swept(desk.ledger, night("2026-11-22", FAILED, DEAR))

    await desk.digest()

    (mail,) = post.letters
    text = mail.get_body(("plain",))
    page = mail.get_body(("html",))
    assert page is not None
    assert "https://board.example/c/spring/attention" in text.get_content()
    assert "https://board.example/plans/p1" in page.get_content()
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["From"] == "Callsheet <callsheet@example.com>"
    assert mail["Message-ID"].endswith("@example.com>")


async def test_a_mail_server_may_want_tls_from_the_first_byte(desk: Desk, tmp_path: Path) -> None:
    await swept(desk.ledger, night("2026-11-22", MADE))
    with mailbox(certificate(tmp_path)) as box:
        desk.inbox = replace(desk.inbox, notify=(box.address(),))

        sent = await desk.digest()

        assert ([one.failed for one in sent], box.subjects) == ([None], [READY])


async def test_the_digest_comes_at_its_time(desk: Desk, post: Mailbox) -> None:
    desk.inbox = replace(desk.inbox, digest_at="08:00")
    report = night("2026-11-22", MADE)
    await swept(desk.ledger, report)
    desk.now = at("2026-11-22", "02:40")

    await digest(desk.ledger, desk.settings, [desk.inbox], report=report, clock=lambda: desk.now)
    at_night = list(post.subjects)
    desk.now = at("2026-11-22", "08:00")
    await desk.digest()

    assert at_night == []
    assert post.subjects == [READY]


async def test_without_a_time_it_comes_at_the_end_of_the_sweep(desk: Desk, post: Mailbox) -> None:
    report = night("2026-11-22", MADE)
    await swept(desk.ledger, report)

    await digest(
        desk.ledger, desk.settings, [desk.inbox], report=report, clock=lambda: report.ended_at
    )
    await desk.digest()

    assert post.subjects == [READY]


async def test_nights_that_nobody_was_told_of_come_with_the_next(desk: Desk, post: Mailbox) -> None:
    await swept(desk.ledger, night("2026-11-20", replace(MADE, delivered=("z",))))
    desk.now = at("2026-11-20", "08:00")
    await desk.digest()
    await swept(desk.ledger, night("2026-11-21", replace(MADE, delivered=("a",))))
    await swept(desk.ledger, night("2026-11-22", replace(MADE, delivered=("b",))))
    desk.now = MORNING
    await desk.digest()

    text = post.letters[-1].get_body(("plain",))
    assert text is not None
    assert len(post.letters) == 2
    assert "2 NEW VIDEOS" in text.get_content()
    assert "12 credits this night" in text.get_content()


async def test_videos_of_an_earlier_night_are_told_though_nothing_changed_since(
    desk: Desk, post: Mailbox
) -> None:
    await swept(desk.ledger, night("2026-11-20", UNCHANGED))
    desk.now = at("2026-11-20", "08:00")
    await desk.digest()
    await swept(desk.ledger, night("2026-11-21", MADE))
    await swept(desk.ledger, night("2026-11-22", UNCHANGED))
    desk.now = MORNING

    await desk.digest()

    assert post.subjects == [READY]


async def test_one_who_cannot_be_reached_keeps_nobody_else_from_hearing(
    desk: Desk, post: Mailbox, web: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
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


async def test_what_could_not_be_sent_is_sent_later_and_only_that(
    desk: Desk, post: Mailbox
) -> None:
    await swept(desk.ledger, night("2026-11-22", MADE))
    post.refusing = True
    first = await desk.digest()
    post.refusing = False
    desk.now += 3600

    await desk.digest()
    await desk.digest()

    assert "550" in str(first[0].failed)
    assert post.subjects == [READY]


async def test_what_could_not_be_sent_for_long_is_given_up(desk: Desk, post: Mailbox) -> None:
    await swept(desk.ledger, night("2026-11-22", MADE))
    post.refusing = True
    await desk.digest()
    post.refusing = False
    desk.now += 3 * 86400

    desk.inbox = replace(desk.inbox, cron=None)
    await desk.digest()

    assert post.letters == []


async def test_two_at_once_tell_it_once(desk: Desk, post: Mailbox) -> None:
    await swept(desk.ledger, night("2026-11-22", MADE))

    await asyncio.gather(desk.digest(), desk.digest(), desk.digest())

    assert post.subjects == [READY]


class Killed(BaseException):
    """The process ends here."""


#: Where a process is killed -> how many mails there are once another one has come by.
KILLED = [("notices: written down", 1), ("notices: taken", 1), ("notices: sent", 2)]


@pytest.mark.parametrize(("point", "mails"), KILLED)
async def test_whoever_dies_leaves_it_to_the_next(
    point: str, mails: int, desk: Desk, post: Mailbox
) -> None:
    def kill(name: str, _: object) -> None:
        if name == point:
            raise Killed

    await swept(desk.ledger, night("2026-11-22", MADE))
    arm(kill)
    try:
        with pytest.raises(Killed):
            await desk.digest()
    finally:
        arm(lambda *_: None)

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


async def test_everybody_hears_though_it_ends_between_two_of_them(
    desk: Desk, post: Mailbox
) -> None:
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

    assert sorted(str(mail["To"]) for mail in post.letters) == [
        "ann@example.com",
        "ben@example.com",
    ]


async def test_a_digest_is_sent_after_the_clock_was_set_back(desk: Desk, post: Mailbox) -> None:
    """A night was told by a clock that was days ahead; those after it are told all the same."""
    await swept(desk.ledger, night("2026-11-25", replace(MADE, delivered=("a",))))
    desk.now = at("2026-11-25", "08:00")
    await desk.digest()

    await swept(desk.ledger, night("2026-11-22", replace(MADE, delivered=("b",))))
    desk.now = MORNING
    await desk.digest()
    await desk.digest()
    await swept(desk.ledger, night("2026-11-23", UNCHANGED))
    desk.now = at("2026-11-23", "08:00")
    await desk.digest()

    assert post.subjects == [READY, READY]


@pytest.mark.parametrize("digest_at", [None, "08:00"])
async def test_a_night_that_ended_by_a_clock_ahead_is_told_by_a_clock_that_is_right(
    digest_at: str | None, desk: Desk, post: Mailbox
) -> None:
    desk.inbox = replace(desk.inbox, digest_at=digest_at)
    await swept(desk.ledger, night("2026-11-25", MADE))
    desk.now = MORNING

    await desk.digest()

    assert post.subjects == [READY]


async def test_what_was_taken_by_a_clock_ahead_is_sent_once_the_clock_is_right(
    desk: Desk, post: Mailbox
) -> None:
    def kill(name: str, _: object) -> None:
        if name == "notices: taken":
            raise Killed

    await swept(desk.ledger, night("2026-11-22", MADE))
    desk.inbox = replace(desk.inbox, cron=None)
    desk.now += 5 * 86400
    arm(kill)
    try:
        with pytest.raises(Killed):
            await desk.digest()
    finally:
        arm(lambda *_: None)
    desk.now = MORNING
    await desk.digest()

    assert post.subjects == [READY]


async def test_trouble_is_told_again_with_how_long_it_lasts(desk: Desk, post: Mailbox) -> None:
    for day in range(1, 9):
        await swept(desk.ledger, night(f"2026-11-0{day}", FAILED))
        desk.now = at(f"2026-11-0{day}", "08:00")
        await desk.digest()

    assert post.subjects == [
        "spring: 1 of 2 videos ready, 1 needs you",
        "Waiting for 3 nights – spring: 1 of 2 videos ready, 1 needs you",
        "Waiting for 7 nights – spring: 1 of 2 videos ready, 1 needs you",
    ]


async def test_that_nothing_needs_anybody_any_more_is_told(desk: Desk, post: Mailbox) -> None:
    for day, sheet in ((21, FAILED), (22, UNCHANGED)):
        await swept(desk.ledger, night(f"2026-11-{day}", sheet))
        desk.now = at(f"2026-11-{day}", "08:00")
        await desk.digest()

    assert post.subjects[1:] == ["Nothing to do: 1 campaign as it was"]


async def test_some_hear_of_one_campaign_alone(desk: Desk, post: Mailbox) -> None:
    desk.inbox = replace(desk.inbox, notify_of={"dear": (post.address("dee@example.com"),)})
    await swept(desk.ledger, night("2026-11-21", MADE))
    await swept(desk.ledger, night("2026-11-22", UNCHANGED, DEAR))
    desk.now = at("2026-11-21", "08:00")
    await desk.digest()
    desk.now = MORNING

    await desk.digest()
    await desk.digest()

    told = [(str(mail["To"]), str(mail["Subject"])) for mail in post.letters]
    dear = "dear: 40 videos for 120 credits wait for your approval"
    assert told[-2:] == [("ann@example.com", dear), ("dee@example.com", dear)]
    assert [to for to, _ in told].count("dee@example.com") == 1


async def test_a_night_that_failed_has_settled_nothing(desk: Desk, post: Mailbox) -> None:
    for day, sheets in ((20, [FAILED]), (21, []), (22, [FAILED])):
        await swept(desk.ledger, night(f"2026-11-{day}", *sheets))
        desk.now = at(f"2026-11-{day}", "08:00")
        await desk.digest()

    assert post.subjects == [
        "spring: 1 of 2 videos ready, 1 needs you",
        "Waiting for 3 nights – spring: 1 of 2 videos ready, 1 needs you",
    ]


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


async def test_a_chat_that_refuses_says_why(desk: Desk, web: Watcher) -> None:
    web.status = 403
    desk.inbox = replace(desk.inbox, notify=(f"json://127.0.0.1:{web.port}/hooks/s3cr3thook",))
    await swept(desk.ledger, night("2026-11-22", FAILED))

    (sent,) = await desk.digest()

    assert "error=403" in str(sent.failed)
    assert "s3cr3thook" not in str(sent.failed)


async def test_word_never_fails_a_night(
    desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    report = night("2026-11-22", MADE)
    strange = replace(desk.inbox, timezone="Mars/Olympus", digest_at="25:99")

    sent = await digest(desk.ledger, desk.settings, [strange], report=report, clock=lambda: MORNING)

    assert sent == []
    assert "notices of spring" in caplog.text
