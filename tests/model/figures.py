"""The figures agree, wherever they are shown, and with what the service itself has charged.

Adds up what each page, file and command shows of rows, takes and the campaign as it stands.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from callsheet.deployments.campaign_status import CampaignStatus, status_document
from callsheet.tasks.aftercare.export import What, export
from callsheet.tasks.campaign.report import row_documents, status_sheet
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign, tally_of
from callsheet.tasks.ledger.row_views import stream
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.values import UNDER_WAY, rows_of
from callsheet.tasks.values.amounts import from_micro
from tests.model.service import SimulatedService, Violation

#: Where a paid call may be under way, or nobody knows: also of a stalled row that left the sheet.
WAITING = UNDER_WAY | {"held", "stalled", "uncertain", "retired"}
ADDED = ("quoted", "reserved", "charged", "paid_before", "variance")
Line = Mapping[str, Any]


def check_figures(connection: Connection, name: str, service: SimulatedService, now: float) -> None:
    """Raise Violation unless every sum of the same figure is the same."""
    campaign = find_campaign(connection, name)
    assert campaign is not None
    tally = tally_of(connection, campaign)
    found = rows_of(connection, campaign.id)
    shown = list(map(row_documents(connection, campaign.id), found))
    status = status_document(CampaignStatus(campaign, tally))["credits"]
    wanted = {name: Decimal(str(status[name])) for name in ADDED}
    run = RunOutcome(campaign=name, tally=tally, charged_this_run=Decimal(0), exit_status=0)
    read = partial(_exported, connection, campaign)
    sums = {
        "the account": {"reserved": campaign.reserved, "charged": campaign.charged},
        "run": {name: Decimal(str(run.as_json()["credits"][name])) for name in ADDED},
        "rows": _sums(shown, ADDED),
        "the status sheet": _sums(_sheet(connection, campaign), ADDED),
        "the export of rows": _sums(read("rows"), ADDED),
        "the export of takes": _sums(read("takes"), ("reserved", "charged")),
        "the chargeback": _sums(list(read("chargeback"))[-1:], ("reserved", "charged")),
        "the service": {"charged": wanted["charged"] - _unknown(connection, service, now)},
    }
    for where, added in sums.items():
        if any(added[name] != wanted[name] for name in added):
            raise Violation(f"{where}: {added}, but status shows {wanted}")
    _check_set_aside(connection)


def _check_set_aside(connection: Connection) -> None:
    """Raise Violation where credits are set aside for what is neither under way nor left behind."""
    wanted = (takes.c.digest == rows.c.digest).label("wanted")
    query = select(rows.c.row, rows.c.state, rows.c.take_id, wanted, takes)
    for take in connection.execute(query.join(takes, takes.c.row_id == rows.c.id)):
        waits = take.state in WAITING and take.take_id == take.id
        # What a person left behind without an end may still be charged, be it by another take or by
        # editing a row that had stalled: changed back, the row goes on with it.
        if take.reserved and not waits and take.wanted and not take.abandoned_at:
            raise Violation(f"{take.reserved} are set aside for {take.row}, {take.state}: {take}")


def _sums(lines: Iterable[Line], names: Iterable[str]) -> dict[str, Decimal]:
    kept = list(lines)
    return {
        name: sum((Decimal(str(line[name] or 0)) for line in kept), Decimal(0)) for name in names
    }


def _exported(connection: Connection, campaign: Campaign, what: What) -> list[Line]:
    out = io.BytesIO()
    export(connection, campaign, out, what=what, format="jsonl")
    lines = [json.loads(line, parse_float=Decimal) for line in out.getvalue().splitlines()]
    return [line for line in lines if line.get("by") != "tag"]


def _sheet(connection: Connection, campaign: Campaign) -> Iterable[Line]:
    import csv

    content = status_sheet(stream(connection, campaign.id)).decode("utf-8-sig")
    for line in csv.DictReader(io.StringIO(content)):
        yield {name: line[f"cs_{name}"] for name in ADDED}


def _unknown(connection: Connection, service: SimulatedService, now: float) -> Decimal:
    """Return what the ledger books beyond the service's own log, of takes that have ended."""
    made_by = {made.take: made for made in service.videos.values() if made.take}
    difference = Decimal(0)
    for take in connection.execute(select(takes).where(takes.c.charged.is_not(None))):
        made = made_by.get(take.id)
        # What a person gave up counts as paid, though nobody knows; so does a video that was
        # deleted at the service before anybody had read what it cost.
        unread = made is not None and made.deleted and take.charged == take.quoted
        if take.abandoned_at is None and not unread:
            difference += from_micro(take.charged) - (made.costs(now) if made else 0)
    return difference
