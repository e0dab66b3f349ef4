"""What to do next with a row: a pure function of the row, what was seen, and the moment.

No clock, no randomness, no I/O. Moments are Unix seconds, spans are seconds. The engine carries
out what is decided here; every rule about waiting, giving up and asking a person is in this file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from tasks.ledger.states import State
from tasks.ledger.takes import Delivered
from tasks.ledger.values import CampaignRow
from tasks.production.seen import (
    Accepted,
    Barred,
    Closed,
    FilmReady,
    Looked,
    Missing,
    NothingFound,
    NotStored,
    RefusedAs,
    Resumed,
    Seen,
    Stored,
    Troubled,
    Unknown,
    Unreached,
)

Lane = Literal["submit", "search", "watch", "deliver"]

#: Words for a render under way. Only the first two are in the specification (section 2).
RUNNING = frozenset({"generating", "draft", "queued", "pending", "processing", "rendering",
                     "running", "in_progress", "starting", "scheduled"})  # fmt: skip
#: Words for a render that will not come. None is in the specification: believed only together
#: with two refused downloads, and never a reason to pay again.
FAILED = frozenset({"failed", "failure", "error", "errored"})
CANCELLED = frozenset({"cancelled", "canceled"})

#: A new video may be unknown to reads for this long after the create (hole 63).
GRACE = 60.0
#: An unknown word with no film is given this many looks over this long before it is stalled.
ODD_LOOKS, ODD_SPAN = 5, 600.0
#: Answers lost, or deliveries failed, in a row before this run leaves the row for a later one.
LOST_LIMIT, DELIVERY_LIMIT = 8, 5
POLL_MIN, POLL_MAX, POLL_DEFAULT = 1.0, 120.0, 10.0
BACKOFF_FIRST, BACKOFF_MAX = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class Rules:
    """The spans a user can set, in seconds."""

    horizon: float = 86400.0
    deadline: float = 10800.0
    captions_wait: float = 120.0


@dataclass(frozen=True, slots=True)
class Memory:
    """What this run remembers of a row; losing it costs time and nothing else."""

    looks: int = 0
    odd_looks: int = 0
    odd_since: float | None = None
    stumbles: int = 0
    poll_after: float | None = None
    charged: Decimal | None = None
    files: tuple[Delivered, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: move the row (`to`), then visit `lane` after `after` seconds.

    Without a lane the row rests for this run. `holds` stops all further creates of the run for
    that reason; `parks` is a moment before which no request may be made.
    """

    memory: Memory = field(default=Memory())
    to: State | None = None
    reason: str | None = None
    lane: Lane | None = None
    after: float = 0.0
    holds: str | None = None
    parks: float | None = None


def decide(row: CampaignRow, memory: Memory, seen: Seen, now: float, rules: Rules) -> Decision:
    """Return what to do next with `row` after `seen`."""
    match seen:
        case Resumed():
            return Decision(memory, lane=lane_of(row, now, rules))
        case Accepted():
            memory = replace(memory, poll_after=seen.poll_after, stumbles=0)
            wait = first_poll(seen.poll_after)
            return Decision(memory, to="rendering", lane="watch", after=wait)
        case RefusedAs():
            return _refused(memory, seen)
        case Unknown():
            return _unknown(row, memory, seen, now, rules)
        case NothingFound():
            return Decision(memory, to="uncertain", reason=_PAST_HORIZON)
        case Looked():
            return _looked(row, memory, seen, now, rules)
        case Missing():
            return _missing(row, memory, now)
        case FilmReady():
            memory = replace(memory, charged=seen.charged or memory.charged, stumbles=0)
            to: State | None = "ready" if row.state == "rendering" else None
            return Decision(memory, to=to, lane="deliver")
        case Stored():
            return _stored(row, memory, seen, now, rules)
        case NotStored():
            return _not_stored(memory, seen)
        case Closed():
            until = seen.until.timestamp()
            lane = lane_of(row, now, rules)
            return Decision(memory, lane=lane, after=max(0.0, until - now), parks=until)
        case Barred():
            return Decision(memory, reason=seen.words, holds=seen.words)
        case Troubled() | Unreached():
            memory = replace(memory, stumbles=memory.stumbles + 1)
            lane = lane_of(row, now, rules)
            return Decision(memory, lane=lane, after=backoff(memory.stumbles))


_PAST_HORIZON = (
    "a create was sent and its answer lost, longer ago than the service is known to remember "
    "keys, and no video of ours is in its list: look in the service's app before paying again"
)


def first_poll(hint: float | None) -> float:
    """Return how long to wait for the first look; a hint of 0 means at once."""
    return POLL_DEFAULT if hint is None else min(POLL_MAX, max(0.0, hint))


def next_poll(hint: float | None) -> float:
    """Return how long to wait between looks: the service's hint, within bounds."""
    return POLL_DEFAULT if hint is None else min(POLL_MAX, max(POLL_MIN, hint))


def backoff(stumbles: int) -> float:
    """Return a wait that doubles with every stumble in a row."""
    return float(min(BACKOFF_MAX, BACKOFF_FIRST * 2 ** max(0, stumbles - 1)))


def lane_of(row: CampaignRow, now: float, rules: Rules) -> Lane | None:
    """Return the lane that carries a row of this state on, or None where the row rests."""
    match row.state:
        case "approved":
            return "submit"
        case "submitting" if row.take is not None:
            # Inside the horizon the same key yields the same video; past it, look first.
            young = now - row.take.intended_at < rules.horizon
            return "submit" if young else "search"
        case "rendering":
            return "watch"
        case "ready":
            return "deliver"
        case _:
            return None


def _refused(memory: Memory, seen: RefusedAs) -> Decision:
    if seen.status == 402:
        reason = f"{seen.words}: add credits, then run again"
        return Decision(memory, to="held", reason=reason, holds=reason)
    if seen.status in (401, 403):
        return Decision(memory, to="held", reason=seen.words, holds=seen.words)
    if seen.status in (409, 422):
        # The key is known for another body, or still in use: never mint a new one by ourselves.
        reason = f"{seen.words}: the service holds this key for something else"
        return Decision(memory, to="held", reason=reason)
    return Decision(memory, to="rejected", reason=f"{seen.words}: edit the row in the sheet")


def _unknown(row: CampaignRow, memory: Memory, seen: Unknown, now: float, rules: Rules) -> Decision:
    memory = replace(memory, stumbles=memory.stumbles + 1)
    if memory.stumbles >= LOST_LIMIT:
        return Decision(memory, reason=f"no clear answer yet ({seen.words}): run again")
    return Decision(memory, lane=lane_of(row, now, rules), after=backoff(memory.stumbles))


def _looked(row: CampaignRow, memory: Memory, seen: Looked, now: float, rules: Rules) -> Decision:
    hint = seen.poll_after if seen.poll_after is not None else memory.poll_after
    memory = replace(
        memory,
        looks=memory.looks + 1,
        stumbles=0,
        charged=seen.charged if seen.charged is not None else memory.charged,
    )
    if seen.status in RUNNING:
        memory = replace(memory, odd_looks=0, odd_since=None)
    else:
        memory = replace(
            memory,
            odd_looks=memory.odd_looks + 1,
            odd_since=now if memory.odd_since is None else memory.odd_since,
        )
    verdict = _verdict(row, memory, seen, now, rules)
    if verdict is not None:
        return Decision(memory, to=verdict[0], reason=verdict[1])
    return Decision(memory, lane="watch", after=next_poll(hint))


def _verdict(
    row: CampaignRow, memory: Memory, seen: Looked, now: float, rules: Rules
) -> tuple[State, str] | None:
    """Return the state beside the road that a look leads to, if any, and why."""
    twice = memory.odd_looks >= 2 and seen.downloadable is False
    if seen.status in FAILED and twice:
        return "failed", f'the service says "{seen.status}" and has no film'
    if seen.status in CANCELLED and twice:
        return "cancelled", f'the service says "{seen.status}"'
    accepted = row.take.accepted_at if row.take else None
    if accepted is not None and now - accepted > rules.deadline:
        return "stalled", f'no film after {rules.deadline / 60:g} minutes; it says "{seen.status}"'
    since = memory.odd_since
    odd = memory.odd_looks >= ODD_LOOKS and since is not None and now - since >= ODD_SPAN
    return ("stalled", f'the service says "{seen.status}" and has no film') if odd else None


def _missing(row: CampaignRow, memory: Memory, now: float) -> Decision:
    accepted = row.take.accepted_at if row.take else None
    if accepted is not None and now - accepted <= GRACE:
        memory = replace(memory, looks=memory.looks + 1)
        return Decision(memory, lane="watch", after=next_poll(memory.poll_after))
    if row.state != "rendering":
        return Decision(memory, to="held", reason="the service no longer knows this video (404)")
    return Decision(memory, to="stalled", reason="the service no longer knows this video (404)")


def _stored(row: CampaignRow, memory: Memory, seen: Stored, now: float, rules: Rules) -> Decision:
    memory = replace(memory, files=seen.files, stumbles=memory.stumbles + 1)
    if not seen.late:
        return Decision(memory, to="delivered")
    formats = " and ".join(seen.late)
    ready = row.take.ready_at if row.take and row.take.ready_at else now
    if now - ready < rules.captions_wait:
        return Decision(memory, lane="deliver", after=min(10.0, backoff(memory.stumbles)))
    reason = f"the film is in the store, but the service has no {formats} captions: run again"
    return Decision(memory, to="held", reason=reason)


def _not_stored(memory: Memory, seen: NotStored) -> Decision:
    memory = replace(memory, stumbles=memory.stumbles + 1)
    if seen.permanent or memory.stumbles >= DELIVERY_LIMIT:
        reason = f"{seen.words}: the film is paid for, running again fetches it free"
        return Decision(memory, to="held", reason=reason)
    return Decision(memory, lane="deliver", after=backoff(memory.stumbles))
