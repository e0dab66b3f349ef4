"""What the ledger tells of a sheet in a night: which one film is made first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tasks.ledger import Ledger, State, review
from tasks.nights.records import canary_of
from tests.campaigns import Stage, brief

ROWS = ("a", "b", "c")


@pytest.mark.parametrize(
    ("states", "sheet", "canary"),
    [
        ({}, ROWS, "a"),
        ({"a": "quoted", "b": "rejected"}, ROWS, "a"),
        ({"a": "delivered"}, ROWS, "a"),
        # Whatever is put before it or moved: one film is made until it is kept.
        ({"b": "delivered"}, ("new", *ROWS), "b"),
        ({"b": "rendering"}, ("c", "b", "a"), "b"),
        # What has left the sheet is waited for by nobody, and is no word for the others.
        ({"a": "delivered"}, ("b", "c"), "b"),
        # Somebody has wanted more than one.
        ({"a": "delivered", "b": "failed"}, ROWS, None),
    ],
)
async def test_of_a_new_campaign_one_row_is_made(
    ledger: Ledger, states: Mapping[str, State], sheet: Sequence[str], canary: str | None
) -> None:
    stage = await Stage.set(ledger, *(brief(row) for row in ROWS))
    for row, state in states.items():
        await stage.in_state(state, row)
    assert await stage.write(canary_of, stage.campaign.name, sheet) == canary


async def test_once_a_film_is_kept_all_are_made(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *(brief(row) for row in ROWS))
    assert await stage.write(canary_of, "another", ROWS) == "a"
    await stage.delivered("a")
    take = (await stage.row("a")).take
    assert take is not None
    await stage.write(_keep, take.id)
    assert await stage.write(canary_of, stage.campaign.name, ROWS) is None


def _keep(connection: object, take: int) -> None:
    review(connection, take_id=take, verdict="keep", by="Alice", at=1.0)
