"""What one worker has claimed: it is told when it has lost it, and whose videos it may make."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from callsheet.tasks.campaign.worker import Claims, Worker, claiming_rows, limited, terms_of
from callsheet.tasks.engine.context import Context, connect, organisation_of
from callsheet.tasks.ledger.accounts import Terms
from callsheet.tasks.ledger.distributed_runs import (
    Production,
    begin_production,
    begin_worker,
    claim_rows,
    headway_of,
)
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.takes import open_take
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings
from tests.campaigns import NOW, Stage, brief
from tests.leasing import acquire_lease, take_over

OWNER = "workers:1"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    # What is held against each other here is the same on both databases.
    async with await open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        stage = await Stage.set(ledger, brief("a"), brief("b"))
        for row in ("a", "b"):
            await stage.approve(row)
        assert await stage.write(acquire_lease, stage.campaign, owner=OWNER) is None
        yield stage


async def begin(stage: Stage, **own: str) -> Production:
    values = {"id": "1", "organisation": "o", "store": "s", **own}
    production = Production(
        campaign_id=stage.campaign.id,
        campaign=stage.campaign.name,
        owner=OWNER,
        workers=2,
        batch_size=1,
        terms=terms_of(Terms(), Settings(home=Path())),
        **values,
    )
    return await stage.write(begin_production, production)


async def another_claims(stage: Stage, production: Production) -> tuple[int, ...]:
    """Start another worker, which claims a batch; return the numbers of its rows."""
    worker = await stage.write(begin_worker, production=production, seconds=60.0)
    return await stage.write(claim_rows, production=production, worker=worker, seconds=60.0)


async def silent(stage: Stage, production: Production, heard: list[str]) -> Claims:
    """Return what a worker has claimed whose lease lapses at once."""
    number = await stage.write(begin_worker, production=production, seconds=-1.0)
    claims = Claims(stage.ledger, production, number, lapse=-1.0, on_lost=heard.append)
    assert await claims.claim()
    return claims


@pytest.mark.merge
async def test_it_keeps_what_it_renews_and_lets_go_of_the_rest(stage: Stage):
    production, heard = await begin(stage), list[str]()
    claiming = claiming_rows(stage.ledger, production, lapse=4.0, on_lost=heard.append)
    async with claiming as claims:
        assert await claims.claim()
        await asyncio.sleep(5.0)
        assert await claims.holds()
        assert (await stage.ledger.read(headway_of, production=production)).held
    found = await stage.ledger.read(headway_of, production=production)
    assert (found.held, found.claimable) == (False, True)
    assert not heard


@pytest.mark.safeguard(
    "tasks/campaign/worker.py", "return None if renewed else words", "return None"
)
async def test_one_that_was_silent_for_too_long_is_told_that_others_have_its_rows(stage: Stage):
    production, heard = await begin(stage), list[str]()
    claims = await silent(stage, production, heard)
    assert await another_claims(stage, production)

    assert not await claims.holds()
    assert heard == ["a worker was silent for too long, and others may have its rows"]
    assert not claims.is_taken_over


async def test_one_whose_campaign_somebody_else_has_is_told_so(stage: Stage):
    production, heard = await begin(stage), list[str]()
    claims = await silent(stage, production, heard)
    await stage.write(take_over, stage.campaign, owner="somebody")

    assert not await claims.holds()
    assert claims.is_taken_over
    assert heard == ["campaign spring was taken over by another run"]


@pytest.fixture
async def at(tmp_path: Path, stage: Stage) -> AsyncIterator[Context]:
    environ = {
        "CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1",
        "CALLSHEET_API_KEY": "key",
        "CALLSHEET_STORE": str(tmp_path / "videos"),
        "CALLSHEET_LEDGER": f"sqlite:///{tmp_path / 'ledger.db'}",
    }
    async with connect(load_settings(environ=environ, folder=tmp_path)) as at:
        yield at


TERMS = Terms(
    owner=OWNER,
    month_budget=Decimal("112.5"),
    day_budget=Decimal("12.5"),
    cost_center_budgets={"sales": Decimal(7)},
    run="r1",
    run_budget=Decimal(30),
    at_limit="fit",
)


@pytest.mark.safeguard(
    "tasks/campaign/worker.py",
    '"month_budget": _text(terms.month_budget),',
    '"month_budget": None,',
)
async def test_a_worker_sets_aside_on_the_terms_of_its_run(stage: Stage, at: Context):
    strict = at.settings.model_copy(update={"quote_tolerance": Decimal(0), "quote_age": 60.0})
    lax = at.settings.model_copy(update={"quote_tolerance": Decimal("0.5")})
    kept = json.loads(json.dumps(terms_of(TERMS, strict)))
    production = replace(await begin(stage), terms=kept)
    claims = await silent(stage, production, [])
    mine = limited(replace(at, settings=lax), claims)
    assert replace(mine.terms, claim=None) == TERMS
    assert mine.settings == strict

    async def intends(row: str) -> bool:
        found = await stage.row(row)
        key = found.key()
        body = found.body(key)
        take = await stage.write(open_take, found, key=key, body=body, at=NOW, terms=mine.terms)
        return take is not None

    assert not await intends("b")
    assert await intends("a")
    assert await another_claims(stage, production)
    assert not await mine.in_charge()


@pytest.mark.safeguard(
    "tasks/campaign/worker.py",
    "if found.organisation != organisation_of(at.settings):",
    "if False:",
)
async def test_a_worker_makes_no_videos_for_another_key_or_store(stage: Stage, at: Context):
    store = at.store.address
    with pytest.raises(BadInput, match="no production 1; nothing was spent"):
        await Worker(at, "1", 1).process()

    await begin(stage, store=store)
    with pytest.raises(ConfigurationError, match="another key or service"):
        await Worker(at, "1", 1).process()

    await begin(stage, id="2", organisation=organisation_of(at.settings))
    with pytest.raises(ConfigurationError, match="would deliver to"):
        await Worker(at, "2", 1).process()
