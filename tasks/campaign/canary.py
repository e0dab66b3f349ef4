"""Test first: makes one video of each kind of row, and holds the other rows until you keep it.

Rows are of one kind if they ask for the same operation, tool, mode, language, ratio, voice and
model. Which rows wait is computed for every plan from the ledger, so another run, another machine
or a restored ledger gets the same result. Knows no service and writes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from callsheet.tasks.campaign.values import Canary, Plan, PlanLine
from callsheet.tasks.ledger.values import State

#: The reason of a row that waits; the id of its canary follows.
WAITS = "waits for the canary "
#: The last take may have been paid for; only a person decides on another one.
_ENDED: frozenset[State | None] = frozenset({"failed", "stalled", "uncertain"})


def hold_back(plan: Plan, *, choose: bool) -> Plan:
    """Return the plan with the action `wait` for rows that wait for a canary.

    An approved row never waits. With `choose`, the cheapest row of a kind without a canary becomes
    the canary; this needs prices. Otherwise the rows of such a kind stay unchanged.
    """
    if plan.canary == "no":
        return plan
    kinds: dict[tuple[object, ...], list[PlanLine]] = defaultdict(list)
    for line in plan.lines:
        kinds[line.kind].append(line)
    waits: dict[str, str] = {}
    for lines in kinds.values():
        waits |= _waiting(lines, plan.canary, choose=choose)
    if not waits:
        return plan
    held = tuple(
        line._replace(action="wait", why=waits[line.row], state="held")
        if line.row in waits
        else line
        for line in plan.lines
    )
    return replace(plan, lines=held)


def _waiting(lines: Sequence[PlanLine], canary: Canary, *, choose: bool) -> Mapping[str, str]:
    """Return the rows of one kind that wait, each with its reason."""
    started = [line for line in lines if _is_started(line)]
    # An edited row has a video of its kind already.
    new = [line for line in lines if line.action in ("make", "remake") and line.state != "approved"]
    if not new or any(line.verdict in releasing(canary) for line in started):
        return {}
    if started:
        first = min(started, key=_rank_of_started)
    elif choose:
        first = min(new, key=_rank_of_new)
    else:
        return {}
    return {line.row: WAITS + first.row for line in new if line is not first}


def _is_started(line: PlanLine) -> bool:
    """Return whether a row is approved, in progress, has a video, or ended without one."""
    if line.spends:
        # The video of a row that is made again shows what the row asked for before.
        return line.state == "approved"
    return line.verdict is not None or line.action == "continue" or line.state in _ENDED


def releasing(canary: Canary) -> Sequence[str]:
    """Return the verdicts on a canary's video that release the other rows of its kind."""
    return ("keep", "passed") if canary == "auto" else ("keep",)


def _rank_of_started(line: PlanLine) -> int:
    """Return what is named first: a video to review, a row in progress, then any other."""
    if line.verdict not in (None, "reject"):
        return 0
    return 2 if line.verdict == "reject" or line.state in _ENDED else 1


def _rank_of_new(line: PlanLine) -> tuple[bool, Decimal]:
    """Return what is chosen first: the lowest price, then the order of the sheet."""
    return line.priced is None, line.priced or Decimal(0)


def waiting_lines(plan: Plan) -> list[PlanLine]:
    """Return the rows of a plan that wait for a canary."""
    return [line for line in plan.lines if line.action == "wait"]


def released(plan: Plan) -> Plan:
    """Return the plan as if all canaries were good: the total after both rounds."""
    lines = (
        line._replace(action="make", why=None) if line.action == "wait" else line
        for line in plan.lines
    )
    return replace(plan, lines=tuple(lines))


def canaries_of(reasons: Iterable[str | None]) -> list[str]:
    """Return the canaries that rows wait for, by the reasons of these rows."""
    found = (one.removeprefix(WAITS) for one in reasons if one and one.startswith(WAITS))
    return list(dict.fromkeys(found))
