"""Kills of a night: what is killed is taken up, and no night spends more than it may.

    python -m tests.pipeline.night_kills [--every N]    every visit of a crash point, or one in N

Of two sheets that cost 30 credits each one fits into the 45 of the night, however often it is
killed and swept again. The checker reads the service's own charge log first, then the ledger.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.nightly_runs import nights_of
from callsheet.tasks.ledger.values import rows_of, takes_of
from callsheet.tasks.nights.reports import NightReport
from tests.programs import Desk, Sandbox, sandbox, simple_sheet
from tests.torture.hook import Hook, Visit, visits

ROWS = 2
WORDS = ("nightly", "inbox", "--approve-up-to", "45", "--json")


@dataclass(frozen=True)
class Trial:
    """What became of a night that was killed: its visits, and what is wrong, in a sentence each."""

    visits: Sequence[Visit]
    killed: bool
    findings: Sequence[str]


def sweep_killed(
    folder: Path,
    service: Sandbox,
    name: str,
    point: str | None,
    nth: int = 1,
    *,
    ledger: str | None = None,
) -> Trial:
    """Kill the first sweep of a night at a visit; sweep again, twice; in the folder's ledger."""
    address = ledger or f"sqlite:///{folder / '.callsheet' / 'ledger.db'}"
    desk = Desk(folder, {**service.environ, "CALLSHEET_LEDGER": address})
    inbox = folder / "inbox"
    inbox.mkdir()
    for letter in "ab":
        (inbox / f"{name}-{letter}.csv").write_text(simple_sheet(ROWS, title=f"{name} {letter}"))
    trace = folder / "trace"
    first = desk.call(*WORDS, hook=Hook(trace, point, nth).as_json())
    killed = first.status < 0
    again, last = desk.call(*WORDS), desk.call(*WORDS)
    found = [] if killed or point is None else [f"{point} was visited less than {nth} times"]
    found += [f"it ended with {one.status}: {one.err}" for one in (again, last) if one.status != 4]
    if last.json["charged"]:
        found.append(f"the last sweep was charged {last.json['charged']}")
    wrong = asyncio.run(_wrong(address, service, name, str(inbox)))
    return Trial(visits(trace), killed, found + wrong)


async def _wrong(address: str, service: Sandbox, name: str, inbox: str) -> list[str]:
    """Return what is wrong once all is over: charges, rows, what was approved and told."""
    async with await open_ledger(address) as ledger:
        charges: Counter[str] = Counter()
        states: dict[str, Counter[str]] = {}
        for letter in "ab":
            campaign = await ledger.read(find_campaign, name=f"{name}-{letter}")
            if campaign is None:
                return [f"there is no campaign {name}-{letter}"]
            rows = await ledger.read(rows_of, campaign_id=campaign.id)
            takes = await ledger.read(takes_of, campaign_id=campaign.id)
            charges += service.charged([take.key for _, take in takes if take.key])
            states[letter] = Counter(row.state for row in rows)
        kept = await ledger.read(nights_of, inbox=inbox, limit=9)
    found = [f"{key} was charged {n} times" for key, n in charges.items() if n != 1]
    if len(charges) != ROWS or states != {"a": {"delivered": ROWS}, "b": {"quoted": ROWS}}:
        found.append(f"{len(charges)} takes were charged, the rows are {states}")
    if [one.approved for one in kept] != [30]:
        found.append(f"approved in the night: {[one.approved for one in kept]}")
    for one in kept:
        told = NightReport.read(one.report or "{}")
        if told.charged != 30 or one.ended_at is None:
            found.append(f"the night tells of {told.charged} credits, ended {one.ended_at}")
    return found


def main() -> int:
    """Kill at every nth visit; say what is wrong; return how much is."""
    parser = argparse.ArgumentParser(prog="python -m tests.pipeline.night_kills")
    parser.add_argument("--every", type=int, default=1)
    every = parser.parse_args().every
    options = ("--credits", "100000000", "--time-scale", "600")
    with tempfile.TemporaryDirectory() as state, sandbox(Path(state), *options) as service:
        numbers = iter(range(10**6))

        def attempt(point: str | None, nth: int = 1) -> Trial:
            with tempfile.TemporaryDirectory() as folder:
                return sweep_killed(Path(folder), service, f"k{next(numbers)}", point, nth)

        reference = attempt(None)
        counts: Counter[str] = Counter()
        kills = []
        for visit in reference.visits:
            counts[visit.point] += 1
            kills.append((visit.point, counts[visit.point]))
        tried = kills[random.randrange(every) :: every]
        broken = list(reference.findings)
        struck = 0
        for point, nth in tried:
            trial = attempt(point, nth)
            struck += trial.killed
            # How often a video is looked at is up to the clock: not every visit comes again.
            found = [one for one in trial.findings if trial.killed or "was visited" not in one]
            broken += found
            for one in found:
                print(f"visit {nth} of {point}: {one}", flush=True)
    print(f"{len(kills)} visits, {struck} of {len(tried)} killed, {len(broken)} findings")
    return len(broken)


if __name__ == "__main__":
    raise SystemExit(bool(main()))
