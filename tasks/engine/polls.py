"""Brings polls of renders forward: those that a webhook named, all of them, those of a kind.

Touches the rows that are concerned and no others; what a poll leads to is decided in `decide`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from callsheet.tasks.engine.carried import Carried
from callsheet.tasks.engine.policy.decision import Rules, unwanted
from callsheet.tasks.engine.policy.renders import wait_to_poll
from callsheet.tasks.engine.poll_plan import PollPlan
from callsheet.tasks.engine.roster import Roster
from callsheet.tasks.engine.scheduler import Scheduler
from callsheet.tasks.ledger import CampaignRow


class Polls:
    """The polls that are planned; `spaced` spreads a wait, so that rows do not wake together."""

    def __init__(
        self,
        scheduler: Scheduler[Carried],
        roster: Roster,
        plan: PollPlan,
        *,
        clock: Callable[[], float],
        spaced: Callable[[float], float],
    ) -> None:
        self._scheduler = scheduler
        self._roster = roster
        self._plan = plan
        self._clock = clock
        self._spaced = spaced

    def hear(self, videos: Collection[str]) -> None:
        """Poll now the renders that a webhook named, as far as they wait."""
        self._plan.name(videos)
        for video in sorted(videos):
            carried = self._roster.render(video)
            if carried is not None and self._scheduler.take(carried):
                self.now(carried)

    def sweep(self) -> None:
        """Poll now every render that waits for its poll."""
        for carried in self._roster.renders():
            if _is_polled(carried.row) and self._scheduler.take(carried):
                self._scheduler.put("poll", 0.0, carried)

    def now(self, carried: Carried) -> None:
        """Poll a render now, for the hint that there is of it."""
        carried.memory = self._plan.before_poll(carried.row, carried.memory)
        self._scheduler.put("poll", 0.0, carried)

    def again(self, carried: Iterable[Carried], rules: Rules) -> None:
        """Plan polls anew: what is known of such renders has changed."""
        now = self._clock()
        for one in carried:
            if not _is_polled(one.row) or one.memory.hint or not self._scheduler.take(one):
                continue
            one.memory = self._plan.expect(one.row, one.memory)
            wait = wait_to_poll(one.row, one.memory, now, rules)
            self._scheduler.put("poll", self._spaced(wait), one)

    def all_again(self, rules: Rules) -> None:
        """Plan every poll anew."""
        self.again(self._roster.renders(), rules)

    def like(self, row: CampaignRow) -> list[Carried]:
        """Return the rows with renders of the same kind as a row's."""
        found = map(self._roster.find, self._plan.others(row))
        return [carried for carried in found if carried is not None]


def _is_polled(row: CampaignRow) -> bool:
    """Whether a row that waits, waits for a poll of its render."""
    return row.state == "rendering" and not unwanted(row)
