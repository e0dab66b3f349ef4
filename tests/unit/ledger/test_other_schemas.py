"""A ledger of another schema is refused with a sentence that says what to do."""

from __future__ import annotations

from functools import partial

import pytest

from callsheet.tasks.ledger.campaigns import ensure_campaign, find_campaign
from callsheet.tasks.ledger.distributed_runs import begin_worker, renew_worker
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.maintenance import upgrade_ledger
from callsheet.tasks.ledger.schema import REVISION
from callsheet.tasks.runtime.errors import LedgerError, LedgerNewer
from tests.campaigns import Stage
from tests.leasing import acquire_lease
from tests.unit.ledger.test_opening import run
from tests.unit.ledger.test_productions import OWNER, begin

NOTED = "UPDATE callsheet_version SET version_num = '{}'"


@pytest.mark.parametrize("schema", ["9001", "10001", "1975ea83b712"])
async def test_a_newer_ledger_is_refused(made_address: str, schema: str) -> None:
    run(made_address, NOTED.format(schema))
    try:
        with pytest.raises(LedgerNewer, match=f"schema {schema}, which is newer than this") as told:
            await open_ledger(made_address)
        assert "upgrade Callsheet" in str(told.value.remedy)
        with pytest.raises(LedgerNewer, match="nothing was spent"):
            upgrade_ledger(made_address, by="Ann", at=1.0)
    finally:
        run(made_address, NOTED.format(REVISION))


@pytest.mark.parametrize("schema", ["0001", "0023"])
async def test_a_ledger_from_before_the_first_release_is_refused(
    made_address: str, schema: str
) -> None:
    run(made_address, NOTED.format(schema))
    try:
        with pytest.raises(LedgerError, match=f"schema {schema}, of a Callsheet before its first"):
            await open_ledger(made_address)
        with pytest.raises(LedgerError, match="nothing was spent") as refused:
            upgrade_ledger(made_address, by="Ann", at=1.0)
    finally:
        run(made_address, NOTED.format(REVISION))
    remedy = str(refused.value.remedy)
    assert "finish its campaigns with the version that made it" in remedy
    assert "run each sheet once more" in remedy
    assert "a new ledger with CALLSHEET_LEDGER, which finds what was paid for" in remedy


async def test_who_is_at_work_begins_nothing_after_an_upgrade_past_it(made_address: str) -> None:
    async with await open_ledger(made_address) as ledger:
        named = {"sheet": "s", "sheet_digest": "d", "at": 1.0}
        campaign = await ledger.write(ensure_campaign, name="spring", **named)
        lease = partial(acquire_lease, campaign=campaign, owner="me")
        before = await ledger.read(find_campaign, name="spring")
        run(made_address, NOTED.format("9002"))
        try:
            with pytest.raises(LedgerNewer):
                await ledger.write(lease)
        finally:
            run(made_address, NOTED.format(REVISION))
        found = await ledger.read(find_campaign, name="spring")
        assert found == before
        assert await ledger.write(lease) is None


async def test_a_worker_renews_nothing_after_an_upgrade_past_it(
    ledger: Ledger, stage: Stage
) -> None:
    await stage.write(acquire_lease, stage.campaign, owner=OWNER)
    production = await begin(stage)
    number = await stage.write(begin_worker, production=production, seconds=9.0)
    worker = {"production": production, "worker": number, "seconds": 9.0}
    with_next = NOTED.format("9002")
    await ledger.write(lambda connection: connection.exec_driver_sql(with_next))
    try:
        with pytest.raises(LedgerNewer):
            await stage.write(renew_worker, **worker)
    finally:
        as_it_was = NOTED.format(REVISION)
        await ledger.write(lambda connection: connection.exec_driver_sql(as_it_was))
    assert await stage.write(renew_worker, **worker)
