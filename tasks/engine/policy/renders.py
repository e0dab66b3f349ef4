"""What a look at a render leads to, and when the next one comes: pure functions, used by `decide`.

The words for a render that has ended are not in the specification (section 2), so no word alone is
the end of one.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.duration import say_duration
from tasks.engine.policy.decision import CANCELLED, RUNNING, Decision, Memory, Rules, unwanted
from tasks.engine.policy.observations import Looked
from tasks.engine.policy.polling import (
    AFTER_HINT,
    POLL_MIN,
    SAFETY_NET,
    after_hint,
    first_look,
    first_poll,
    next_look,
    next_poll,
    stride,
)
from tasks.ledger.states import State
from tasks.ledger.values import CampaignRow

#: A new video may be unknown to reads for this long after the create (hole 63).
GRACE = 60.0
#: An unknown word with no film is given this many looks over this long before it is stalled.
ODD_LOOKS, ODD_SPAN = 5, 600.0

_GONE = (
    "cancelled as asked, but the service no longer knows its video (404): what was set aside "
    "counts as paid"
)


def wait_to_look(
    row: CampaignRow, memory: Memory, now: float, rules: Rules, *, told: float | None = None
) -> float:
    """Return how long to wait before a render under way is looked at again, in seconds."""
    accepted = row.take.accepted_at if row.take else None
    elapsed = max(0.0, now - accepted) if accepted is not None else 0.0
    wait = SAFETY_NET
    if not rules.hinted:
        step = stride(memory.looks, row.id, scout=memory.scout)
        wait = next_look(elapsed, memory.shortest, told=told, step=step)
    return max(POLL_MIN, min(wait, rules.deadline - elapsed))


def first_wait(memory: Memory, rules: Rules) -> float:
    if memory.doubt:
        # The service may have had it for long, and told of its film already.
        return first_poll(memory.poll_after)
    return SAFETY_NET if rules.hinted else first_look(memory.poll_after, memory.shortest)


def looked(row: CampaignRow, memory: Memory, seen: Looked, now: float, rules: Rules) -> Decision:
    hint = seen.poll_after if seen.poll_after is not None else memory.poll_after
    memory = replace(
        memory,
        looks=memory.looks + 1,
        stumbles=0,
        charged=seen.charged if seen.charged is not None else memory.charged,
    )
    if seen.status in RUNNING:
        memory = replace(memory, odd_looks=0, odd_since=None, ends=0)
    else:
        ended = seen.status in rules.failed | CANCELLED and seen.downloadable is False
        memory = replace(
            memory,
            odd_looks=memory.odd_looks + 1,
            odd_since=now if memory.odd_since is None else memory.odd_since,
            ends=memory.ends + 1 if ended else 0,
        )
    verdict = _verdict(row, memory, seen, now, rules)
    if verdict is not None:
        return Decision(memory, to=verdict[0], reason=verdict[1])
    wait = wait_to_look(row, memory, now, rules, told=seen.poll_after)
    if seen.status not in RUNNING:
        # It may have come to its end without a film: a few looks more tell.
        wait = min(wait, next_poll(hint))
    if memory.hint:
        wait = min(wait, after_hint(memory.hint))
        memory = replace(memory, hint=(memory.hint + 1) % (AFTER_HINT + 1))
    # A render that could not be cancelled and is still running is to be cancelled again.
    if unwanted(row) and (seen.status in RUNNING or not memory.not_cancelled):
        return Decision(memory, lane="cancel", after=wait if memory.not_cancelled else 0.0)
    return Decision(memory, lane="watch", after=wait)


def _verdict(
    row: CampaignRow, memory: Memory, seen: Looked, now: float, rules: Rules
) -> tuple[State, str] | None:
    """Return the state beside the road that a look leads to, if any, and why."""
    if seen.downloadable is not False:
        # Without having asked for the film, no word is the end.
        return None
    if seen.status in rules.failed and memory.ends >= 2:
        words = f'the service says "{seen.status}" and has no film'
        return "failed", f"{words}: edit the row, or have another made with `callsheet retake`"
    if seen.status in CANCELLED and memory.ends >= 2:
        return "cancelled", f'the service says "{seen.status}"'
    if overdue(row, now, rules):
        return "stalled", f'no film after {say_duration(rules.deadline)}; it says "{seen.status}"'
    since = memory.odd_since
    odd = memory.odd_looks >= ODD_LOOKS and since is not None and now - since >= ODD_SPAN
    return ("stalled", f'the service says "{seen.status}" and has no film') if odd else None


def overdue(row: CampaignRow, now: float, rules: Rules) -> bool:
    accepted = row.take.accepted_at if row.take else None
    return accepted is not None and now - accepted > rules.deadline


def missing(row: CampaignRow, memory: Memory, now: float) -> Decision:
    accepted = row.take.accepted_at if row.take else None
    if accepted is not None and now - accepted <= GRACE:
        memory = replace(memory, looks=memory.looks + 1)
        return Decision(memory, lane="watch", after=next_poll(memory.poll_after))
    if row.state == "rendering" and unwanted(row):
        return Decision(memory, to="cancelled", reason=_GONE)
    if row.state != "rendering":
        return Decision(memory, to="held", reason="the service no longer knows this video (404)")
    return Decision(memory, to="stalled", reason="the service no longer knows this video (404)")
