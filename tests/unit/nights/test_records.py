"""What the ledger is told of a sheet in a night, and which one video it says is made first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pytest

from callsheet.tasks.ledger.inbox_sheets import SweptSheet, see_sheets, sheets_in
from callsheet.tasks.ledger.leases import night_lease
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.nightly_runs import claim_night
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.values import State
from callsheet.tasks.nights.records import canary_of, close
from tests.campaigns import Stage, brief
from tests.leasing import let_lapse

ROWS = ("a", "b", "c")
SHEET = SweptSheet(name="a.csv", version="1", seen_at=0.0, outcome="delivered")


@pytest.mark.parametrize(
    ("states", "sheet", "canary"),
    [
        ({}, ROWS, "a"),
        ({"a": "quoted", "b": "rejected"}, ROWS, "a"),
        ({"a": "delivered"}, ROWS, "a"),
        # Whatever is put before it or moved: one video is made until it is kept.
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


async def test_once_a_video_is_kept_all_are_made(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *(brief(row) for row in ROWS))
    assert await stage.write(canary_of, "another", ROWS) == "a"
    await stage.delivered("a")
    take = (await stage.row("a")).take
    assert take is not None
    await stage.write(_keep, take.id)
    assert await stage.write(canary_of, stage.campaign.name, ROWS) is None


async def test_whoever_has_lost_the_night_leaves_its_sheets_as_they_are(ledger: Ledger) -> None:
    own = {"inbox": "spring", "zone": "UTC", "seconds": 60.0, "is_dead": lambda _: False}
    claim = partial(claim_night, **own, date="2026-11-20")
    night = await ledger.write(partial(claim, place="one", at=0.0))
    await ledger.write(partial(see_sheets, inbox="spring", seen={"a.csv": "1"}, at=0.0))
    change = partial(close, sheet=SHEET, night=night, report="{}")

    await ledger.write(partial(let_lapse, name=night_lease("spring")))
    await ledger.write(partial(claim, place="another", at=60.0))
    assert not await ledger.write(partial(change, place="one"))
    found = await ledger.read(partial(sheets_in, inbox="spring"))
    assert found["a.csv"].outcome is None
    assert await ledger.write(partial(change, place="another"))
    found = await ledger.read(partial(sheets_in, inbox="spring"))
    assert found["a.csv"].outcome == "delivered"


def _keep(connection: object, take: int) -> None:
    review(connection, take_id=take, verdict="keep", by="Alice", at=1.0)
