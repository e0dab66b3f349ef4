"""Adds up what all campaigns cost: by brand, month, person and more, or by an `x_` column."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import IO, Annotated, Any

from pydantic import BaseModel, Field
from sqlalchemy import Connection

from callsheet.tasks.aftercare.export import ONCE_PER_TAG, WRITE, Format, TakeSum
from callsheet.tasks.ledger.costs import CostsOf, cost_lines, headers_of_all
from callsheet.tasks.ledger.plans import approver_in
from callsheet.tasks.runtime.errors import BadInput, did_you_mean
from callsheet.tasks.sheet.headers import canonical_header, kept_column
from callsheet.tasks.values.amounts import CreditPrice
from callsheet.tasks.values.answers import Credits

GROUPINGS = (
    "month", "campaign", "brand", "tag", "cost_center", "tool", "language", "person",
)  # fmt: skip
By = Annotated[str, Field(description=f"{', '.join(GROUPINGS)}, or a column such as x_client")]


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

    by: str
    costs: list[CostsLine]
    total: CostsLine
    currency: str | None
    exit: int = 0

    @property
    def note(self) -> str | None:
        """Why the lines may add up to more than the total."""
        return ONCE_PER_TAG if self.by == "tag" else None


def costs(
    connection: Connection, wanted: CostsOf, *, by: str, price: CreditPrice | None = None
) -> CostsOut:
    """Add up the takes that count, the largest first (months in order).

    A take belongs to the month (UTC) in which it was intended. With the price of a credit the
    lines are in money, too. Raises BadInput for what costs cannot be added up by.
    """
    by = by if by in GROUPINGS else _own_column(connection, by, sandbox=wanted.sandbox)
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


def own_columns(connection: Connection, *, sandbox: bool) -> list[str]:
    """Return the `x_` columns of all campaigns' sheets, by which costs can be added up, too."""
    found = map(kept_column, headers_of_all(connection, sandbox=sandbox))
    # What `brand` says already.
    return sorted({name for name in found if name is not None} - {"x_brand"})


def _own_column(connection: Connection, by: str, *, sandbox: bool) -> str:
    """Return the `x_` column that is meant; raise BadInput where no sheet has it."""
    name, known = canonical_header(by), own_columns(connection, sandbox=sandbox)
    if name in known or name == "x_brand":
        return name
    every = [*GROUPINGS, *known]
    raise BadInput(
        f'there is no column "{by[:80]}" to add up costs by{did_you_mean(name, every)}',
        remedy=f"choose one of {', '.join(every)}",
    )


def write_costs(found: CostsOut, out: IO[bytes], format: Format = "csv") -> int:
    """Write a line for each name, with what it is a name of as the first header.

    Return how many there were. Raise ConfigurationError if libraries for the format are missing.
    """
    columns = [found.by, "videos", "takes", "retakes", "reserved", "charged"]
    columns += ["money", "currency"] if found.currency else []
    lines = (
        {**dict(line), found.by: line.name, "currency": found.currency} for line in found.costs
    )
    return WRITE[format](out, columns, lines)


def _names(line: Mapping[str, Any], by: str) -> list[str | None]:
    match by:
        case "campaign" | "brand":
            return [line[by]]
        case "tag":
            return [*dict.fromkeys(line["tags"] or ())] or [None]
        case "tool" | "language":
            return [line["body"].get(by) or None]
        case "month":
            return [_month(line["intended_at"] // 86_400)]
        case "cost_center":
            return [line["cost_center"] or None]
        case "person":
            return [approver_in(line["person"] or "") or None]
        case _:
            texts = [text.strip() for header, text in line["cells"] if kept_column(header) == by]
            return [next(filter(None, texts), None)]


@lru_cache(maxsize=1000)
def _month(day: float) -> str:
    """Return the month (UTC) of a day, counted from 1970: most takes are of a few days."""
    return f"{datetime.fromtimestamp(day * 86_400, UTC):%Y-%m}"


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
