"""Adds up what all campaigns cost: by brand, tag, cost center, tool, language, month or person."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, get_args

from sqlalchemy import Connection

from callsheet.tasks.aftercare.export import ONCE_PER_TAG, TakeSum
from callsheet.tasks.ledger.costs import CostsOf, cost_lines
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import CreditPrice, as_number
from callsheet.tasks.values.briefs import brand_of

By = Literal["brand", "tag", "cost_center", "tool", "language", "month", "person"]
GROUPINGS: tuple[By, ...] = get_args(By)
#: What the history of a row says of an approval (`ledger.plans`).
_PLAN = re.compile(r", plan \S+$")
_BY = re.compile(r"approved by (.+?) (?:on the board|at the terminal|with --yes|with the plan)\b.*")


@dataclass(frozen=True, kw_only=True)
class CostLine:
    """What the takes of one name cost; the name is None where a take has none."""

    name: str | None
    videos: int
    takes: int
    retakes: int
    charged: Decimal
    reserved: Decimal

    def as_json(self, price: CreditPrice | None) -> dict[str, Any]:
        """Return the line as JSON, in money too where the price of a credit is set."""
        counted = {"videos": self.videos, "takes": self.takes, "retakes": self.retakes}
        amounts = {"charged": as_number(self.charged), "reserved": as_number(self.reserved)}
        money = {} if price is None else {"money": as_number(price.of(self.charged))}
        return {"name": self.name, **counted, **amounts, **money}


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The lines, the largest first (months in order), and the total, which counts a take once."""

    by: By
    lines: Sequence[CostLine]
    total: CostLine

    @property
    def note(self) -> str | None:
        """Why the lines may add up to more than the total."""
        return ONCE_PER_TAG if self.by == "tag" else None

    def as_json(self, price: CreditPrice | None) -> dict[str, Any]:
        """Return the document that `callsheet costs --json` prints."""
        return {
            "by": self.by,
            "costs": [line.as_json(price) for line in self.lines],
            "total": self.total.as_json(price),
            "currency": price.currency if price else None,
        }


def costs(connection: Connection, wanted: CostsOf, *, by: By) -> Costs:
    """Add up the takes that count. A take belongs to the month (UTC) in which it was intended."""
    # A row has one video, however many takes of it were delivered.
    found: dict[str | None, tuple[TakeSum, set[int]]] = {}
    whole, videos = TakeSum(), set[int]()
    for line in cost_lines(connection, wanted, by=by):
        delivered = {line["row"]} if line["delivered_at"] is not None else set[int]()
        for name in _names(line, by):
            spent, made = found.setdefault(name, (TakeSum(), set()))
            spent.add(line)
            made |= delivered
        whole.add(line)
        videos |= delivered
    lines = [_line(name, *sums) for name, sums in found.items()]
    if by == "month":
        lines.sort(key=lambda line: line.name or "")
    else:
        lines.sort(key=lambda line: (-line.charged, line.name is None, line.name or ""))
    return Costs(by=by, lines=lines, total=_line(None, whole, videos))


def _line(name: str | None, spent: TakeSum, videos: set[int]) -> CostLine:
    return CostLine(
        name=name,
        videos=len(videos),
        takes=spent.takes,
        retakes=spent.retakes,
        charged=spent.charged,
        reserved=spent.reserved,
    )


def _names(line: Mapping[str, Any], by: By) -> list[str | None]:
    match by:
        case "brand":
            return [brand_of(line["cells"] or ())]
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


def period_of(
    since: str | None, until: str | None, *, sandbox: bool, named: tuple[str, str]
) -> CostsOf:
    """Return the takes from one day or month until another, both included; None: no limit.

    `named` is what the two are called where they were asked for. Raises BadInput for what is none,
    or ends before it begins.
    """
    begin = moment_of(since, named[0]) if since else None
    end = moment_of(until, named[1], end=True) if until else None
    if begin is not None and end is not None and begin >= end:
        raise BadInput(
            f"{named[0]} {since} is after {named[1]} {until}", remedy="name the earlier first"
        )
    return CostsOf(since=begin, until=end, sandbox=sandbox)


def month_of(at: float) -> CostsOf:
    """Return the takes of the month (UTC) that a moment is in, up to now."""
    return CostsOf(since=moment_of(f"{datetime.fromtimestamp(at, UTC):%Y-%m}", "the month"))
