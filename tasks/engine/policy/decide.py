"""What to do next with a row: a pure function of the row, what was seen, and the moment.

No clock, no randomness, no I/O. Moments are Unix seconds, spans are seconds. The engine carries
out what is decided here; every rule about waiting, giving up and asking a person is in this file,
in `creates` or in `renders`.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.duration import say_duration
from tasks.engine.policy.creates import LOST_LIMIT, again, busy, not_found, refused, unmade
from tasks.engine.policy.decision import SPREAD, Decision, Memory, Rules, lane_of, unwanted
from tasks.engine.policy.observations import (
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
from tasks.engine.policy.polling import POLL_DEFAULT, backoff
from tasks.engine.policy.renders import first_wait, looked, missing, overdue
from tasks.ledger.states import STATES, State
from tasks.ledger.values import CampaignRow

#: Deliveries that failed in a row before this run leaves the row for a later one.
DELIVERY_LIMIT = 5
#: Why a row is cancelled whose render was under way.
CANCELLED_AS_ASKED = "cancelled at the service as asked: `callsheet retake` makes another"

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
            wait = min(first_wait(memory, rules), rules.deadline)
            return Decision(memory, to="rendering", lane="watch", after=wait)
        case RefusedAs():
            return refused(row, memory, seen)
        case Unknown():
            return again(row, replace(memory, doubt=True), seen.words, now, rules)
        case NothingFound():
            return not_found(row, memory, seen, now, rules)
        case Unmade():
            return unmade(row, memory, seen, now)
        case Busy():
            return busy(memory, seen, now, rules)
        case Looked():
            return looked(row, memory, seen, now, rules)
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
            return missing(row, memory, now)
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


def _troubled(
    row: CampaignRow, memory: Memory, seen: Troubled | Unreached, now: float, rules: Rules
) -> Decision:
    memory = replace(memory, stumbles=memory.stumbles + 1)
    after = backoff(memory.stumbles)
    lane = lane_of(row, now + after * SPREAD, rules)
    if isinstance(seen, Troubled) and memory.stumbles >= LOST_LIMIT:
        if lane == "search":
            return Decision(memory, reason=f"no clear answer yet ({seen.words}): run again")
        if lane in ("watch", "cancel") and overdue(row, now, rules):
            words = f"no film after {say_duration(rules.deadline)}; {seen.words}"
            return Decision(memory, to="stalled", reason=words)
    return Decision(memory, lane=lane, after=after)


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
