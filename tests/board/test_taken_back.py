"""A plan that is taken back after it was approved, and before its rows are, pays for nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from callsheet.flows.approved_plan import execute
from callsheet.flows.executor import PLAIN
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.ledger.plans import void_plan
from tests.board.conftest import settings_at
from tests.board.unbegun import approved_plan, run_of
from tests.databases import lay_ledger
from tests.doors import delay_approval
from tests.programs import Sandbox, sandbox


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with sandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


async def test_nothing_of_it_is_approved_or_paid_for(
    tmp_path: Path, made_ledger: Path, service: Sandbox
) -> None:
    lay_ledger(tmp_path, made_ledger)
    run_id = await approved_plan(tmp_path, service.environ, "spring", kind="sheet")
    plan_id = (await run_of(tmp_path, run_id)).plan_id

    @asynccontextmanager
    async def watch(run: Run) -> AsyncIterator[None]:
        void = partial(void_plan, plan_id=plan_id, old="approved", words="Ann thought again")
        delay_approval(run, partial(run.at.ledger.write, void))
        yield

    settings = settings_at(tmp_path, service.environ)
    end = await execute(run_id, settings, PLAIN, place="a worker", watch=watch)

    assert end is not None
    assert (end.exit_status, "Ann thought again" in str(end.words)) == (4, True)
    assert "nothing was spent" in str(end.words)
    assert service.bought() == []
