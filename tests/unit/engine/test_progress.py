"""Progress keeps in step with the ledger: counts, credits and the time left."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from callsheet.tasks.engine.progress import OVERDUE, SLOWER, Progress, Speeds
from callsheet.tasks.ledger.campaigns import Tally
from tests.campaigns import VIDEO, a_row


def progress(**rows: int) -> Progress:
    zero = Decimal(0)
    tally = Tally(rows=rows, quoted=zero, reserved=zero, charged=Decimal(5), budget=None)  # type: ignore[arg-type]
    return Progress("spring", tally, started=100.0)


def test_a_row_is_counted_where_it_is():
    counted = progress(approved=2, delivered=1)
    row = replace(a_row("approved"), take=None)
    sent = a_row("submitting")
    counted.moved(row, sent, 100.0)
    now = counted.snapshot(100.0)
    assert now.rows == {"approved": 1, "submitting": 1, "delivered": 1}
    assert (now.total, now.reserved, now.charged) == (3, 12, 5)


def test_a_reservation_becomes_a_charge():
    counted = progress(rendering=1)
    old = a_row("rendering")
    assert old.take is not None
    counted.moved(replace(a_row("approved"), take=None), old, 100.0)
    paid = replace(old.take, reserved=Decimal(0), charged=Decimal(9))
    counted.moved(old, replace(old, state="ready", take=paid), 100.0)
    now = counted.snapshot(100.0)
    assert (now.reserved, now.charged) == (0, 14)


def test_what_an_earlier_take_cost_stays_spent():
    counted = progress(approved=1)
    old = a_row("approved")
    assert old.take is not None
    paid = replace(old.take, reserved=Decimal(0), charged=Decimal(5))
    another = replace(old.take, id=2, number=2)
    counted.moved(replace(old, take=paid), replace(old, state="submitting", take=another), 100.0)
    now = counted.snapshot(100.0)
    assert (now.reserved, now.charged) == (12, 5)


def test_a_refused_take_that_goes_again_is_counted_once():
    counted = progress(approved=1)
    again = a_row("submitting")
    assert again.take is not None
    refused = replace(again.take, reserved=Decimal(0), refused_at=1.0)
    counted.moved(replace(again, state="approved", take=refused), again, 100.0)
    assert counted.snapshot(100.0).reserved == 12


def test_the_time_left_follows_the_speed():
    counted = progress(approved=10)
    counted.begins(10)
    assert counted.snapshot(110.0).seconds_left is None
    for moment in (110.0, 120.0):
        counted.settles(moment)
    now = counted.snapshot(120.0)
    assert (now.done, now.to_do, now.seconds, now.seconds_left) == (2, 10, 20, 80)


def test_the_time_left_shrinks_until_a_row_is_done_or_it_says_why():
    counted = progress(approved=4)
    counted.begins(4)
    counted.settles(110.0)
    seen = [counted.snapshot(now) for now in (110.0, 125.0, 139.0, 141.0)]
    assert [now.seconds_left for now in seen] == [30, 15, 1, None]
    assert [now.waits_for for now in seen] == [None, None, None, OVERDUE]
    counted.settles(150.0)
    now = counted.snapshot(150.0)
    assert (now.seconds_left, now.waits_for) == (50, SLOWER)
    told = counted.snapshot(151.0, waits_for="the service has not answered since 08:00:00 UTC")
    assert told.waits_for == "the service has not answered since 08:00:00 UTC"
    counted.settles(151.0)
    assert counted.snapshot(151.0).waits_for is None


def test_what_is_to_do_is_known_before_all_of_it_is_begun():
    counted = progress(approved=14)
    counted.expects(14)
    counted.begins(8)
    assert counted.snapshot(100.0).to_do == 14
    counted.begins(6)
    assert counted.snapshot(100.0).to_do == 14
    counted.begins(1)
    assert counted.snapshot(100.0).to_do == 15


def test_nothing_to_do_takes_no_time():
    assert progress().snapshot(100.0).seconds_left == 0


def test_speeds_are_those_of_the_last_minute():
    counted = progress(approved=200)
    counted.begins(200)
    assert counted.snapshot(101.0).speeds is None
    video = [VIDEO, replace(VIDEO, kind="srt", bytes=991)]
    for second in range(1, 121):
        # Ten rows in the first minute, and sixty in the second.
        if second % 6 == 0 or second > 60:
            counted.settles(100.0 + second)
            counted.delivered(video)
        counted.snapshot(100.0 + second)
    assert counted.snapshot(220.0).speeds == Speeds(rows=60.0, videos=60.0, bytes=1000.0)
    assert counted.snapshot(1000.0).speeds == Speeds(rows=0.0, videos=0.0, bytes=0.0)
