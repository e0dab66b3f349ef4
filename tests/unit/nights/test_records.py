"""What the ledger is told of a sheet in a night."""

from __future__ import annotations

from functools import partial

from callsheet.tasks.ledger.inbox_sheets import SweptSheet, see_sheets, sheets_in
from callsheet.tasks.ledger.leases import night_lease
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.nightly_runs import claim_night
from callsheet.tasks.nights.records import close
from tests.leasing import let_lapse

SHEET = SweptSheet(name="a.csv", version="1", seen_at=0.0, outcome="delivered")


async def test_whoever_has_lost_the_night_leaves_its_sheets_as_they_are(ledger: Ledger) -> None:
    own = {"inbox": "spring", "zone": "UTC", "seconds": 60.0, "is_dead": lambda _: False}
    claim = partial(claim_night, **own, date="2026-11-20")
    night = await ledger.write(claim, place="one", at=0.0)
    await ledger.write(see_sheets, inbox="spring", seen={"a.csv": "1"}, at=0.0)
    change = partial(close, sheet=SHEET, night=night, report="{}")

    await ledger.write(let_lapse, name=night_lease("spring"))
    await ledger.write(claim, place="another", at=60.0)
    assert not await ledger.write(change, place="one")
    found = await ledger.read(sheets_in, inbox="spring")
    assert found["a.csv"].outcome is None
    assert await ledger.write(change, place="another")
    found = await ledger.read(sheets_in, inbox="spring")
    assert found["a.csv"].outcome == "delivered"
