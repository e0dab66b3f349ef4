"""Progress keeps in step with the ledger: counts, credits and the time left."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, cast

import pytest

from callsheet.tasks.engine.progress import OVERDUE, SLOWER, Progress
from callsheet.tasks.ledger.campaigns import Tally
from callsheet.tasks.ledger.values import CampaignRow, State, Take
from tests.campaigns import a_row


def progress(**rows: int) -> Progress:
    zero = Decimal(0)
    tally = Tally(rows=rows, quoted=zero, reserved=zero, charged=Decimal(5), budget=None)  # type: ignore[arg-type]
    return Progress("spring", tally, started=100.0)


SENT = a_row("submitting")
TAKE = cast(Take, SENT.take)
NONE = {"reserved": Decimal(0)}


def row(state: State, **own: Any) -> CampaignRow:
    """A row with a take that has 12 credits set aside, unless it is said otherwise."""
    return replace(SENT, state=state, take=replace(TAKE, **own))


UNSENT = replace(a_row("approved"), take=None)
#: Moves of a row, and what is reserved and charged of the campaign then; 5 credits were before.
MOVES = {
    "sent": ([UNSENT, SENT], 12, 5),
    "charged": ([UNSENT, row("rendering"), row("ready", **NONE, charged=Decimal(9))], 0, 14),
    "an earlier take stays spent": (
        [row("approved", **NONE, charged=Decimal(5)), row("submitting", id=2, number=2)], 12, 5
    ),
    "refused and sent again": ([row("approved", **NONE, refused_at=1.0), SENT], 12, 5),
}  # fmt: skip


@pytest.mark.parametrize("case", MOVES)
def test_a_row_and_its_credits_are_counted_where_they_are(case: str):
    moves, reserved, charged = MOVES[case]
    counted = progress(**{moves[0].state: 2, "delivered": 1})
    for old, new in pairwise(moves):
        counted.moved(old, new, 100.0)
    now = counted.snapshot(100.0)
    assert now.rows == {moves[0].state: 1, moves[-1].state: 1, "delivered": 1}
    assert (now.total, now.reserved, now.charged) == (3, reserved, charged)


def test_the_time_left_shrinks_until_a_row_is_done_or_it_says_why():
    counted = progress(approved=4)
    counted.begins(4)
    assert counted.snapshot(105.0).seconds_left is None
    counted.settles(110.0)
    assert (counted.snapshot(110.0).done, counted.snapshot(110.0).seconds) == (1, 10)
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
