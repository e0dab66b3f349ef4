"""Of many rows those that need somebody come first, then what is not done, then new videos."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import note
from callsheet.tasks.ledger.row_selection import urgent_rows
from callsheet.tasks.ledger.values import State
from tests.campaigns import NOW, Stage, brief

STATES: tuple[State, ...] = ("delivered", "rendering", "failed", "delivered", "held", "delivered")


async def stage_of(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger, *(brief(f"r{n}", f"Tea {n}") for n in range(len(STATES))))
    for n, state in enumerate(STATES):
        await stage.in_state(state, f"r{n}")
    # The last that is heard of a video.
    await stage.write(note, await stage.row("r0"), "repair", "x", at=NOW)
    return stage


@pytest.mark.parametrize(
    ("limit", "wanted", "found"),
    [
        (30, None, "r2 r4 r1 r0 r3 r5"),
        (4, None, "r2 r4 r1 r0"),
        (5, None, "r2 r4 r1 r0 r5"),
        (3, None, "r2 r4 r1"),
        (1, None, "r2"),
        (0, None, ""),
        (30, {"r5", "r4"}.__contains__, "r4 r5"),
        (1, {"r5", "r1"}.__contains__, "r1"),
        (30, {"none"}.__contains__, ""),
    ],
)
async def test_the_rows_that_matter_most(
    ledger: Ledger, limit: int, wanted: Callable[[str], bool] | None, found: str
):
    stage = await stage_of(ledger)
    rows = await ledger.read(
        lambda c: urgent_rows(c, stage.campaign.id, limit=limit, wanted=wanted)
    )
    assert " ".join(row.row for row in rows) == found
