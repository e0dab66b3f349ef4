"""When a render is polled, how long renders take, and what each poll leads to. Pure functions.

The words for a render that has ended are not in the specification (section 2), so no word alone
is the end of one.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal

from callsheet.tasks.engine.policy.decision import (
    CANCELLED,
    RUNNING,
    Decision,
    Memory,
    Polled,
    Rules,
    is_young,
    unwanted,
)
from callsheet.tasks.ledger.values import CampaignRow, State
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import say_duration

#: A new video may be unknown to reads for this long after the create (hole 63).
GRACE = 60.0
#: An unknown word with no video is given this many polls over this long before it is stalled.
ODD_POLLS, ODD_SPAN = 5, 600.0

_GONE = (
    "cancelled as asked, but the service no longer knows its video (404): what was set aside "
    "counts as paid"
)


def wait_to_poll(
    row: CampaignRow, memory: Memory, now: float, rules: Rules, *, told: float | None = None
) -> float:
    """Return how long to wait before a render under way is polled again, in seconds."""
    accepted = row.take.accepted_at if row.take else None
    elapsed = max(0.0, now - accepted) if accepted is not None else 0.0
    if rules.hinted:
        wait = hinted_interval(elapsed, memory.longest, asked=memory.overlong)
    else:
        wait = poll_interval(elapsed, memory.shortest, told=told)
    return max(POLL_MIN, min(wait, rules.deadline - elapsed))


def first_wait(memory: Memory, rules: Rules) -> float:
    if memory.doubt:
        # The service may have had it for long, and told of its video already.
        return told_interval(memory.poll_after, least=0.0)
    if rules.hinted:
        return hinted_interval(0.0, memory.longest)
    return first_interval(memory.poll_after, memory.shortest)


def polled(
    row: CampaignRow, memory: Memory, observation: Polled, now: float, rules: Rules
) -> Decision:
    hint = observation.poll_after if observation.poll_after is not None else memory.poll_after
    memory = replace(
        memory,
        polls=memory.polls + 1,
        failures=0,
        charged=observation.charged if observation.charged is not None else memory.charged,
    )
    if observation.status in RUNNING:
        memory = replace(memory, odd_polls=0, odd_since=None, ends=0, seen_running=True)
    else:
        ended = observation.status in rules.failed | CANCELLED and observation.downloadable is False
        memory = replace(
            memory,
            odd_polls=memory.odd_polls + 1,
            odd_since=now if memory.odd_since is None else memory.odd_since,
            ends=memory.ends + 1 if ended else 0,
        )
    verdict = _verdict(row, memory, observation, now, rules)
    if verdict is not None:
        retakes = verdict[0] == "failed" and may_be_retaken(row, now, rules)
        return Decision(memory, to=verdict[0], reason=verdict[1], retakes=retakes)
    accepted = row.take.accepted_at if row.take else None
    if memory.longest is not None and accepted is not None:
        overlong = now - accepted >= LOST * memory.longest - POLL_MIN
        memory = replace(memory, overlong=memory.overlong or overlong)
    wait = wait_to_poll(row, memory, now, rules, told=observation.poll_after)
    if observation.status not in RUNNING:
        # It may have come to its end without a video: a few polls more tell.
        wait = min(wait, told_interval(hint))
    if memory.hint:
        wait = min(wait, after_hint(memory.hint))
        memory = replace(memory, hint=(memory.hint + 1) % (AFTER_HINT + 1))
    # A render that could not be cancelled and is still running is to be cancelled again.
    if unwanted(row) and (observation.status in RUNNING or not memory.not_cancelled):
        return Decision(memory, lane="cancel", after=wait if memory.not_cancelled else 0.0)
    return Decision(memory, lane="poll", after=wait)


def _verdict(
    row: CampaignRow, memory: Memory, observation: Polled, now: float, rules: Rules
) -> tuple[State, str] | None:
    """Return the state off the usual way that a poll leads to, if any, and why."""
    if observation.downloadable is not False:
        # Without having asked for the video, no word is the end.
        return None
    if observation.status in rules.failed and memory.ends >= ENDS:
        words = f'the service says "{observation.status}" and has no video'
        retake = suggest("retake", row.campaign, row.row, "--run")
        return "failed", f"{words}: edit the row, or have another made with `{retake}`"
    if observation.status in CANCELLED and memory.ends >= ENDS:
        return "cancelled", f'the service says "{observation.status}"'
    if overdue(row, now, rules):
        return (
            "stalled",
            f'no video after {say_duration(rules.deadline)}; it says "{observation.status}"',
        )
    since = memory.odd_since
    odd = memory.odd_polls >= ODD_POLLS and since is not None and now - since >= ODD_SPAN
    return ("stalled", f'the service says "{observation.status}" and has no video') if odd else None


def may_be_retaken(row: CampaignRow, now: float, rules: Rules) -> bool:
    """Whether another take of a row whose render failed may be made without asking again.

    As many as a person approved, of a video with a price and a key. Past the horizon no: another
    ledger may have made one, and the service may not remember its key any more.
    """
    take = row.take
    if not row.retries or row.quoted is None or take is None or not take.keyed or unwanted(row):
        return False
    return is_young(take, now, rules)


def overdue(row: CampaignRow, now: float, rules: Rules) -> bool:
    accepted = row.take.accepted_at if row.take else None
    return accepted is not None and now - accepted > rules.deadline


def missing(row: CampaignRow, memory: Memory, now: float) -> Decision:
    accepted = row.take.accepted_at if row.take else None
    if accepted is not None and now - accepted <= GRACE:
        memory = replace(memory, polls=memory.polls + 1)
        return Decision(memory, lane="poll", after=told_interval(memory.poll_after))
    if row.state == "rendering" and unwanted(row):
        return Decision(memory, to="cancelled", reason=_GONE)
    if row.state != "rendering":
        return Decision(memory, to="held", reason="the service no longer knows this video (404)")
    return Decision(memory, to="stalled", reason="the service no longer knows this video (404)")


# When a render is polled next, and when its video is asked for: pure functions, in seconds.
#
# A poll should come soon after a render is finished, and hardly any before. What is known of it is
# first the service's hint, then what such renders have taken so far (`renders`); a render is
# noticed within a tenth of its length. Where webhooks tell of it, polls are a safety net.


POLL_MIN, POLL_MAX, POLL_DEFAULT = 1.0, 300.0, 10.0

#: Of its length so far: how much later than its end a render may be noticed.
LAG = 0.08
#: The first poll comes so much before the shortest render of the kind so far.
EARLY = 0.95
#: Between two polls of a render of a kind that nothing is known of: at least so long, and so much
#: of its age.
UNKNOWN_MIN, UNKNOWN_LAG = 3.0, 0.25
#: Between two polls of a render whose end a webhook tells of.
SAFETY_NET = 300.0
#: A hint is taken for lost once a render has taken so much longer than any of its kind.
LOST = 1.1
#: Polls after a hint that came before the video could be fetched; then the usual interval goes on.
AFTER_HINT = 6
#: A render said to be under way is asked for its video at every so many polls.
VIDEO_EVERY = 5
#: A word for the end is believed after so many polls in a row without a video.
ENDS = 2


def told_interval(told: float | None, *, least: float = POLL_MIN) -> float:
    """Return the service's hint within bounds; a `least` of 0 lets the first poll come at once."""
    return POLL_DEFAULT if told is None else min(POLL_MAX, max(least, told))


def first_interval(told: float | None, shortest: float | None) -> float:
    """Return how long after its create a render is polled: never before the service says."""
    wait = told_interval(told, least=0.0)
    return wait if shortest is None else min(POLL_MAX, max(wait if told else 0.0, EARLY * shortest))


def poll_interval(elapsed: float, shortest: float | None, *, told: float | None = None) -> float:
    """Return how long to wait after a poll of a render that has been under way for `elapsed`.

    `shortest` is the shortest render of its kind so far. While there is none, renders are polled
    the more seldom the older they are.
    """
    if shortest is None:
        least = UNKNOWN_MIN if told is None else told_interval(told)
        return min(POLL_MAX, max(least, UNKNOWN_LAG * elapsed))
    early = EARLY * shortest - elapsed
    return min(POLL_MAX, max(POLL_MIN, early, LAG * elapsed))


def hinted_interval(elapsed: float, longest: float | None, *, asked: bool = False) -> float:
    """Return how long to wait for a webhook's word of a render: its hint may be lost.

    One poll comes soon after renders of its kind were all finished; once it has `asked`, the
    safety net is left.
    """
    if longest is None or asked:
        return SAFETY_NET
    return min(SAFETY_NET, max(POLL_MIN, LOST * longest - elapsed))


def video_is_asked_for(status: str | None, polls: int, *, overdue: bool = False) -> bool:
    """Whether the `polls`-th poll asks for the video after the status, which it has told by then.

    The words for a finished render are not in the specification, so a signed address is the proof.
    """
    return status not in RUNNING or overdue or polls % VIDEO_EVERY == 0


def after_hint(polls: int) -> float:
    """Return how long to wait after the `polls`-th poll that followed a hint, from 1."""
    return float(2 ** (polls - 1))


# What renders have taken so far, by kind: the same operation at the same price.
#
# A lost memory costs polls and nothing else; it is filled from the ledger at the start of a run.


#: The times of a kind that are kept, and the part of them that may be shorter than the rest:
#: one render that was done in a moment does not have the others polled early.
KEPT, OUTLIERS = 200, 0.05
#: The longest is the longest of so many at least, and of those that took no more than so many times
#: what half of them took: one that was stuck, or found late, does not count.
ENOUGH, STUCK = 5, 2.0

RenderKind = tuple[str, Decimal | None]


class RenderTimes:
    """Seconds from a create to a finished video."""

    def __init__(self) -> None:
        self._known: dict[RenderKind, list[float]] = defaultdict(list)

    def learn(self, kind: RenderKind, seconds: float) -> bool:
        """Take a time in; return whether polls that are planned come too late by it."""
        known = self._known[kind]
        before = _shortest(known)
        if len(known) < KEPT:
            insort(known, seconds)
        after = _shortest(known)
        return after is not None and (before is None or after < 0.9 * before)

    def shortest(self, kind: RenderKind) -> float | None:
        """Return the shortest time of renders of a kind, or None when there is none."""
        return _shortest(self._known.get(kind, []))

    def longest(self, kind: RenderKind) -> float | None:
        """Return the longest time of renders of a kind, or None where too few are known."""
        known = self._known.get(kind, [])
        if len(known) < ENOUGH:
            return None
        return known[bisect(known, STUCK * known[(len(known) - 1) // 2]) - 1]


def kind_of(row: CampaignRow) -> RenderKind:
    """Return what renders have to have in common to take about as long."""
    return row.operation, row.take.quoted if row.take else row.quoted


def _shortest(known: list[float]) -> float | None:
    return known[int(OUTLIERS * len(known))] if known else None
