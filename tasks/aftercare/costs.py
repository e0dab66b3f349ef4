"""Adds up what all campaigns cost: by brand, tag, cost center, tool, language, month or person."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from pydantic import BaseModel
from sqlalchemy import Connection

from callsheet.tasks.aftercare.export import ONCE_PER_TAG, TakeSum
from callsheet.tasks.ledger.costs import CostsOf, cost_lines
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import CreditPrice
from callsheet.tasks.values.answers import Credits

By = Literal["brand", "tag", "cost_center", "tool", "language", "month", "person"]
GROUPINGS: tuple[By, ...] = get_args(By)
#: What the history of a row says of an approval (`ledger.plans`).
_PLAN = re.compile(r", plan \S+$")
_BY = re.compile(r"approved by (.+?) (?:on the board|at the terminal|with --yes|with the plan)\b.*")


class CostsLine(BaseModel):
    """What the takes of one name cost; `name` is null where a take has none.

    Amounts are credits; `money` is null where no price of a credit is set.
    """

    name: str | None
    videos: int
    takes: int
    retakes: int
    charged: Credits
    reserved: Credits
    money: Credits | None = None


class CostsOut(BaseModel):
    """What `callsheet costs --json` prints; `total` counts a take once."""

    by: By
    costs: list[CostsLine]
    total: CostsLine
    currency: str | None
    exit: int = 0

    @property
    def note(self) -> str | None:
        """Why the lines may add up to more than the total."""
        return ONCE_PER_TAG if self.by == "tag" else None


def costs(
    connection: Connection, wanted: CostsOf, *, by: By, price: CreditPrice | None = None
) -> CostsOut:
    """Add up the takes that count, the largest first (months in order).

    A take belongs to the month (UTC) in which it was intended. With the price of a credit the
    lines are in money, too.
    """
    found: dict[str | None, TakeSum] = defaultdict(TakeSum)
    whole = TakeSum()
    for line in cost_lines(connection, wanted, by=by):
        for name in _names(line, by):
            found[name].add(line)
        whole.add(line)
    lines = [_line(name, spent, price) for name, spent in found.items()]
    if by == "month":
        lines.sort(key=lambda line: line.name or "")
    else:
        lines.sort(key=lambda line: (-line.charged, line.name is None, line.name or ""))
    currency = price.currency if price else None
    return CostsOut(by=by, costs=lines, total=_line(None, whole, price), currency=currency)


def _line(name: str | None, spent: TakeSum, price: CreditPrice | None) -> CostsLine:
    line = CostsLine(
        name=name,
        videos=len(spent.videos),
        takes=spent.takes,
        retakes=spent.retakes,
        charged=spent.charged,
        reserved=spent.reserved,
    )
    if price is not None:
        line.money = price.of(spent.charged)
    return line


def _names(line: Mapping[str, Any], by: By) -> list[str | None]:
    match by:
        case "brand":
            return [line["brand"]]
        case "tag":
            return [*dict.fromkeys(line["tags"] or ())] or [None]
        case "tool" | "language":
            return [line["body"].get(by) or None]
        case "month":
            return [f"{datetime.fromtimestamp(line['intended_at'], UTC):%Y-%m}"]
        case "cost_center":
            return [line["cost_center"] or None]
        case "person":
            return [_person(line["person"] or "")]


def _person(approval: str) -> str | None:
    """Return who approved a take, else how it was approved, without its plan."""
    words = _PLAN.sub("", approval)
    named = _BY.fullmatch(words)
    return (named[1] if named else words) or None


_DAY = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?", re.ASCII)


def moment_of(text: str, option: str, *, end: bool = False) -> float:
    """Return when a day or month (UTC) begins, or with `end` when the next one does.

    Raises BadInput for anything but `2026-11` and `2026-11-24`.
    """
    match = _DAY.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError(text)
        year, month, day = int(match[1]), int(match[2]), int(match[3] or 1)
        begin = datetime(year, month, day, tzinfo=UTC)
        if not end:
            return begin.timestamp()
        if match[3]:
            return begin.timestamp() + 86_400
        return datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp()
    except ValueError:
        raise BadInput(
            f'{option} "{text}" is not a day or a month',
            remedy="write it like 2026-11-24 or 2026-11",
        ) from None


def period_of(since: str | None, until: str | None, *, sandbox: bool) -> CostsOf:
    """Return the takes from one day or month until another, both included; None: no limit.

    Raises BadInput for what is none, or ends before it begins.
    """
    begin = moment_of(since, "since") if since else None
    end = moment_of(until, "until", end=True) if until else None
    if begin is not None and end is not None and begin >= end:
        raise BadInput(f"since {since} is after until {until}", remedy="name the earlier first")
    return CostsOf(since=begin, until=end, sandbox=sandbox)


def month_of(at: float) -> CostsOf:
    """Return the takes of the month (UTC) that a moment is in, up to now."""
    return CostsOf(since=moment_of(f"{datetime.fromtimestamp(at, UTC):%Y-%m}", "the month"))
