"""What a poll of a render leads to, and when the next one comes: pure functions, used by `decide`.

The words for a render that has ended are not in the specification (section 2), so no word alone is
the end of one.
"""

from __future__ import annotations

from dataclasses import replace

from callsheet.tasks.duration import say_duration
from callsheet.tasks.engine.policy.decision import (
    CANCELLED,
    RUNNING,
    Decision,
    Memory,
    Rules,
    unwanted,
)
from callsheet.tasks.engine.policy.observations import Polled
from callsheet.tasks.engine.policy.polling import (
    AFTER_HINT,
    ENDS,
    LOST,
    POLL_MIN,
    after_hint,
    first_interval,
    hinted_interval,
    interval_step,
    poll_interval,
    told_interval,
)
from callsheet.tasks.ledger.states import State
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.suggest import suggest

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
        step = interval_step(memory.polls, row.id, scout=memory.scout)
        wait = poll_interval(elapsed, memory.shortest, told=told, step=step)
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
        memory = replace(memory, odd_polls=0, odd_since=None, ends=0)
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
        return Decision(memory, to=verdict[0], reason=verdict[1])
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
