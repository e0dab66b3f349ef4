"""Quotes and approval: `planned -> quoted -> approved`, in bulk, and back when a price rose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

from sqlalchemy import BigInteger, Connection, Integer, bindparam, case, select, update

from callsheet.tasks.ledger.attempts import FAILED_BEFORE
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.moves import move, move_all, note_approvals, remark
from callsheet.tasks.ledger.schema import rows
from callsheet.tasks.ledger.values import CampaignRow, State
from callsheet.tasks.runtime.errors import MovedOn
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.values.amounts import as_text, from_micro, in_credits, is_above, to_micro

_QUOTE = (
    update(rows)
    .where(rows.c.id == bindparam("the_row"), rows.c.state == bindparam("old"))
    .values(quoted=bindparam("price"), quoted_at=bindparam("moment"))
)
_RETRIES = bindparam("retries", type_=Integer)
# The guarded move of many rows at once, at the price that was shown. It returns the digests: an
# edited row takes back the whole transaction.
_APPROVE = (
    update(rows)
    .where(
        rows.c.id.in_(bindparam("the_rows", expanding=True)),
        rows.c.state == "quoted",
        rows.c.quoted.is_not_distinct_from(bindparam("price", type_=BigInteger)),
    )
    .values(
        state="approved",
        since=bindparam("moment"),
        reason=None,
        approved=rows.c.quoted,
        # Attempts that were made already count: the next one may have waited for a budget.
        retries=case((FAILED_BEFORE < _RETRIES, _RETRIES - FAILED_BEFORE), else_=0),
    )
    .returning(rows.c.id, rows.c.digest)
)
_NOW = select(
    rows.c.id, rows.c.row, rows.c.state, rows.c.digest, rows.c.quoted, rows.c.approved
).where(rows.c.id.in_(bindparam("the_rows", expanding=True)))
#: Rows that a refusal names at most.
NAMED = 20


@dataclass(frozen=True, slots=True)
class Quoted:
    """What the service says a row costs (None: not readable), or why it will not quote it."""

    row: CampaignRow
    amount: Decimal | None
    refusal: str | None = None


def record_quote(connection: Connection, quoted: Quoted, *, at: float) -> None:
    """Record a quote: the row becomes `quoted`, `rejected` (refused) or `held` (too dear)."""
    row = quoted.row
    if not _set_quote(connection, quoted, at):
        return
    above = None if quoted.refusal is not None else too_dear(row, quoted.amount)
    if above:
        hold_unpaid(connection, row, above, at=at)
        return
    if row.state == "held":
        # On hold until now: it is judged by its new price.
        move(connection, row, "planned", at=at)
        row = replace(row, state="planned")
    if quoted.refusal is not None:
        move(connection, row, "rejected", at=at, reason=quoted.refusal)
    elif row.state == "planned":
        move(connection, row, "quoted", at=at, words=f"{in_credits(quoted.amount)}")


def hold_unpaid(connection: Connection, row: CampaignRow, why: str, *, at: float) -> None:
    """Put a row on hold before anything is paid for it; one that is on hold gets the new reason."""
    if row.state != "held":
        move(connection, row, "held", at=at, reason=why)
    elif row.reason != why:
        remark(connection, row, why, at=at)


def record_quotes(
    connection: Connection, found: Sequence[Quoted], *, tolerance: Decimal, at: float
) -> None:
    """Record many quotes, of rows in any state: as `record_quote` and `renew_quote` do.

    Most rows of a new sheet are planned and get a price that they may cost: those go together.
    """
    plain = [one for one in found if _is_plain(one)]
    words = [in_credits(one.amount) for one in plain]
    moved = move_all(connection, [one.row for one in plain], "quoted", at=at, words=words)
    priced = [_priced(one, "quoted", at) for one in plain if one.row.id in moved]
    if priced:
        connection.execute(_QUOTE, priced)
    for one in found:
        if one.row.state == "approved":
            renew_quote(connection, one, tolerance=tolerance, at=at)
        elif not _is_plain(one):
            record_quote(connection, one, at=at)


def _is_plain(quoted: Quoted) -> bool:
    """Whether a planned row simply becomes quoted."""
    fits = quoted.refusal is None and not too_dear(quoted.row, quoted.amount)
    return fits and quoted.row.state == "planned"


class Approvable(Protocol):
    """A quoted row as it was shown to the person who approves it."""

    @property
    def id(self) -> int: ...
    @property
    def campaign_id(self) -> int: ...
    @property
    def digest(self) -> str: ...
    @property
    def quoted(self) -> Decimal | None: ...


def approve(
    connection: Connection, found: Iterable[Approvable], *, by: str, at: float, retries: int = 0
) -> int:
    """Approve quoted rows with the brief and the price they were shown with; return how many.

    `retries` more takes of each are approved with it, for renders that fail at the service; those
    that have failed already count.
    All of them in one transaction, a few statements for each page of rows at the same price. A row
    that is already approved as shown stays as it is. Raises MovedOn, which takes back everything
    in the transaction, when any other row is not as it was shown.
    """
    alike: dict[tuple[int, Decimal | None], dict[int, str]] = defaultdict(dict)
    for row in found:
        alike[row.campaign_id, row.quoted][row.id] = row.digest
    approved, changed = 0, list[str]()
    for (campaign_id, price), shown in alike.items():
        for page in pages_of(shown):
            values = {"the_rows": page, "price": to_micro(price), "moment": at}
            values["retries"] = retries
            moved = dict(connection.execute(_APPROVE, values).tuples().all())
            those = [number for number in page if moved.get(number) == shown[number]]
            note_approvals(connection, campaign_id, those, by=by, at=at)
            approved += len(those)
            if len(those) < len(page):
                others = {n: shown[n] for n in page if moved.get(n) != shown[n]}
                changed += _changes(connection, others, price)
    if changed:
        raise changed_since(changed)
    return approved


def changed_since(changed: Sequence[str]) -> MovedOn:
    """Return the refusal of a plan that changed before it was approved; a sentence for each row."""
    named = list(changed[:NAMED])
    if len(changed) > NAMED:
        named.append(f"and {len(changed) - NAMED:,} more")
    return MovedOn(
        "the plan changed before it was approved; nothing was approved or spent:\n  "
        + "\n  ".join(named),
        remedy=f"{again_with()} and look at the new plan",
    )


def _changes(
    connection: Connection, shown: Mapping[int, str], price: Decimal | None
) -> Iterator[str]:
    """Say what changed of rows, by the digests and the price they were shown with."""
    for now in connection.execute(_NOW, {"the_rows": list(shown)}):
        if now.digest != shown[now.id]:
            yield f"{now.row}: the row was edited"
        elif now.state not in ("quoted", "approved"):
            yield f"{now.row}: it is {now.state} now"
        elif (today := now.approved if now.state == "approved" else now.quoted) != to_micro(price):
            yield f"{now.row}: {in_credits(price)} then, {in_credits(from_micro(today))} now"


def renew_quote(connection: Connection, quoted: Quoted, *, tolerance: Decimal, at: float) -> bool:
    """Record a newer quote of an approved row; return whether it still stands as approved.

    One above the approved price by more than `tolerance` (0.1 is a tenth) sends the row back to
    `quoted`, with both prices as the reason: it has to be approved again.
    """
    row = quoted.row
    if row.state != "approved" or not _set_quote(connection, quoted, at):
        return False
    agreed = row.quoted if row.approved is None else row.approved
    if quoted.refusal is not None:
        _step_back(connection, row, "rejected", quoted.refusal, at)
    elif above := too_dear(row, quoted.amount):
        move(connection, row, "held", at=at, reason=above)
    elif _has_grown(agreed, quoted.amount, tolerance):
        reason = (
            f"it was approved at {in_credits(agreed)} and costs {as_text(quoted.amount)} "
            "now: run again and approve the new price"
        )
        _step_back(connection, row, "quoted", reason, at)
    else:
        return True
    return False


def _has_grown(agreed: Decimal | None, now: Decimal | None, tolerance: Decimal) -> bool:
    """Whether a price is above the one agreed to by more than a part of it, or unreadable now."""
    return agreed is not None and is_above(now, agreed * (1 + tolerance))


def _set_quote(connection: Connection, quoted: Quoted, at: float) -> bool:
    return connection.execute(_QUOTE, _priced(quoted, quoted.row.state, at)).rowcount == 1


def _priced(quoted: Quoted, state: State, at: float) -> dict[str, Any]:
    price = to_micro(quoted.amount)
    return {"the_row": quoted.row.id, "old": state, "price": price, "moment": at}


def _step_back(
    connection: Connection, row: CampaignRow, new: State, reason: str, at: float
) -> None:
    """Take an approval back: by way of `planned`, as the moves go."""
    if move(connection, row, "planned", at=at, reason=reason):
        move(connection, replace(row, state="planned"), new, at=at, reason=reason)


class Capped(Protocol):
    """A row of a sheet, of a plan or of the ledger, with what it may cost at most."""

    @property
    def line(self) -> int: ...
    @property
    def max_credits(self) -> Decimal | None: ...


def too_dear(
    row: Capped, price: Decimal | None, *, instead: str = ", or ask for less"
) -> str | None:
    """Say that a price is above what the row may cost, if it is; a remedy ends in `instead`."""
    if not is_above(price, row.max_credits):
        return None
    cap = as_text(row.max_credits)
    where = f" in line {row.line} of the sheet" if row.line else " in the sheet"
    if price is None:
        return f"its price cannot be read, and max_credits is {cap}: clear max_credits{where}"
    return (
        f"it costs {in_credits(price)}, and max_credits is {cap}: "
        f"set max_credits{where} to {as_text(price)} or more{instead}"
    )
