"""What is cancelled after it was approved, and before its run has begun, is not paid for."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from callsheet.flows.approved_plan import execute
from callsheet.tasks.aftercare.cancel import cancel
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.runs import run_again
from tests.board.conftest import settings_at
from tests.board.unbegun import approved_plan
from tests.databases import lay_ledger
from tests.fixtures import sandbox_fixture
from tests.programs import Sandbox

service = sandbox_fixture()


async def test_nothing_of_it_is_paid_for(
    tmp_path: Path, made_ledger: Path, service: Sandbox
) -> None:
    lay_ledger(tmp_path, made_ledger)
    run_id = await approved_plan(tmp_path, service.environ, "spring", kind="sheet")
    settings = settings_at(tmp_path, service.environ)
    async with await open_ledger(settings.ledger) as ledger:
        asked = partial(cancel, ask=RunOptions(campaign="spring"), by="Ann", at=1.0)
        assert await ledger.write(asked) is not None
        assert await execute(run_id, settings, place="a worker") is None
        assert await ledger.write(run_again, run_id=run_id, at=2.0)

    end = await execute(run_id, settings, place="a worker")

    assert (end.exit_status, "cancelled by Ann" in str(end.words)) == (4, True)
    assert "nothing was spent" in str(end.words)
    assert service.bought() == []
