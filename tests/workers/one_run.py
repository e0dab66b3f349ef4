"""`one_run(SHEET, COUNT, BUDGET)`: a run with workers, whoever starts those.

What it has started is said on its output, a line each: `start PRODUCTION NUMBER TURN`. Its outcome
is the last line. Settings are those of its environment.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from callsheet.flows.executor import run_sheet
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.workers import WorkersAtWork
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.settings import load_settings
from tests.approvers import Approving


class Asking:
    """Asks whoever reads its output to start workers, and knows nothing more of them."""

    async def start(self, production: str, number: int, turn: int) -> None:
        print(f"start {production} {number} {turn}", flush=True)

    async def at_work(self) -> WorkersAtWork | None:
        return WorkersAtWork(0, 0)

    async def end(self) -> None:
        pass


async def asking() -> Asking:
    return Asking()


async def run(sheet: str, count: int, budget: str) -> int:
    """Run a sheet with so many workers; print the outcome and return its exit status."""
    options = RunOptions(sheet=sheet, workers=count, wait="poll", budget=Decimal(budget))
    try:
        running = partial(run_sheet, options, load_settings(), Approving())
        outcome = await running(find_starter=asking)
    except CallsheetError as error:
        print(str(error), file=sys.stderr)
        return error.exit_status
    print(json.dumps(outcome.as_json()), flush=True)
    return outcome.exit_status


def main(words: Sequence[str]) -> int:
    """Run as a program of the launcher."""
    sheet, count, budget = words
    return asyncio.run(run(sheet, int(count), budget))
