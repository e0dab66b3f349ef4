"""How far a run is, and how each decision is written to the ledger.

Kept in step with the ledger by the engine.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.engine.policy.decision import (
    Accepted,
    Decision,
    FilesStored,
    Missing,
    NothingFound,
    NotMade,
    NotStored,
    Observation,
    Polled,
    RefusedAs,
    Released,
    VideoReady,
)
from callsheet.tasks.engine.time_left import TimeLeft
from callsheet.tasks.ledger.campaigns import Tally
from callsheet.tasks.ledger.deliveries import Delivered, deliver
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import move, remark
from callsheet.tasks.ledger.retries import retake_failed
from callsheet.tasks.ledger.service_state import close_call
from callsheet.tasks.ledger.takes import accept, refuse, settle
from callsheet.tasks.ledger.values import STATES, CampaignRow, State, Take
from callsheet.tasks.values.amounts import CreditPrice, as_text, in_credits, say_duration

#: Why the time left has grown, or is not known any more.
SLOWER = "the last rows took longer than those before"
OVERDUE = "the remaining videos are slower than average"
#: So many seconds later is no news.
LATER = 5.0
#: After so many rows the time left is estimated once a second, and not for each row.
_FEW = 200
#: A speed is that of so many last seconds, once so many are known.
RECENT, KNOWN = 60.0, 2.0


@dataclass(frozen=True, slots=True)
class Speeds:
    """What was done of late: rows and videos a minute, and bytes delivered a second."""

    rows: float
    videos: float
    bytes: float


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One moment of a run: `seconds_left` is None while nothing can be said.

    It shrinks from one moment to the next, unless `waits_for` says why it does not.
    """

    campaign: str
    rows: Mapping[State, int]
    total: int
    to_do: int
    done: int
    charged: Decimal
    reserved: Decimal
    budget: Decimal | None
    seconds: float
    seconds_left: float | None
    waits_for: str | None = None
    #: None while nothing can be said.
    speeds: Speeds | None = None
    #: What a credit costs, where the settings say so.
    credit_price: CreditPrice | None = None


class Progress:
    """Count rows as they move; `clock` gives seconds."""

    def __init__(
        self,
        campaign: str,
        tally: Tally,
        *,
        started: float,
        credit_price: CreditPrice | None = None,
        lengths: Iterable[tuple[str, Decimal | None, float]] = (),
    ) -> None:
        self.campaign = campaign
        self._time_left = TimeLeft(started, lengths)
        self._rows: Counter[State] = Counter(tally.rows)
        self._total = tally.total
        self._budget = tally.budget
        self._charged = tally.charged
        self._reserved = tally.reserved
        self._started = started
        self._credit_price = credit_price
        self._to_do = 0
        self._begun = 0
        self._done = 0
        self._videos = 0
        self._bytes = 0
        #: Of the last minute: when, rows done, videos, bytes.
        self._samples = deque([(started, 0, 0, 0)])
        #: When all will be done, as it was estimated when a row was done last, and when that was.
        self._ends: float | None = None
        self._estimated = started
        self._longer: str | None = None

    @property
    def done(self) -> int:
        """How many rows are done for this run."""
        return self._done

    def expects(self, count: int) -> None:
        """Say how many rows this run is to do, before it takes up the first."""
        if count != self._to_do:
            self._to_do, self._ends = count, None

    def begins(self, count: int) -> None:
        """Count rows that this run takes up: more to do, where they were not expected."""
        self._begun += count
        self.expects(max(self._to_do, self._begun))

    def moved(self, old: CampaignRow, new: CampaignRow, now: float) -> None:
        """Follow one row from one value to the next."""
        if old.state != new.state:
            if new.state == "rendering":
                self._time_left.begins(new, now)
            self._rows[old.state] -= 1
            self._rows[new.state] += 1
        before, after = old.take, new.take
        if after is None:
            return
        if before is not None and before.id == after.id:
            self._reserved -= before.reserved
            self._charged -= before.charged or Decimal(0)
        # What an earlier take has cost stays spent.
        self._reserved += after.reserved
        self._charged += after.charged or Decimal(0)

    def recount(self, tally: Tally, *, open: int, now: float) -> None:
        """Take the ledger's word if others process the rows: `open` of them are not done yet."""
        videos = tally.rows.get("delivered", 0) - self._rows["delivered"]
        self._rows, self._total = Counter(tally.rows), tally.total
        self._charged, self._reserved = tally.charged, tally.reserved
        self._videos += max(0, videos)
        done = max(self._done, self._to_do - open)
        if done > self._done:
            self._done = done - 1
            self.settles(now)

    def delivered(self, files: Iterable[Delivered]) -> None:
        """Count the files of one video that is in the store."""
        self._videos += 1
        self._bytes += sum(file.bytes for file in files)

    def settles(self, now: float, row: CampaignRow | None = None) -> None:
        """One row is done for this run, whatever came of it; None: of one that others process."""
        self._done += 1
        if row is not None:
            self._time_left.ends(row, now)
        if self._done > _FEW and now - self._estimated < 1:
            return
        before, self._longer, self._estimated = self._ends, None, now
        left = self._time_left.estimate(now, done=self._done, to_do=self._to_do)
        self._ends = None if left is None else now + left
        if before is None or self._ends is None:
            return
        if self._ends - before > max(LATER, (self._ends - now) / 10):
            self._longer = SLOWER

    def snapshot(self, now: float, *, waits_for: str | None = None) -> Snapshot:
        """Return how things stand at `now`; `waits_for` is what nothing can go on without."""
        left = None if self._ends is None else self._ends - now
        if self._done >= self._to_do:
            left = 0.0
        elif left is not None and left <= 0:
            left, waits_for = None, waits_for or OVERDUE
        return Snapshot(
            campaign=self.campaign,
            rows={state: self._rows[state] for state in STATES if self._rows[state]},
            total=self._total,
            to_do=self._to_do,
            done=self._done,
            charged=self._charged,
            reserved=self._reserved,
            budget=self._budget,
            seconds=now - self._started,
            seconds_left=left,
            waits_for=waits_for or (self._longer if self._done < self._to_do else None),
            speeds=self._speeds(now),
            credit_price=self._credit_price,
        )

    def _speeds(self, now: float) -> Speeds | None:
        """Return how much was done since the oldest sample of the last minute; take another."""
        samples = self._samples
        while len(samples) > 1 and samples[1][0] <= now - RECENT:
            samples.popleft()
        then, rows, videos, size = samples[0]
        if now > samples[-1][0]:
            samples.append((now, self._done, self._videos, self._bytes))
        gone = now - then
        if gone < KNOWN or not self._done:
            return None
        return Speeds(
            rows=60 * (self._done - rows) / gone,
            videos=60 * (self._videos - videos) / gone,
            bytes=(self._bytes - size) / gone,
        )


# Write a decision into the ledger, and say how the row stands after it.
#
# One table: what was observed -> the change that fits it (acceptance, refusal, settlement, delivery
# or a plain move) and the row as that change leaves it. Money never moves anywhere else.


#: Whether it was made; the row, where that is not what the decision says.
Change = Callable[[Connection], "bool | CampaignRow"]
NOTHING = Decimal(0)


async def record(
    ledger: Ledger, row: CampaignRow, observation: Observation, decision: Decision, *, now: float
) -> CampaignRow | None:
    """Commit what was decided; return the row as it then is, or None if it had moved on."""
    to, reason = decision.to, decision.reason
    if to is None:
        if reason is None:
            return row
        change: Change = partial(remark, row=row, words=reason, at=now)
        after = replace(row, reason=reason)
    else:
        change, take = _moved(row, to, observation, decision, now)
        after = replace(row, state=to, since=now, reason=reason, take=take)
    if decision.retakes:
        change = partial(_retaken, settlement=change, row=after)
    made = await ledger.write(change)
    return made if isinstance(made, CampaignRow) else after if made else None


def _retaken(connection: Connection, *, settlement: Change, row: CampaignRow) -> bool | CampaignRow:
    """Settle a failed take, and approve another one where that may be."""
    made = settlement(connection)
    return made and (retake_failed(connection, row, at=row.since) or made)


def _moved(
    row: CampaignRow, to: State, observation: Observation, decision: Decision, now: float
) -> tuple[Change, Take | None]:
    """Return the move of a row to the state `to`, and its take as it then is."""
    take, reason = row.take, decision.reason
    if take is None:
        return partial(move, row=row, new=to, at=now, reason=reason), None
    change: Change
    match observation:
        case Accepted(video_id=video_id):
            change = partial(accept, row=row, take=take, video_id=video_id, at=now)
            return change, replace(take, video_id=video_id, accepted_at=now)
        case RefusedAs() | NotMade() if to != "uncertain":
            change = partial(refuse, row=row, take=take, new=to, reason=reason or "", at=now)
            return change, replace(take, refused_at=now, reserved=NOTHING)
        case VideoReady():
            charged = decision.memory.charged
            change = partial(settle, row=row, take=take, new=to, charged=charged, at=now)
            return change, _settled(take, charged, ready_at=now)
        case Polled() | Released() | Missing() if to in ("failed", "cancelled"):
            charged = _cost_of_ending(observation, decision)
            settlement = partial(settle, row=row, take=take, new=to, charged=charged, at=now)
            change = partial(settlement, reason=reason)
            return change, _settled(take, charged)
        case FilesStored() | NotStored():
            files, findings = decision.memory.files, decision.memory.findings
            delivery = partial(deliver, row=row, take=take, files=files, new=to, at=now)
            change = partial(delivery, reason=reason, findings=findings)
            return change, replace(take, delivered_at=now) if to == "delivered" else take
    change = partial(move, row=row, new=to, at=now, reason=reason, take=take)
    if isinstance(observation, NothingFound) and not take.keyed:
        return partial(_given_up, take_id=take.id, at=now, change=change), take
    return change, take


def _given_up(
    connection: Connection, *, take_id: int, at: float, change: Change
) -> bool | CampaignRow:
    close_call(connection, take_id=take_id, outcome="unknown", at=at)
    return change(connection)


def _settled(take: Take, charged: Decimal | None, *, ready_at: float | None = None) -> Take:
    """Return a take as `settle` leaves it: what was set aside is the charge, unless one is said."""
    if take.charged is not None:
        # It is paid for already: the ledger keeps that figure.
        charged = take.charged
    elif charged is None:
        charged = take.reserved
    return replace(take, charged=charged, reserved=NOTHING, ready_at=ready_at or take.ready_at)


def _cost_of_ending(observation: Observation, decision: Decision) -> Decimal | None:
    """A cancelled render releases its credits (specification, section 1); a failed one may not.

    None, for what was set aside, also where the service no longer knows the video.
    """
    charged = decision.memory.charged
    released = decision.to == "cancelled" and not isinstance(observation, Missing)
    return NOTHING if released and charged is None else charged


# How far a run is, in words: for a terminal, a file, Prefect's log. Pure.


#: Seconds between two lines where nothing can be painted over: at least, a part of what the run
#: has taken so far, at most. What has not changed is said once in so many.
SOONEST, PART, LATEST, QUIET = 5.0, 0.25, 60.0, 15.0
#: New words on what is waited for may come so soon.
WORDS = 2.0


class LinePace:
    """Says which snapshots are worth a line, and when the last one was; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said: tuple[object, ...] | None = None
        #: When there was a line last, on the clock.
        self.at: float | None = None

    def allows(self, snapshot: Snapshot) -> bool:
        """Whether there is to be a line of this one: then there is taken to be."""
        counts = (tuple(snapshot.rows.items()), snapshot.done)
        said, now = (counts, snapshot.waits_for), self._clock()
        if self.at is not None and self._said is not None:
            finished = snapshot.done == snapshot.to_do and said != self._said
            pause = min(LATEST, max(SOONEST, PART * snapshot.seconds))
            if snapshot.waits_for != self._said[1]:
                pause = WORDS
            elif said == self._said:
                pause = max(QUIET, pause)
            if now - self.at < pause and not finished:
                return False
        self._said, self.at = said, now
        return True


def log_line(snapshot: Snapshot, now: datetime | None = None) -> str:
    """Return everything in one line, for where nothing can be painted over.

    `now` is the moment in the reader's zone; without it no moment is told.
    """
    states = ", ".join(f"{count:,} {state}" for state, count in snapshot.rows.items())
    parts = [done_of(snapshot), states, f"{money_of(snapshot)} reserved or charged"]
    parts += [part for part in (*speeds_of(snapshot.speeds), end_of(snapshot, now)) if part]
    parts += [f"after {say_duration(snapshot.seconds)}", *filter(None, [snapshot.waits_for])]
    return "; ".join(parts)


def done_of(snapshot: Snapshot) -> str:
    """Say how many rows are done for this run."""
    return f"{snapshot.done:,} of {snapshot.to_do:,} {'row' if snapshot.to_do == 1 else 'rows'}"


def end_of(snapshot: Snapshot, now: datetime | None) -> str | None:
    """Say when all will be done, on the reader's clock if that is known, and how long that is."""
    left = snapshot.seconds_left
    if left is None or snapshot.done >= snapshot.to_do:
        return None
    if now is None:
        return f"done in {say_duration(left)}"
    end = now + timedelta(seconds=left)
    day = "" if end.date() == now.date() else f"{end.day} {end:%b} "
    return f"done {day}{end:%H:%M}, in {say_duration(left)}"


def money_of(snapshot: Snapshot) -> str:
    """Say what the campaign has been charged and has set aside, of its budget if it has one."""
    spent, price = snapshot.charged + snapshot.reserved, snapshot.credit_price
    if snapshot.budget is None:
        return in_credits(spent, price)
    words = f"{as_text(spent)} of {as_text(snapshot.budget)} credits"
    return f"{words} ({price.of(spent):,f} of {price.words(snapshot.budget)})" if price else words


def speeds_of(speeds: Speeds | None) -> list[str]:
    """Say how quickly it goes; rows and videos apart only where not every row is a video."""
    if speeds is None:
        return []
    rows, videos, megabytes = map(_number, (speeds.rows, speeds.videos, speeds.bytes / 1e6))
    said = (
        [f"{videos} videos/min"] if rows == videos else [f"{rows} rows/min", f"{videos} videos/min"]
    )
    return said if megabytes == "0.0" else [*said, f"{megabytes} MB/s"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
