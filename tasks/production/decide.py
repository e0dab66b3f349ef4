"""What to do next with a row: a pure function of the row, what was seen, and the moment.

No clock, no randomness, no I/O. Moments are Unix seconds, spans are seconds. The engine carries
out what is decided here; every rule about waiting, giving up and asking a person is in this file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from tasks.brief import CREATE
from tasks.duration import say_duration
from tasks.ledger.states import STATES, State
from tasks.ledger.takes import Delivered
from tasks.ledger.values import CampaignRow
from tasks.production.pace import (
    AFTER_HINT,
    POLL_DEFAULT,
    POLL_MIN,
    SAFETY_NET,
    after_hint,
    backoff,
    first_look,
    first_poll,
    next_look,
    next_poll,
    stride,
)
from tasks.production.seen import (
    Accepted,
    Barred,
    Busy,
    Closed,
    FilmReady,
    Looked,
    Missing,
    NotCancelled,
    NothingFound,
    NotStored,
    RefusedAs,
    Released,
    Resumed,
    Seen,
    Stored,
    Troubled,
    Unknown,
    Unmade,
    Unreached,
)

Lane = Literal["submit", "once", "search", "watch", "cancel", "deliver"]

#: Words for a render under way. Only the first two are in the specification (section 2).
RUNNING = frozenset({"generating", "draft", "queued", "pending", "processing", "rendering",
                     "running", "in_progress", "starting", "scheduled"})  # fmt: skip
#: Words for a render that will not come. None is in the specification: believed only together
#: with two refused downloads, and never a reason to pay again. A user can set those of a failure.
FAILED = frozenset({"failed", "failure", "error", "errored"})
CANCELLED = frozenset({"cancelled", "canceled"})

#: A new video may be unknown to reads for this long after the create (hole 63).
GRACE = 60.0
#: An unknown word with no film is given this many looks over this long before it is stalled.
ODD_LOOKS, ODD_SPAN = 5, 600.0
#: Answers lost, or deliveries failed, in a row before this run leaves the row for a later one.
LOST_LIMIT, DELIVERY_LIMIT = 8, 5
#: A create with its retries and its wait at the gate may take so long. None is begun so close to
#: the horizon that it could end past it, nor in the last tenth of a horizon that is short.
LAST_CREATE, SHORT = 900.0, 0.1
#: Between two searches for what a call without a key has made.
SEARCH = 15.0
#: The engine waits up to a tenth longer than it is told.
SPREAD = 1.1


@dataclass(frozen=True, slots=True)
class Rules:
    """The spans a user can set, in seconds."""

    horizon: float = 86400.0
    deadline: float = 10800.0
    captions_wait: float = 120.0
    evidence_wait: float = 600.0
    failed: frozenset[str] = FAILED
    #: Whether clips take idempotency keys at this service; by the specification they do not.
    clip_keys: bool = False
    #: Whether a webhook can be relied on to tell of films that are ready.
    hinted: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """What this run remembers of a row; losing it costs time and nothing else.

    `ends` counts looks in a row at a word for the end without a film, `stumbles` failures in a
    row.
    """

    looks: int = 0
    odd_looks: int = 0
    odd_since: float | None = None
    ends: int = 0
    stumbles: int = 0
    #: The service was asked to cancel the render, and did not, or its answer was not clear.
    not_cancelled: bool = False
    #: An earlier answer to a create of this take was lost, in this run or in one before it.
    doubt: bool = False
    poll_after: float | None = None
    #: What the shortest render of its kind took, in seconds, and whether this one is to find out.
    shortest: float | None = None
    scout: bool = False
    #: Looks since a webhook named its video, from 1; 0 when none did.
    hint: int = 0
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


#: Where a row must be for news of it to be news; elsewhere it is late, or told twice.
TIMELY: dict[type[Seen], frozenset[State]] = {
    Accepted: frozenset({"submitting", "uncertain"}),
    RefusedAs: frozenset({"submitting"}),
    Unknown: frozenset({"submitting"}),
    NothingFound: frozenset({"submitting"}),
    Unmade: frozenset({"submitting"}),
    Busy: frozenset({"approved"}),
    Looked: frozenset({"rendering"}),
    Released: frozenset({"rendering"}),
    NotCancelled: frozenset({"rendering"}),
    Missing: frozenset({"submitting", "rendering", "ready"}),
    FilmReady: frozenset({"rendering", "ready"}),
    Stored: frozenset({"ready"}),
    NotStored: frozenset({"ready"}),
}


def decide(row: CampaignRow, memory: Memory, seen: Seen, now: float, rules: Rules) -> Decision:
    """Return what to do next with `row` after `seen`; late and double news change nothing."""
    if row.state not in TIMELY.get(type(seen), STATES):
        return Decision(memory, lane=lane_of(row, now, rules), after=POLL_DEFAULT)
    match seen:
        case Resumed():
            # What an earlier run sent, and what became of it, is not known any more.
            memory = replace(memory, doubt=row.state == "submitting")
            return Decision(memory, lane=lane_of(row, now, rules))
        case Accepted():
            memory = replace(memory, poll_after=seen.poll_after, stumbles=0)
            if unwanted(row):
                return Decision(memory, to="rendering", lane="cancel")
            # A look at the deadline itself, however late the service says to come.
            wait = min(_first_wait(memory, rules), rules.deadline)
            return Decision(memory, to="rendering", lane="watch", after=wait)
        case RefusedAs():
            return _refused(row, memory, seen)
        case Unknown():
            return _again(row, replace(memory, doubt=True), seen.words, now, rules)
        case NothingFound():
            return _not_found(row, memory, seen, now, rules)
        case Unmade():
            return _unmade(row, memory, seen, now)
        case Busy():
            return _busy(memory, seen, now, rules)
        case Looked():
            return _looked(row, memory, seen, now, rules)
        case Released():
            memory = replace(memory, charged=seen.charged)
            return Decision(memory, to="cancelled", reason=CANCELLED_AS_ASKED)
        case NotCancelled():
            # The film may be there by now; then it is paid for, and delivered instead.
            return Decision(replace(memory, not_cancelled=True), lane="watch")
        case Missing() if row.state == "submitting":
            # A service without a list of videos: there is nothing to search in.
            return _troubled(
                row, memory, Troubled("the service has no list of videos (404)"), now, rules
            )
        case Missing():
            return _missing(row, memory, now)
        case FilmReady():
            charged = memory.charged if seen.charged is None else seen.charged
            memory = replace(memory, charged=charged, stumbles=0)
            to: State | None = "ready" if row.state == "rendering" else None
            return Decision(memory, to=to, lane="deliver")
        case Stored():
            return _stored(row, memory, seen, now, rules)
        case NotStored():
            return _not_stored(memory, seen)
        case Closed():
            until = seen.until.timestamp()
            after = max(0.0, until - now)
            lane = lane_of(row, now + after * SPREAD, rules)
            return Decision(memory, lane=lane, after=after, parks=until)
        case Barred():
            return Decision(memory, reason=seen.words, holds=seen.words)
        case Troubled() | Unreached():
            return _troubled(row, memory, seen, now, rules)


CANCELLED_AS_ASKED = "cancelled at the service as asked: `callsheet retake` makes another"
NEVER_MADE = "cancelled as asked; nothing was made"
_GONE = (
    "cancelled as asked, but the service no longer knows its video (404): what was set aside "
    "counts as paid"
)
_RESOLVE = "look in the service's app, then `callsheet resolve` with --adopt, --resend or --abandon"
_PAST_HORIZON = (
    "a create was sent and its answer lost, longer ago than the service is known to remember "
    f"keys, and no video of ours is in its list: {_RESOLVE}"
)


def unwanted(row: CampaignRow) -> bool:
    """Whether somebody asked for the row's present take to be cancelled."""
    return row.take is not None and row.take.cancel_requested_at is not None


def lane_of(row: CampaignRow, now: float, rules: Rules) -> Lane | None:
    """Return the lane that carries a row of this state on, or None where the row rests."""
    match row.state:
        case "approved":
            return "submit" if row.operation == CREATE or rules.clip_keys else "once"
        case "submitting" if row.take is not None and not row.take.keyed:
            return "search"
        case "submitting" if row.take is not None:
            # Inside the horizon the same key yields the same video; past it, look first.
            last = rules.horizon - min(LAST_CREATE, SHORT * rules.horizon)
            young = now - row.take.intended_at < last
            return "submit" if young else "search"
        case "rendering":
            return "cancel" if unwanted(row) else "watch"
        case "ready":
            return "deliver"
        case _:
            return None


def _refused(row: CampaignRow, memory: Memory, seen: RefusedAs) -> Decision:
    """A definite no to this call, which proves nothing about an earlier one of the same key."""
    if seen.of_key:
        reason = f"{seen.words}: the service holds this key for something else"
        return Decision(memory, to="uncertain", reason=reason)
    if seen.status in (400, 413, 422):
        return Decision(memory, to="rejected", reason=f"{seen.words}: edit the row in the sheet")
    # Nothing that a row could be blamed for: every other one would be told the same.
    words = f"{seen.words}: add credits, then run again" if seen.status == 402 else seen.words
    if unwanted(row) and not memory.doubt:
        return Decision(memory, to="cancelled", reason=f"{NEVER_MADE}: {seen.words}", holds=words)
    if memory.doubt:
        # An answer to this take was lost before: it may be paid for, so its money stays reserved.
        return Decision(memory, reason=words, holds=words)
    return Decision(memory, to="held", reason=words, holds=words)


def _not_found(
    row: CampaignRow, memory: Memory, seen: NothingFound, now: float, rules: Rules
) -> Decision:
    """Ask a person, for a call without a key once it was looked for long enough."""
    if row.take is None or row.take.keyed:
        return Decision(memory, to="uncertain", reason=_PAST_HORIZON)
    if now - row.take.intended_at < rules.evidence_wait:
        return Decision(memory, lane="search", after=min(SEARCH, rules.evidence_wait / 10))
    named = ", ".join(seen.candidates[:5])
    found = f"new videos that may be it: {named}" if named else "no new video is in its list"
    reason = f"the answer to a paid call without a key was lost, and {found}: {_RESOLVE}"
    return Decision(memory, to="uncertain", reason=reason)


def _unmade(row: CampaignRow, memory: Memory, seen: Unmade, now: float) -> Decision:
    if unwanted(row):
        return Decision(memory, to="cancelled", reason=f"{NEVER_MADE}: {seen.words}")
    memory = replace(memory, stumbles=memory.stumbles + 1)
    if memory.stumbles >= LOST_LIMIT:
        return Decision(memory, to="held", reason=f"{seen.words}: run again")
    until = seen.until.timestamp() if seen.until else None
    after = max(backoff(memory.stumbles), 0.0 if until is None else until - now)
    return Decision(memory, to="approved", reason=seen.words, lane="once", after=after, parks=until)


def _busy(memory: Memory, seen: Busy, now: float, rules: Rules) -> Decision:
    """Wait for another call to be settled; hold the row once that will not happen by itself."""
    memory = replace(memory, stumbles=memory.stumbles + 1)
    limit = 2 * rules.evidence_wait
    if seen.since is None or now - seen.since > limit:
        reason = f"{seen.words}: settle them with `callsheet resolve`, then run again"
        return Decision(memory, to="held", reason=reason)
    return Decision(memory, lane="once", after=backoff(memory.stumbles))


def _again(row: CampaignRow, memory: Memory, words: str, now: float, rules: Rules) -> Decision:
    """Send the same bytes again after a while, or leave them to a later run."""
    memory = replace(memory, stumbles=memory.stumbles + 1)
    if memory.stumbles >= LOST_LIMIT:
        return Decision(memory, reason=f"no clear answer yet ({words}): run again")
    after = backoff(memory.stumbles)
    return Decision(memory, lane=lane_of(row, now + after * SPREAD, rules), after=after)


def _troubled(
    row: CampaignRow, memory: Memory, seen: Troubled | Unreached, now: float, rules: Rules
) -> Decision:
    memory = replace(memory, stumbles=memory.stumbles + 1)
    after = backoff(memory.stumbles)
    lane = lane_of(row, now + after * SPREAD, rules)
    if isinstance(seen, Troubled) and memory.stumbles >= LOST_LIMIT:
        if lane == "search":
            return Decision(memory, reason=f"no clear answer yet ({seen.words}): run again")
        if lane in ("watch", "cancel") and _overdue(row, now, rules):
            words = f"no film after {say_duration(rules.deadline)}; {seen.words}"
            return Decision(memory, to="stalled", reason=words)
    return Decision(memory, lane=lane, after=after)


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


def _first_wait(memory: Memory, rules: Rules) -> float:
    if memory.doubt:
        # The service may have had it for long, and told of its film already.
        return first_poll(memory.poll_after)
    return SAFETY_NET if rules.hinted else first_look(memory.poll_after, memory.shortest)


def _looked(row: CampaignRow, memory: Memory, seen: Looked, now: float, rules: Rules) -> Decision:
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
    if _overdue(row, now, rules):
        return "stalled", f'no film after {say_duration(rules.deadline)}; it says "{seen.status}"'
    since = memory.odd_since
    odd = memory.odd_looks >= ODD_LOOKS and since is not None and now - since >= ODD_SPAN
    return ("stalled", f'the service says "{seen.status}" and has no film') if odd else None


def _overdue(row: CampaignRow, now: float, rules: Rules) -> bool:
    accepted = row.take.accepted_at if row.take else None
    return accepted is not None and now - accepted > rules.deadline


def _missing(row: CampaignRow, memory: Memory, now: float) -> Decision:
    accepted = row.take.accepted_at if row.take else None
    if accepted is not None and now - accepted <= GRACE:
        memory = replace(memory, looks=memory.looks + 1)
        return Decision(memory, lane="watch", after=next_poll(memory.poll_after))
    if row.state == "rendering" and unwanted(row):
        return Decision(memory, to="cancelled", reason=_GONE)
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
