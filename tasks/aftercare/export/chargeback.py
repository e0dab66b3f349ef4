"""Who is to pay for what: credits by cost centre, and by tag, for every month.

The lines of cost centres add up to the campaign's account. Those of tags do not: a row with
several tags counts under each of them. Pure: takes in, lines out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

COLUMNS = (
    "by", "name", "month", "rows", "takes", "charged", "reserved", "retakes", "retakes_charged",
    "note",
)  # fmt: skip
#: What stands beside every line of a tag.
ONCE_PER_TAG = "a row with several tags counts under each of them"


@dataclass
class _Sum:
    rows: set[str] = field(default_factory=set)
    takes: int = 0
    charged: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    retakes: int = 0
    retakes_charged: Decimal = Decimal(0)

    def add(self, line: Mapping[str, Any]) -> None:
        charged = line["charged"] or Decimal(0)
        self.rows.add(line["row"])
        self.takes += 1
        self.charged += charged
        self.reserved += line["reserved"]
        if line["take"] > 1:
            self.retakes += 1
            self.retakes_charged += charged


def chargeback(spent: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a line for every cost centre and month, every tag and month, and one for all.

    A take belongs to the month (UTC) in which it was intended, and to the cost centre its row had
    then; takes without one have a line of their own, whose name is empty. Every take after the
    first of a row is a retake; what it cost is part of `charged`.
    """
    centres: dict[tuple[str, str], _Sum] = {}
    tags: dict[tuple[str, str], _Sum] = {}
    total = _Sum()
    for line in spent:
        month = f"{datetime.fromtimestamp(line['intended_at'], UTC):%Y-%m}"
        centres.setdefault((line["cost_center"] or "", month), _Sum()).add(line)
        for tag in dict.fromkeys(line["tags"]):
            tags.setdefault((tag, month), _Sum()).add(line)
        total.add(line)
    for (name, month), found in sorted(centres.items()):
        yield _line("cost_center", name or None, month, found)
    for (name, month), found in sorted(tags.items()):
        yield _line("tag", name, month, found, note=ONCE_PER_TAG)
    yield _line("campaign", None, None, total, note="the sum of the cost centres")


def _line(
    by: str, name: str | None, month: str | None, found: _Sum, *, note: str | None = None
) -> dict[str, Any]:
    return {
        "by": by,
        "name": name,
        "month": month,
        "rows": len(found.rows),
        "takes": found.takes,
        "charged": found.charged,
        "reserved": found.reserved,
        "retakes": found.retakes,
        "retakes_charged": found.retakes_charged,
        "note": note,
    }
