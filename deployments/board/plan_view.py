"""What the page of a plan shows: some of its rows, and the figures of all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from callsheet.deployments.board.services.plans import PlanView
from callsheet.deployments.board.variants import variants_planned
from callsheet.tasks.values.amounts import as_text, is_above, parse_credits

#: Rows of a page of the table.
PAGE = 200
#: What a plan does with a row: in short, and whether it costs.
ACTIONS: Mapping[str, str] = {
    "make": "make",
    "retake": "retake",
    "edit": "edit",
    "adopt": "take over",
    "fetch": "carry on",
    "wait": "waits",
    "none": "unchanged",
    "person": "needs attention",
    "retire": "retire",
}
#: What a plan pays for.
PAYS = ("make", "retake", "edit")


def shown_plan(
    seen: PlanView, go: str = "", each: int = PAGE, chosen: Collection[str] = ()
) -> dict[str, Any]:
    """Return what the templates of a plan show: so many rows of an action, and the figures.

    `go` says which, as `make:200`: those of an action, from a place on. `chosen` are the rows that
    are checked, on this page and on others.
    """
    part = _part(seen.rows, go, each)
    credits = {
        name: parse_credits(value) for name, value in seen.document.get("credits", {}).items()
    }
    before = seen.replaces.document if seen.replaces and seen.replaces.document else {}
    # The document of an old plan is dropped; its total stays.
    total, left = credits.get("total", seen.plan.total), _left(seen.document)
    return {
        "seen": seen,
        "plan": seen.plan,
        "state": seen.state,
        "rows": part.shown,
        "grouped": partial(variants_planned, paid=PAYS),
        "pays_for": PAYS,
        "chosen": chosen,
        "elsewhere": len(set(chosen) - {row["row"] for row in part.shown}),
        "pager": part.pager,
        "choosing": False,
        "label": next((one for one in ("brand", "tags") if any(map(_has(one), seen.rows))), None),
        "above_limit": _above_limit,
        "matching": part.matching,
        "start": part.start,
        "end": part.end,
        "is_whole": part.is_whole,
        "action": part.action,
        "actions": ACTIONS,
        "counts": {name: seen.counts[name] for name in ACTIONS if seen.counts.get(name)},
        "total": total,
        "later": credits.get("later"),
        "expected": credits.get("expected"),
        "rounds": parse_credits((total or 0) + (credits.get("later") or 0)),
        "most": credits.get("most"),
        "unpriced": seen.document.get("credits", {}).get("unpriced") or 0,
        "budget": credits.get("budget"),
        "typed": "" if credits.get("budget") is None else as_text(credits["budget"]),
        "left": left,
        "after": None if left is None or total is None else left - total,
        "before": {line["row"]: parse_credits(line["quoted"]) for line in before.get("rows", ())},
        "before_total": seen.replaces.total if seen.replaces else None,
        "paid": sum(map(_is_paid, seen.rows)),
        "paid_credits": _charged(filter(_is_paid, seen.rows)),
        "refused": None,
    }


class _Part(NamedTuple):
    """A page of the table: those of an action, or all, from a place to another."""

    action: str
    shown: Sequence[Mapping[str, Any]]
    start: int
    end: int
    matching: int
    pager: Sequence[tuple[int, str]]
    is_whole: bool


def _part(every: Sequence[Mapping[str, Any]], go: str, each: int) -> _Part:
    """Return the page that `go` asks for, as `make:200`; a person may type any place."""
    action, _, place = go.partition(":")
    rows = [row for row in every if not action or row["action"] == action]
    start = int(place) if place.isascii() and place.isdecimal() and len(place) < 10 else 0
    starts = _starts(rows, each)
    at = bisect_right(starts, start) - 1
    start, end = starts[at], starts[at + 1] if at + 1 < len(starts) else len(rows)
    return _Part(
        action=action,
        shown=rows[start:end] if each else [],
        start=start,
        end=end,
        matching=len(rows),
        pager=_pager(starts, at),
        is_whole=len(starts) == 1 and each > 0,
    )


def _starts(rows: Sequence[Mapping[str, Any]], each: int) -> list[int]:
    """Return where pages of so many rows start, or some more: none cuts what one row became."""
    starts = [0]
    for place in range(1, len(rows) if each else 0):
        base, before = rows[place].get("variant_of"), rows[place - 1].get("variant_of")
        if place - starts[-1] >= each and (base is None or base != before):
            starts.append(place)
    return starts


def _pager(starts: Sequence[int], at: int) -> list[tuple[int, str]]:
    """Return where the other pages of the table start, and what their buttons say."""
    before = [(0, "First page"), (starts[at - 1], "Page before")] if at else []
    after = [(starts[at + 1], "Next page"), (starts[-1], "Last page")] if starts[at + 1 :] else []
    return before + after


def _has(name: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda row: bool(row.get(name))


def _is_paid(row: Mapping[str, Any]) -> bool:
    """Whether a row was paid for before, and is not paid for again."""
    off = row.get("state") == "planned"
    return bool(row["action"] == "fetch" or (row["action"] == "none" and not off))


def _above_limit(row: Mapping[str, Any]) -> bool:
    """Whether the price of a line is known, and above its `max_credits`."""
    limit, price = (parse_credits(row.get(name)) for name in ("max_credits", "quoted"))
    return price is not None and is_above(price, limit)


def _charged(rows: Iterable[Mapping[str, Any]]) -> Decimal:
    """Return what rows have been charged so far, over all their takes."""
    return sum((parse_credits(row.get("charged")) or Decimal(0) for row in rows), Decimal(0))


def _left(document: Mapping[str, Any]) -> Decimal | None:
    """Return what is left of the budget; below 0 where charges went beyond it."""
    left = document.get("credits", {}).get("left")
    return None if left is None else Decimal(str(left))
