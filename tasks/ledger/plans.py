"""Sheets that were uploaded on the board, and plans that wait for approval or had it.

A plan's state moves one way: `quoting -> ready -> approved`, or to `void` with words that say why.
Each move names the state it comes from, so that of two who approve one is first. Amounts in
credits, moments in Unix seconds.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, null, select, update

from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import campaigns
from callsheet.tasks.ledger.schema_runs import header_columns, people, plans, runs, sheets
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.values.amounts import from_micro

PlanKind = Literal["run", "retake"]
PlanState = Literal["quoting", "ready", "approved", "void", "expired"]
#: How long a plan stays once it has expired, so that links to it lead on, in seconds.
KEPT = 30 * 86400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptSheet:
    """A sheet that was uploaded: `place` is where it comes from, `digest` the sha256 of its bytes.

    `name` is what it was called.
    """

    id: str
    name: str
    place: str
    digest: str
    added_by: str
    added_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptPlan:
    """A plan as the ledger has it; `document` and `total` are there once it is ready.

    `terms` are what was asked for. A ready one is no longer to be approved after `expires_at`.
    """

    id: str
    kind: PlanKind
    campaign: str
    sheet_id: str | None
    terms: Mapping[str, Any]
    state: PlanState
    document: Mapping[str, Any] | None
    total: Decimal | None
    words: str | None
    made_by: str
    made_at: float
    expires_at: float | None
    approved_by: str | None
    approved_at: float | None
    replaced_by: str | None

    @property
    def approval(self) -> str:
        """Who approved it, and where that was not on the board how: `approved with --yes`."""
        by = self.approved_by or ""
        return by if by.startswith("approved ") else f"approved by {by}"

    @property
    def on_board(self) -> str:
        """Who approved it on the board, as it stands in the history of its rows."""
        return f"{self.approval} on the board, plan {self.id}"

    def state_at(self, moment: float) -> PlanState:
        """Return its state at a moment: what is ready expires by itself."""
        late = self.expires_at is not None and self.expires_at <= moment
        return "expired" if self.state == "ready" and late else self.state


#: What the history of a row says of an approval.
_PLAN = re.compile(r", plan \S+$")
_BY = re.compile(r"approved by (.+?) (?:on the board|at the terminal|with --yes|with the plan)\b.*")


def approver_in(approval: str) -> str:
    """Return who approved, of the words of an approval; else those, without its plan."""
    words = _PLAN.sub("", approval)
    named = _BY.fullmatch(words)
    return named[1] if named else words


def keep_sheet(connection: Connection, sheet: KeptSheet) -> None:
    """Keep what was uploaded."""
    connection.execute(sheets.insert().values(_SHEETS.line(sheet)))


def find_sheet(connection: Connection, sheet_id: str) -> KeptSheet | None:
    """Return a sheet that was uploaded."""
    return _SHEETS.first(connection, _SHEETS.query.where(sheets.c.id == sheet_id))


def drop_sheets(connection: Connection, *, before: float) -> list[KeptSheet]:
    """Remove sheets that were uploaded before a moment and have no plan.

    Returns those whose file no other sheet has.
    """
    planned = select(plans.c.id).where(plans.c.sheet_id == sheets.c.id).exists()
    query = delete(sheets).where(sheets.c.added_at < before, ~planned).returning(*_SHEETS.columns)
    dropped = [_SHEETS.read(found) for found in connection.execute(query)]
    files = select(sheets.c.name, sheets.c.digest)
    left = set(connection.execute(files).tuples()) if dropped else set()
    return [one for one in dropped if (one.name, one.digest) not in left]


def keep_columns(
    connection: Connection, headers: str, columns: Mapping[str, str], *, by: str, at: float
) -> dict[str, str]:
    """Add header -> column to what is known of sheets with these headers; return all of it."""
    known = {**columns_of(connection, headers, to_change=True), **columns}
    values = {"columns": json.dumps(known, ensure_ascii=False), "by": by, "at": at}
    if not insert_unless_there(connection, header_columns, {"headers": headers, **values}):
        these = header_columns.c.headers == headers
        connection.execute(update(header_columns).where(these).values(values))
    return known


def columns_of(connection: Connection, headers: str, *, to_change: bool = False) -> dict[str, str]:
    """Return header -> column, as a person confirmed it for sheets with these headers."""
    query = select(header_columns.c.columns).where(header_columns.c.headers == headers)
    found = connection.scalar(query.with_for_update() if to_change else query)
    return json.loads(found) if found else {}


def begin_plan(
    connection: Connection,
    plan_id: str,
    *,
    kind: PlanKind,
    campaign: str,
    terms: Mapping[str, Any],
    by: str,
    at: float,
    sheet_id: str | None = None,
) -> None:
    """Begin a plan: it is `quoting` until its prices are known."""
    values = {"kind": kind, "campaign": campaign, "sheet_id": sheet_id, "terms": terms}
    made = _PLANS.line(id=plan_id, state="quoting", made_by=by, made_at=at, **values)
    connection.execute(plans.insert().values(made))


def finish_plan(
    connection: Connection,
    plan_id: str,
    *,
    campaign: str,
    document: Mapping[str, Any],
    total: Decimal,
    expires_at: float,
) -> bool:
    """Make a plan ready, with all that it says from now on; False where it is quoting no more."""
    packed = pack([json.dumps(document, ensure_ascii=False).encode()])
    values = {"campaign": campaign, "document": packed, "total": total, "expires_at": expires_at}
    return _move(connection, plan_id, "quoting", state="ready", **values)


def void_plan(
    connection: Connection,
    plan_id: str,
    *,
    old: PlanState,
    words: str,
    replaced_by: str | None = None,
) -> bool:
    """Have a plan stand no longer, and say why; False where it is not `old` any more."""
    values = {"words": words, "replaced_by": replaced_by}
    return _move(connection, plan_id, old, state="void", **values)


def approve_plan(
    connection: Connection, plan_id: str, *, terms: Mapping[str, Any], by: str, at: float
) -> bool:
    """Note whose word a plan has, and the budget given with it in `terms`; False if not ready."""
    values = {"approved_by": by, "approved_at": at, "terms": terms}
    return _move(connection, plan_id, "ready", state="approved", **values)


def add_approved(
    connection: Connection,
    plan_id: str,
    *,
    kind: PlanKind,
    campaign: str,
    document: bytes,
    total: Decimal,
    by: str,
    at: float,
) -> None:
    """Store a plan that was made and approved at a door that needs no stored plan to ask.

    `document` is what `pack` made of it, `by` who approved it, in words.
    """
    who = shorten(by, 200)
    approved = {"state": "approved", "approved_by": who, "approved_at": at}
    values = _PLANS.line(
        id=plan_id, kind=kind, campaign=campaign, terms={}, total=total, made_by=who, made_at=at
    )
    connection.execute(plans.insert().values(**values, **approved, document=document))


def pack(pieces: Iterable[bytes]) -> bytes:
    """Return the JSON of a plan, in these pieces, as the ledger keeps it.

    Compressed: the lines of a plan are alike, and are written while others wait.
    """
    packing = zlib.compressobj(1)
    return b"".join([*map(packing.compress, pieces), packing.flush()])


def _unpack(kept: bytes | None) -> Mapping[str, Any] | None:
    return None if kept is None else json.loads(zlib.decompress(kept))


def find_plan(connection: Connection, plan_id: str | None) -> KeptPlan | None:
    """Return a plan."""
    return _PLANS.first(connection, _PLANS.query.where(plans.c.id == plan_id))


def plan_before(connection: Connection, plan_id: str) -> KeptPlan | None:
    """Return the plan whose place another one took."""
    return _PLANS.first(connection, _PLANS.query.where(plans.c.replaced_by == plan_id))


def latest_plan(connection: Connection, plan_id: str) -> str:
    """Return the plan that stands in the place of a plan by now, over all that came between."""
    passed = [plan_id]
    while True:
        query = select(plans.c.replaced_by).where(plans.c.id == passed[-1])
        after = connection.scalar(query)
        if after is None or after in passed:
            return passed[-1]
        passed.append(after)


def ready_plans(connection: Connection, campaign: str, *, made_by: str) -> list[KeptPlan]:
    """Return the plans of a campaign that are ready, by makers of that name; newest last."""
    query = _PLANS.query.where(
        plans.c.campaign == campaign,
        plans.c.state == "ready",
        plans.c.made_by.startswith(made_by, autoescape=True),
    )
    return _PLANS.all(connection, query.order_by(plans.c.made_at))


def extend_plan(connection: Connection, plan_id: str, *, expires_at: float) -> bool:
    """Have a plan that still stands wait for longer; False where it is not ready any more."""
    return _move(connection, plan_id, "ready", expires_at=expires_at)


def drop_old_plans(connection: Connection, *, at: float) -> int:
    """Remove plans that cannot be approved any more, some time after; return how many.

    None that a run was started for. Of those that were approved without the board, the rows go: who
    approved them, when and for how much stays.
    """
    over = func.coalesce(plans.c.expires_at, plans.c.made_at) <= at - KEPT
    run = select(runs.c.id).where(runs.c.plan_id == plans.c.id)
    approved = update(plans).where(plans.c.state == "approved", over, ~run.exists())
    connection.execute(approved.where(plans.c.document.is_not(None)).values(document=None))
    old = delete(plans).where(plans.c.state.in_(("void", "ready")), over, ~run.exists())
    return connection.execute(old).rowcount


def plans_quoting(connection: Connection) -> list[str]:
    """Return the plans whose prices are not known yet, the oldest first."""
    query = select(plans.c.id).where(plans.c.state == "quoting").order_by(plans.c.made_at)
    return list(connection.scalars(query))


def plans_of(
    connection: Connection, campaign: str | None, *, limit: int, with_sheet: bool = False
) -> list[KeptPlan]:
    """Return the newest plans, without their documents: of a campaign, or of all.

    `with_sheet` leaves out those whose sheet the board does not have.
    """
    query = _LISTED.query
    if with_sheet:
        query = query.where(plans.c.sheet_id.is_not(None))
    if campaign is not None:
        query = query.where(plans.c.campaign == campaign)
    return _LISTED.all(connection, query.order_by(plans.c.made_at.desc(), plans.c.id).limit(limit))


def waiting_plans(connection: Connection, *, limit: int) -> list[KeptPlan]:
    """Return plans that wait for approval, the newest first, without their documents.

    Only the newest of each campaign, even if its prices have expired: then it has to be planned
    again before it can be approved.
    """
    newer = plans.alias("newer")
    later = select(newer.c.id).where(
        newer.c.campaign == plans.c.campaign,
        newer.c.made_at > plans.c.made_at,
        newer.c.state.in_(("quoting", "ready", "approved")),
    )
    query = _LISTED.query.where(plans.c.state == "ready", ~later.exists())
    return _LISTED.all(connection, query.order_by(plans.c.made_at.desc(), plans.c.id).limit(limit))


def approved_since(connection: Connection, campaign: str, moment: float) -> KeptPlan | None:
    """Return a plan of the campaign that was approved after a moment, if one was."""
    query = _PLANS.query.where(
        plans.c.campaign == campaign,
        plans.c.state == "approved",
        plans.c.approved_at > moment,
    )
    return _PLANS.first(connection, query.limit(1))


def begun_by(connection: Connection, campaign: str) -> str | None:
    """Return who made the plan with which a campaign began; None where none of it is approved."""
    query = select(plans.c.made_by).where(plans.c.campaign == campaign, plans.c.state == "approved")
    return connection.scalar(query.order_by(plans.c.approved_at, plans.c.made_at).limit(1))


def planned_first(connection: Connection, campaign: str) -> str | None:
    """Return who planned a campaign before it was there: None for one that came another way.

    The ledger takes in the sheet of a plan before it is approved, which may be refused.
    """
    there = select(campaigns.c.created_at).where(campaigns.c.name == campaign).scalar_subquery()
    query = select(plans.c.made_by).where(plans.c.campaign == campaign, plans.c.made_at <= there)
    return connection.scalar(query.order_by(plans.c.made_at).limit(1))


def approved_today(
    connection: Connection, person: str, *, at: float, to_approve: bool = False
) -> Decimal:
    """Return the credits of all plans that a person has approved on the day of `at` (UTC).

    `to_approve` locks the person until the transaction ends, so that two approvals at once are
    counted one after the other.
    """
    if to_approve:
        connection.execute(select(people.c.id).where(people.c.name == person).with_for_update())
    today = plans.c.approved_at >= start_of_day(at)
    query = select(func.sum(plans.c.total)).where(
        plans.c.approved_by == person, plans.c.state == "approved", today
    )
    return from_micro(connection.scalar(query) or 0)


def start_of_day(at: float) -> float:
    """Return when the day of a moment began (UTC)."""
    return at // 86400 * 86400


_SHEETS = Records(KeptSheet, sheets)
_PLANS = Records(KeptPlan, plans, reads={"document": _unpack})
#: As a list shows them: a document may be long.
_LISTED = Records(KeptPlan, plans, document=null())


def _move(connection: Connection, plan_id: str, old: PlanState, **values: Any) -> bool:
    this = update(plans).where(plans.c.id == plan_id, plans.c.state == old)
    return connection.execute(this.values(_PLANS.line(**values))).rowcount == 1
