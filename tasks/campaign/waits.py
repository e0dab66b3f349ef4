"""Which rows wait: for the first video of their kind (a canary), or for the wave before theirs.

Rows are of one kind if they ask for the same operation, tool, mode, language, ratio, voice and
model. A wave is a part of the rows. Which rows wait is computed for every plan from the ledger, so
another run, another machine or a restored ledger gets the same result. Knows no service and writes
nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal

from callsheet.tasks.campaign.values import Canary, Plan, PlanLine
from callsheet.tasks.ledger.values import State
from callsheet.tasks.values.amounts import percent

#: The reason of a row that waits for a canary, whose id follows; and for a wave, `1 of 3`.
CANARY, WAVE = "waits for the test video ", "waits for wave "
#: The last take may have been paid for; only a person decides on another one.
_ENDED: frozenset[State | None] = frozenset({"failed", "stalled", "uncertain"})


def hold_back(plan: Plan, *, choose: bool) -> Plan:
    """Return the plan with the action `wait` for rows that wait for a canary or a wave.

    An approved row never waits. With `choose`, the cheapest row of a kind without a canary becomes
    the canary; this needs prices. Otherwise the rows of such a kind stay unchanged.
    """
    waits, canaries = _behind_canaries(plan, choose=choose)
    waits |= _behind_waves(plan, waits, canaries, choose=choose)
    if not waits:
        return plan
    held = tuple(
        line._replace(action="wait", why=waits[line.row], state="held")
        if line.row in waits
        else line
        for line in plan.lines
    )
    return replace(plan, lines=held)


def _behind_canaries(plan: Plan, *, choose: bool) -> tuple[dict[str, str], set[str]]:
    """Return the rows that wait for a canary with their reasons, and the rows that may be one."""
    kinds: dict[tuple[object, ...], list[PlanLine]] = defaultdict(list)
    waits: dict[str, str] = {}
    canaries: set[str] = set()
    for line in plan.lines if plan.canary != "no" else ():
        kinds[line.kind].append(line)
    for lines in kinds.values():
        started = [line for line in lines if _is_started(line)]
        new = [line for line in lines if _is_new(line)]
        if not new or any(line.verdict in releasing(plan.canary) for line in started):
            continue
        if started:
            first = min(started, key=_rank_of_started)
        elif choose:
            first = min(new, key=_rank_of_new)
            canaries.add(first.row)
        else:
            canaries.update(line.row for line in new)
            continue
        waits |= {line.row: CANARY + first.row for line in new if line is not first}
    return waits, canaries


def _behind_waves(
    plan: Plan, held: Mapping[str, str], canaries: Collection[str], *, choose: bool
) -> dict[str, str]:
    """Return the rows that wait for a wave with their reasons; `held` rows wait for a canary.

    A wave ends at a number of videos. No row beyond it starts until so many videos are good, so
    neither sorting the sheet nor adding rows releases anything. Canaries go first, and rows that
    wait for one leave their places to others.
    """
    wanted = [line for line in plan.lines if line.action != "retire" and not line.switched_off]
    ends = ends_of_waves(plan.waves, len(wanted))
    started = [line for line in wanted if _is_started(line)]
    good = sum(line.verdict in releasing(plan.canary) for line in started)
    end = next((end for end in ends if good < end), None)
    if end is None:
        return {}
    new = [line for line in wanted if _is_new(line)]
    new.sort(key=lambda line: (line.row not in canaries, line.row in held))
    waits: dict[str, str] = {}
    for place, line in enumerate(new, start=len(started)):
        # Rows that waited before have a price: they are not quoted again while they wait.
        known = len(started) >= end or (line.state == "held" and line.priced is not None)
        if place >= end and line.row not in canaries and (choose or known):
            waits[line.row] = f"{WAVE}{sum(place >= one for one in ends)} of {len(ends) + 1}"
    return waits


def ends_of_waves(waves: Iterable[str], rows: int) -> list[int]:
    """Return after how many rows each wave ends but the last; `waves` are parts, as `10%`."""
    parts = (rows * percent(part) / 100 for part in waves)
    ends = {max(1, int(part.to_integral_value(ROUND_CEILING))) for part in parts}
    return sorted(ends - {rows})


def _is_new(line: PlanLine) -> bool:
    # A row that is edited has a video of its kind already.
    return line.action in ("make", "retake") and line.state != "approved"


def _is_started(line: PlanLine) -> bool:
    """Return whether a row is approved, in progress, has a video, or ended without one."""
    if line.action in ("make", "retake"):
        # The video of a row that is made again shows what the row asked for before.
        return line.state == "approved"
    return line.verdict is not None or line.action == "fetch" or line.state in _ENDED


def releasing(canary: Canary) -> Sequence[str]:
    """Return the verdicts on first videos that release the rows that wait for them."""
    return ("keep", "passed") if canary == "auto" else ("keep",)


def _rank_of_started(line: PlanLine) -> int:
    """Return what is named first: a video to review, a row in progress, then any other."""
    if line.verdict not in (None, "reject"):
        return 0
    return 2 if line.verdict == "reject" or line.state in _ENDED else 1


def _rank_of_new(line: PlanLine) -> tuple[bool, Decimal]:
    """Return what is chosen first: the lowest price, then the order of the sheet."""
    return line.priced is None, line.priced or Decimal(0)


def waits_for_videos(line: PlanLine) -> bool:
    """Return whether a row waits for a canary or a wave, and not for its date."""
    return line.action == "wait" and (line.why or "").startswith((CANARY, WAVE))


def waiting_lines(plan: Plan) -> list[PlanLine]:
    """Return the rows of a plan that wait for videos: for a canary first, then by their wave."""
    waiting = (line for line in plan.lines if waits_for_videos(line))
    return sorted(waiting, key=lambda line: wave_of(line.why) or 0)


def later(plan: Plan) -> Decimal:
    """Return the price of all rows that wait for videos: what the rounds after this one cost."""
    return sum((line.priced or Decimal(0) for line in waiting_lines(plan)), Decimal(0))


def released(plan: Plan) -> Plan:
    """Return the plan as if all first videos were good: the total after all rounds."""
    lines = (
        line._replace(action="make", why=None) if waits_for_videos(line) else line
        for line in plan.lines
    )
    return replace(plan, lines=tuple(lines))


def next_round(plan: Plan, verdicts: Mapping[str, str]) -> list[PlanLine]:
    """Return the rows that waited in a plan and wait no more, now that its videos were made."""
    made = (
        line._replace(action="fetch", verdict=verdicts.get(line.row))
        # What an earlier run has paid for is fetched: its video may be the one that is waited for.
        if line.spends or line.action == "fetch"
        else line
        for line in plan.lines
    )
    after = hold_back(released(replace(plan, lines=tuple(made))), choose=False)
    return after.spending


def canaries_of(reasons: Iterable[str | None]) -> list[str]:
    """Return the canaries that rows wait for, by the reasons of these rows."""
    found = (one.removeprefix(CANARY) for one in reasons if one and one.startswith(CANARY))
    return list(dict.fromkeys(found))


def wave_of(reason: str | None) -> int | None:
    """Return the number of the wave that a row waits for, by its reason; None if for none."""
    if reason is None or not reason.startswith(WAVE):
        return None
    return int(reason.removeprefix(WAVE).partition(" ")[0])


def first_videos(reasons: Iterable[str | None]) -> str:
    """Return the videos that rows wait for, for people: `r001, r007` or `the videos of wave 1`."""
    found = list(reasons)
    waves = {number for reason in found if (number := wave_of(reason)) is not None}
    named = [*canaries_of(found)[:5], *(f"the videos of wave {one}" for one in sorted(waves)[:1])]
    return ", ".join(named)
