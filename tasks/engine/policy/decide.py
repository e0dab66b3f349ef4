"""What to do next with a row: a pure function of the row, an observation, and the moment.

No clock, no randomness, no I/O. Moments are Unix seconds, spans are seconds. The engine processes
out what is decided here; every rule about waiting, giving up and asking a person is in this file,
in `creates` or in `renders`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from callsheet.tasks.engine.policy.creates import (
    LOST_LIMIT,
    again,
    busy,
    not_found,
    not_made,
    refused,
)
from callsheet.tasks.engine.policy.decision import (
    SPREAD,
    Accepted,
    AccessDenied,
    Busy,
    Closed,
    Decision,
    FilesStored,
    Memory,
    Missing,
    NeverSent,
    NotCancelled,
    NothingFound,
    NotMade,
    NotStored,
    Observation,
    Polled,
    RefusedAs,
    Released,
    Resumed,
    Rules,
    Troubled,
    Unknown,
    VideoReady,
    backoff,
    lane_of,
    unwanted,
)
from callsheet.tasks.engine.policy.renders import POLL_DEFAULT, first_wait, missing, overdue, polled
from callsheet.tasks.ledger.values import STATES, CampaignRow, State
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import in_credits, say_duration

#: Deliveries that failed in a row before this run leaves the row for a later one.
DELIVERY_LIMIT = 5
#: How often a video is fetched that the service hands out damaged: the third is as damaged.
CORRUPT_LIMIT = 3
#: Troubles in a row before a row is held that waits for a price, or for the list it is told apart
#: by. Before that, a run is parked whose service answers no one.
UNASKED_LIMIT = 10

#: Where a row must be for an observation to say anything; elsewhere it is late, or told twice.
TIMELY: dict[type[Observation], frozenset[State]] = {
    Accepted: frozenset({"submitting", "uncertain"}),
    RefusedAs: frozenset({"submitting"}),
    Unknown: frozenset({"submitting"}),
    NothingFound: frozenset({"submitting"}),
    NotMade: frozenset({"submitting"}),
    Busy: frozenset({"approved"}),
    Polled: frozenset({"rendering"}),
    Released: frozenset({"rendering"}),
    NotCancelled: frozenset({"rendering"}),
    Missing: frozenset({"submitting", "rendering", "ready"}),
    VideoReady: frozenset({"rendering", "ready"}),
    FilesStored: frozenset({"ready"}),
    NotStored: frozenset({"ready"}),
}


def decide(
    row: CampaignRow, memory: Memory, observation: Observation, now: float, rules: Rules
) -> Decision:
    """Return what to do next with `row`; late and double observations change nothing."""
    if row.state not in TIMELY.get(type(observation), STATES):
        return Decision(memory, lane=lane_of(row, now, rules), after=POLL_DEFAULT)
    match observation:
        case Resumed():
            return _resumed(row, memory, now, rules)
        case Accepted():
            return _accepted(row, memory, observation, rules)
        case RefusedAs():
            return refused(row, memory, observation)
        case Unknown():
            return again(row, replace(memory, doubt=True), observation.words, now, rules)
        case NothingFound():
            return not_found(row, memory, observation, now, rules)
        case NotMade():
            return not_made(row, memory, observation, now)
        case Busy():
            return busy(memory, observation, now, rules)
        case Polled():
            return polled(row, memory, observation, now, rules)
        case Released():
            return _released(row, memory, observation)
        case NotCancelled():
            # The video may be there by now; then it is paid for, and delivered instead.
            return Decision(replace(memory, not_cancelled=True), lane="poll")
        case Missing() if row.state == "submitting":
            # A service without a list of videos: there is nothing to search in.
            return _troubled(
                row, memory, Troubled("the service has no list of videos (404)"), now, rules
            )
        case Missing():
            return missing(row, memory, now)
        case VideoReady():
            return _video_ready(row, memory, observation)
        case FilesStored():
            return _stored(row, memory, observation, now, rules)
        case NotStored():
            return _not_stored(row, memory, observation)
        case Closed():
            return _closed(row, memory, observation, now, rules)
        case AccessDenied():
            return Decision(memory, reason=observation.words, defers=observation.words)
        case Troubled() | NeverSent():
            return _troubled(row, memory, observation, now, rules)


def _resumed(row: CampaignRow, memory: Memory, now: float, rules: Rules) -> Decision:
    # What an earlier run sent, and what became of it, is not known any more.
    if memory.doubt != (row.state == "submitting"):
        memory = replace(memory, doubt=not memory.doubt)
    return Decision(memory, lane=lane_of(row, now, rules))


def _accepted(row: CampaignRow, memory: Memory, observation: Accepted, rules: Rules) -> Decision:
    memory = replace(memory, poll_after=observation.poll_after, failures=0)
    if unwanted(row):
        return Decision(memory, to="rendering", lane="cancel")
    # A poll at the deadline itself, however late the service says to come.
    wait = min(first_wait(memory, rules), rules.deadline)
    return Decision(memory, to="rendering", lane="poll", after=wait)


def _released(row: CampaignRow, memory: Memory, observation: Released) -> Decision:
    memory = replace(memory, charged=observation.charged)
    retake = suggest("retake", row.campaign, row.row, "--run")
    reason = f"cancelled at the service as asked: `{retake}` makes another"
    return Decision(memory, to="cancelled", reason=reason)


def _video_ready(row: CampaignRow, memory: Memory, observation: VideoReady) -> Decision:
    charged = memory.charged if observation.charged is None else observation.charged
    memory = replace(memory, charged=charged, failures=0)
    to: State | None = "ready" if row.state == "rendering" else None
    return Decision(memory, to=to, lane="deliver")


def _stored(
    row: CampaignRow, memory: Memory, observation: FilesStored, now: float, rules: Rules
) -> Decision:
    findings = observation.findings or memory.findings
    memory = replace(
        memory, files=observation.files, findings=findings, failures=memory.failures + 1
    )
    if not observation.late:
        wrong = findings.wrong if findings is not None else {}
        if found := [words for check, words in wrong.items() if check in rules.checks]:
            return Decision(memory, to="held", reason=_held_back(row, found))
        return Decision(memory, to="delivered")
    formats = " and ".join(observation.late)
    ready = row.take.ready_at if row.take and row.take.ready_at else now
    if now - ready < rules.captions_wait:
        return Decision(memory, lane="deliver", after=min(10.0, backoff(memory.failures)))
    reason = f"the video is in the store, but the service has no {formats} captions: run again"
    return Decision(memory, to="held", reason=reason)


def _not_stored(row: CampaignRow, memory: Memory, observation: NotStored) -> Decision:
    memory = replace(
        memory, failures=memory.failures + 1, corrupt=memory.corrupt + observation.corrupt
    )
    if memory.corrupt >= CORRUPT_LIMIT:
        return Decision(memory, to="held", reason=_corrupt(row, observation.words))
    if observation.permanent or memory.failures >= DELIVERY_LIMIT:
        reason = f"{observation.words}: the video is paid for, running again fetches it free"
        return Decision(memory, to="held", reason=reason, defers=_blocked(observation))
    defers = None if observation.in_the_end else _blocked(observation)
    return Decision(memory, lane="deliver", after=backoff(memory.failures), defers=defers)


def _blocked(observation: NotStored) -> str | None:
    """Say why no more is paid for: a video could not be delivered."""
    if observation.blocks is None:
        return None
    return f"{observation.blocks}: nothing was spent on it; fix this, then run again"


def _held_back(row: CampaignRow, found: Sequence[str]) -> str:
    """Say why a video that is in the store waits for a person, and what they can do."""
    keep = suggest("review", row.campaign, row.row, "keep")
    retake = suggest("retake", row.campaign, row.row, "--run")
    return (
        f"the video is in the store, but {'; '.join(found)}: `{keep}` takes it as it is, "
        f"`{retake}` makes another"
    )


def _corrupt(row: CampaignRow, words: str) -> str:
    """Say that the service has no video to give, and what the way on costs."""
    price = row.take.quoted if row.take is not None else row.quoted
    cost = "a price that is asked about" if price is None else f"about {in_credits(price)}"
    retake = suggest("retake", row.campaign, row.row, "--run")
    return (
        f"the video is corrupt at the service, fetched {CORRUPT_LIMIT} times ({words}): `{retake}` "
        f"makes another for {cost}; this one is paid for, running again fetches it free"
    )


def _closed(
    row: CampaignRow, memory: Memory, observation: Closed, now: float, rules: Rules
) -> Decision:
    until = observation.until.timestamp()
    after = max(0.0, until - now)
    lane = lane_of(row, now + after * SPREAD, rules)
    return Decision(memory, lane=lane, after=after, pauses=until)


def _troubled(
    row: CampaignRow, memory: Memory, observation: Troubled | NeverSent, now: float, rules: Rules
) -> Decision:
    memory = replace(memory, failures=memory.failures + 1)
    after = backoff(memory.failures)
    lane = lane_of(row, now + after * SPREAD, rules)
    if isinstance(observation, Troubled) and memory.failures >= LOST_LIMIT:
        if lane == "search":
            return Decision(memory, reason=f"no clear answer yet ({observation.words}): run again")
        if lane in ("poll", "cancel") and overdue(row, now, rules):
            words = f"no video after {say_duration(rules.deadline)}; {observation.words}"
            return Decision(memory, to="stalled", reason=words)
        if row.state == "approved" and memory.failures >= UNASKED_LIMIT:
            words = f"not begun, {observation.words}: nothing was spent on it; run again"
            return Decision(memory, to="held", reason=words)
    return Decision(memory, lane=lane, after=after)
