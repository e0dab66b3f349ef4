"""The rows that a run has in memory: found by number and by video, and dropped once settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from callsheet.tasks.brief import CREATE
from callsheet.tasks.engine.carried import Carried
from callsheet.tasks.engine.pages import Queue
from callsheet.tasks.ledger import CampaignRow


class Roster:
    """Who is there, and how many have yet to begin, by the lane they begin in."""

    def __init__(self, *, clip_keys: bool = False) -> None:
        self.unbegun: Counter[Queue] = Counter()
        self._clip_keys = clip_keys
        self._rows: dict[int, Carried] = {}
        self._renders: dict[str, Carried] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def enter(self, carried: Carried) -> None:
        """Have a row in memory from here to `leave`."""
        self._rows[carried.row.id] = carried
        self._note(carried, carried.row, 1)

    def leave(self, carried: Carried) -> bool:
        """Forget a row that is settled for this run; return False if it was not here."""
        if self._rows.get(carried.row.id) is not carried:
            return False
        del self._rows[carried.row.id]
        self._note(carried, carried.row, -1)
        return True

    def moved(self, carried: Carried, old: CampaignRow) -> None:
        """Follow a row from the value it had to the one it has."""
        new = carried.row
        same = old.state == new.state and (old.state != "rendering" or old.take is new.take)
        if not same and self._rows.get(old.id) is carried:
            self._note(carried, old, -1)
            self._note(carried, carried.row, 1)

    def find(self, number: int) -> Carried | None:
        """Return the row of a number, if it is here."""
        return self._rows.get(number)

    def render(self, video: str) -> Carried | None:
        """Return the row whose render a video is, if it is here and under way."""
        return self._renders.get(video)

    def renders(self) -> Iterable[Carried]:
        """Return the rows whose renders are under way, those that have been for longest first."""
        return list(self._renders.values())

    def _note(self, carried: Carried, row: CampaignRow, more: int) -> None:
        if row.state == "approved":
            keyed = self._clip_keys or row.operation == CREATE
            self.unbegun["submit" if keyed else "submit_unkeyed"] += more
        elif row.state == "rendering" and row.take is not None and row.take.video_id is not None:
            if more > 0:
                self._renders[row.take.video_id] = carried
            else:
                self._renders.pop(row.take.video_id, None)
