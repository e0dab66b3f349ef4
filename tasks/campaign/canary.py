"""Test first: one video of each kind of row is made, and the others wait until somebody keeps it.

A kind is what makes a video come out differently: operation, tool, language, ratio, voice, model.
What waits is worked out anew for every plan from what the ledger has, so that another run, another
machine or a restored ledger comes to the same. Knows no service and writes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.values import State

#: Who lets the other rows go: nobody has to, a person who keeps the video, or its checks.
Canary = Literal["no", "yes", "auto"]
#: What a row waits for; the id of the row whose video that is follows.
WAITS = "waits for the canary "
#: A take of these may have been paid for, and another one is for a person to want.
_ENDED: frozenset[State | None] = frozenset({"failed", "stalled", "uncertain"})


def hold_back(plan: Plan, *, choose: bool) -> Plan:
    """Return the plan without the rows that wait for a canary: their action is `wait`.

    Rows of a kind that has no canary yet stay as they are, unless `choose`: then the cheapest of
    them is it. That takes prices.
    """
    if plan.canary == "no":
        return plan
    kinds: dict[tuple[object, ...], list[PlanLine]] = defaultdict(list)
    for line in plan.lines:
        kinds[line.kind].append(line)
    waits: dict[str, str] = {}
    for lines in kinds.values():
        waits |= _waiting(lines, auto=plan.canary == "auto", choose=choose)
    if not waits:
        return plan
    held = tuple(
        line._replace(action="wait", why=waits[line.row], state="held")
        if line.row in waits
        else line
        for line in plan.lines
    )
    return replace(plan, lines=held)


def _waiting(lines: Sequence[PlanLine], *, auto: bool, choose: bool) -> Mapping[str, str]:
    """Return the rows of one kind that wait, and for what."""
    wanted = [line for line in lines if line.spends]
    made = [line for line in lines if not line.spends and _is_evidence(line)]
    if not wanted or any(line.verdict in let_go(auto) for line in made):
        return {}
    if made:
        # The newest canary was made of the last row that was chosen; any of them names the kind.
        return {line.row: WAITS + made[0].row for line in wanted}
    if not choose:
        return {}
    canary = min(wanted, key=_rank)
    return {line.row: WAITS + canary.row for line in wanted if line is not canary}


def _is_evidence(line: PlanLine) -> bool:
    """Whether a row of a kind has a video, or one that is under way or ended badly."""
    return line.verdict is not None or line.action == "continue" or line.state in _ENDED


def let_go(auto: bool) -> Sequence[str]:
    """Return what has to be said of a canary's video so that the others are made."""
    return ("keep", "passed") if auto else ("keep",)


def _rank(line: PlanLine) -> tuple[bool, bool, Decimal]:
    """Return what is chosen first: what is approved already, then the lowest price."""
    return line.state != "approved", line.priced is None, line.priced or Decimal(0)


def waiting_lines(plan: Plan) -> list[PlanLine]:
    """Return the rows of a plan that wait for a canary."""
    return [line for line in plan.lines if line.action == "wait"]


def released(plan: Plan) -> Plan:
    """Return the plan as it is once all canaries are good: what it comes to in the end."""
    lines = (
        line._replace(action="make", why=None) if line.action == "wait" else line
        for line in plan.lines
    )
    return replace(plan, lines=tuple(lines))


def canaries_of(reasons: Iterable[str | None]) -> list[str]:
    """Return the rows whose videos are waited for, by what stands beside those that wait."""
    found = (one.removeprefix(WAITS) for one in reasons if one is not None and WAITS in one)
    return list(dict.fromkeys(found))
