"""One run of an approved plan, of the rows that another run left, or of an inbox: its own process.

    python -m callsheet.deployments.board.run_process RUN
    python -m callsheet.deployments.board.run_process campaign.NUMBER
    python -m callsheet.deployments.board.run_process inbox.NAME

The board starts it in a session of its own, so that it outlives the board, and hands it the very
settings that the board has on its standard input, which no one else can read.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
import time
from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote

from callsheet.deployments.process import STOPPED, on_signal, stopping
from callsheet.flows.approved_plan import execute
from callsheet.flows.nightly_run import hold_night
from callsheet.flows.perform import perform
from callsheet.tasks.aftercare.resume import RESUME
from callsheet.tasks.campaign.approver import approve_nothing
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import OpenRuns, Run
from callsheet.tasks.campaign.run_record import comes_from
from callsheet.tasks.engine.owner import this_process
from callsheet.tasks.engine.progress import Snapshot, log_line
from callsheet.tasks.ledger.campaigns import all_campaigns
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.nights.inboxes import listed_inbox
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.logs import DATED, log_as, log_for_people
from callsheet.tasks.runtime.process import raise_file_limit
from callsheet.tasks.runtime.redact import redact, say

#: How often progress is written into the log, in seconds.
PACE = 10.0
#: Begin what stands for a campaign whose rows under way are resumed, and for an inbox that is
#: scanned, whose name is quoted as in an address; no run's id has a dot.
CAMPAIGN, INBOX = "campaign.", "inbox."


def resuming(campaign_id: int) -> str:
    """Return what stands for a campaign whose rows under way are resumed."""
    return f"{CAMPAIGN}{campaign_id}"


def scanning(inbox: str) -> str:
    """Return what stands for an inbox that is scanned."""
    return f"{INBOX}{quote(inbox, safe='')}"


def main(run_id: str) -> int:
    """Process the run; its end is in the ledger, and its exit status is how that was."""
    log_for_people(layout=DATED)
    raise_file_limit()
    settings = pickle.load(sys.stdin.buffer)
    log_as(settings.log, settings.log_level)
    place = f"{this_process()}:0"
    comes_from("board", "the board")
    try:
        if run_id.startswith(CAMPAIGN):
            return asyncio.run(_resume(int(run_id.removeprefix(CAMPAIGN)), settings))
        if run_id.startswith(INBOX):
            return asyncio.run(_scan(unquote(run_id.removeprefix(INBOX)), settings))
        end = asyncio.run(execute(run_id, settings, place=place, watch=_watched))
    except CallsheetError as error:
        say(redact(str(error)))
        return error.exit_status
    if end is None:
        return 0
    say(redact(f"ended with {end.exit_status}: {end.words or 'all is said'}"))
    return end.exit_status


async def _resume(campaign_id: int, settings: Settings) -> int:
    """Deliver a campaign's rows under way and start nothing new; return the exit status."""
    async with await open_ledger(settings.ledger, create=False) as ledger:
        known = await ledger.read(all_campaigns)
    campaign = next(one for one in known if one.id == campaign_id)
    ask = RunOptions(campaign=campaign.name, sandbox=settings.sandbox)
    done = await perform(RESUME, ask, settings, approve_nothing, watch=_watched)
    words = done.outcome and done.outcome.words
    say(redact(f"ended with {done.exit_status}: {words or 'all is said'}"))
    return done.exit_status


async def _scan(name: str, settings: Settings) -> int:
    """Scan an inbox that is listed, as `callsheet nightly` does; return the exit status."""
    inbox = listed_inbox(name, Path.cwd(), settings.nights)
    runs = OpenRuns()
    with on_signal(partial(runs.lose, STOPPED)):
        report = await hold_night(inbox, settings, watch=_logged, runs=runs)
    say(redact(report.skipped or f"ended with {report.exit_status}"))
    return report.exit_status


@contextlib.asynccontextmanager
async def _watched(run: Run) -> AsyncIterator[None]:
    """End in order at a signal, and write now and then how far it is."""
    async with _logged(run):
        with stopping(run):
            yield


@contextlib.asynccontextmanager
async def _logged(run: Run) -> AsyncIterator[None]:
    """Write now and then how far a run is."""
    last = 0.0

    def write(snapshot: Snapshot) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PACE or snapshot.done == snapshot.to_do:
            last = now
            say(redact(log_line(snapshot, datetime.now().astimezone())))

    run.on_wait = lambda words: say(redact(f"{words}: waiting for it"))
    run.listeners.append(write)
    yield


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
