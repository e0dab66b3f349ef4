"""A run that stops with videos under way, and cannot download them, ends with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.flows.approved_plan import execute
from callsheet.flows.executor import PLAIN
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.plans import void_plan
from tests.board.conftest import settings_at
from tests.board.unbegun import approved_plan, run_of
from tests.programs import Sandbox, sandbox


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with sandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


async def test_it_says_why_it_stopped_and_what_keeps_its_videos_away(
    tmp_path: Path, service: Sandbox
) -> None:
    run = await approved_plan(tmp_path, service.environ, "spring", kind="retake")
    no_folder = tmp_path / "a file"
    no_folder.write_text("where videos were to go")
    settings = settings_at(tmp_path, {**service.environ, "CALLSHEET_STORE": f"{no_folder}/"})
    async with await open_ledger(settings.ledger) as ledger:
        plan_id = (await run_of(tmp_path, run)).plan_id
        assert await ledger.write(
            void_plan, plan_id=plan_id, old="approved", words="Ann thought again"
        )

    end = await execute(run, settings, PLAIN, place="a worker")

    over = await run_of(tmp_path, run)
    assert end is not None
    assert (over.exit, over.words, over.place, over.is_over) == (2, end.words, None, True)
    assert "Ann thought again" in str(end.words)
    assert f"videos cannot be written to {no_folder}" in str(end.words)
