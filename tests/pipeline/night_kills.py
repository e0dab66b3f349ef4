"""Kills of a night: what is killed is taken up, and no night spends more than it may.

Of two sheets that cost 30 credits each one fits into the 45 of the night, however often it is
killed and swept again. The checker reads the service's own charge log first, then the ledger.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.nightly_runs import nights_of
from callsheet.tasks.ledger.values import rows_of, takes_of
from callsheet.tasks.nights.reports import NightReport
from tests.programs import Desk, Sandbox, simple_sheet
from tests.torture.hook import visits
from tests.torture.sweep import Kill, Trial

ROWS = 2
WORDS = ("nightly", "inbox", "--approve-up-to", "45", "--json")


def sweep_killed(
    folder: Path,
    service: Sandbox,
    name: str,
    kill: Kill,
    *,
    ledger: str | None = None,
) -> Trial:
    """Kill the first sweep of a night at a visit; sweep again, twice; in the folder's ledger."""
    address = ledger or f"sqlite:///{folder / '.callsheet' / 'ledger.db'}"
    desk = Desk(folder, {**service.environ, "CALLSHEET_LEDGER": address})
    inbox = folder / "inbox"
    inbox.mkdir()
    for letter in "ab":
        # No other night of the same service has these videos.
        text = simple_sheet(ROWS).replace("Kettle", f"{name} {letter}")
        (inbox / f"{name}-{letter}.csv").write_text(text)
    trace = folder / "trace"
    first = desk.call(*WORDS, hook=kill.hook(trace))
    again, last = desk.call(*WORDS), desk.call(*WORDS)
    found = [f"it ended with {one.status}: {one.err}" for one in (again, last) if one.status != 4]
    if last.json["charged"]:
        found.append(f"the last sweep was charged {last.json['charged']}")
    wrong = asyncio.run(_wrong(address, service, name, str(inbox)))
    return Trial(visits(trace), found + wrong, killed=first.status < 0)


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
