"""When to poll renders: by webhook events, by render times, and sooner when asked.

Touches the rows that are concerned and no others; what a poll leads to is decided in `decide`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from decimal import Decimal

from callsheet.tasks.engine.active_rows import ActiveRow, ActiveRows, Scheduler
from callsheet.tasks.engine.policy.decision import Memory, Rules, unwanted
from callsheet.tasks.engine.policy.renders import RenderKind, RenderTimes, kind_of, wait_to_poll
from callsheet.tasks.ledger.values import CampaignRow


class Polls:
    """The polls that are planned; `spaced` spreads a wait, so that rows do not wake together."""

    def __init__(
        self,
        scheduler: Scheduler,
        active_rows: ActiveRows,
        plan: PollPlan,
        *,
        clock: Callable[[], float],
        spaced: Callable[[float], float],
    ) -> None:
        self._scheduler = scheduler
        self._active = active_rows
        self._plan = plan
        self._clock = clock
        self._spaced = spaced

    def notify(self, videos: Collection[str]) -> None:
        """Poll now the renders that a webhook named, as far as they wait."""
        self._plan.name(videos)
        for video in sorted(videos):
            active = self._active.render(video)
            if active is not None and self._scheduler.take(active):
                self.now(active)

    def sweep(self) -> None:
        """Poll now every render that waits for its poll."""
        for active in self._active.renders():
            if _is_polled(active.row) and self._scheduler.take(active):
                self._scheduler.put("poll", 0.0, active)

    def now(self, active: ActiveRow) -> None:
        """Poll a render now, for the hint that there is of it."""
        active.memory = self._plan.before_poll(active.row, active.memory)
        self._scheduler.put("poll", 0.0, active)

    def again(self, active: Iterable[ActiveRow], rules: Rules) -> None:
        """Plan polls again: what is known of such renders has changed."""
        now = self._clock()
        for one in active:
            if not _is_polled(one.row) or one.memory.hint or not self._scheduler.take(one):
                continue
            one.memory = self._plan.expect(one.row, one.memory)
            wait = wait_to_poll(one.row, one.memory, now, rules)
            self._scheduler.put("poll", self._spaced(wait), one)

    def all_again(self, rules: Rules) -> None:
        """Plan every poll again."""
        self.again(self._active.renders(), rules)

    def like(self, row: CampaignRow) -> list[ActiveRow]:
        """Return the rows with renders of the same kind as a row's."""
        found = map(self._active.find, self._plan.others(row))
        return [active for active in found if active is not None]


def _is_polled(row: CampaignRow) -> bool:
    """Whether a row that waits, waits for a poll of its render."""
    return row.state == "rendering" and not unwanted(row)


# When to poll renders: what hints and render times mean for the rows of a run.
#
# Owns what is remembered of all rows together; what a single poll leads to is in `decide`. Nothing
# here is durable, and a hint is never believed: it only brings the next poll forward.


#: Videos that were named and are not known yet: a webhook may be faster than a create's answer.
NAMED = 10_000


class PollPlan:
    """What a run knows of its renders."""

    def __init__(self) -> None:
        self._render_times = RenderTimes()
        #: The renders of a kind that are under way, by the number of the row, in order.
        self._there: dict[RenderKind, dict[int, None]] = defaultdict(dict)
        self._named: dict[str, None] = {}

    def recall(self, lengths: Iterable[tuple[str, Decimal | None, float]]) -> None:
        """Take in what the ledger knows: operation, price and seconds of finished renders."""
        for operation, price, seconds in lengths:
            self._render_times.learn((operation, price), seconds)

    def name(self, videos: Collection[str]) -> None:
        """Remember that webhooks named these videos."""
        self._named |= dict.fromkeys(videos)
        while len(self._named) > NAMED:
            del self._named[next(iter(self._named))]

    def is_named(self, row: CampaignRow) -> bool:
        """Whether a webhook named the video of a row, and no one has polled since."""
        return row.state == "rendering" and _video(row) in self._named

    def before_poll(self, row: CampaignRow, memory: Memory) -> Memory:
        """Return the memory for a poll that a hint asks for; the hint is used up by it."""
        self._named.pop(_video(row), None)
        return replace(memory, hint=1)

    def expect(self, row: CampaignRow, memory: Memory) -> Memory:
        """Return the memory with what renders of the row's kind are expected to take."""
        kind = kind_of(row)
        shortest, longest = self._render_times.shortest(kind), self._render_times.longest(kind)
        self._there[kind][row.id] = None
        if (shortest, longest) == (memory.shortest, memory.longest):
            return memory
        return replace(memory, shortest=shortest, longest=longest)

    def others(self, row: CampaignRow) -> list[int]:
        """Return the numbers of the rows with renders of a row's kind under way, in order."""
        return list(self._there[kind_of(row)])

    def finish(self, row: CampaignRow, memory: Memory, now: float, *, hinted: bool = False) -> bool:
        """Learn from a finished render; return whether others are to be polled sooner by it.

        Where hints are relied on that is once: when enough are finished to miss another one's hint.

        One that no poll found running may have been finished for long: it teaches only when it
        was shorter than what is known.
        """
        self.leave(row)
        self._named.pop(_video(row), None)
        if row.take is None or row.take.accepted_at is None:
            return False
        length = max(0.0, now - row.take.accepted_at)
        kind = kind_of(row)
        shortest = self._render_times.shortest(kind)
        seen_running = memory.polls or memory.hint
        if not seen_running and (shortest is None or length >= shortest):
            return False
        before = self._render_times.longest(kind)
        sooner = self._render_times.learn(kind, length)
        missed = before is None and self._render_times.longest(kind) is not None
        return missed if hinted else sooner

    def leave(self, row: CampaignRow) -> None:
        """Forget a row that is not rendering any more."""
        self._there[kind_of(row)].pop(row.id, None)


def _video(row: CampaignRow) -> str:
    return (row.take.video_id if row.take else None) or ""
