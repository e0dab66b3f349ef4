"""One trial of a command that settles a campaign: `cancel`, or `reconcile --apply`.

The sheets are run first, and leave something to settle. The command is killed and given again;
then a run of the last sheet carries what is left. Both may begin no render, and afterwards the
ledger and the service have to say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.torture.books import Books, read_books
from tests.torture.checker import Evidence
from tests.torture.stand import Stand
from tests.torture.trial import Attempt, Kill, Trial


def settle(stand: Stand, *, kill: Kill | None = None, again: Kill | None = None) -> Trial:
    """Carry a campaign to its last sheet and settle it; kill the settling, and its recovery."""
    return _Settling(stand, kill, again).carry()


class _Settling(Attempt):
    def __init__(self, stand: Stand, kill: Kill | None, again: Kill | None) -> None:
        super().__init__(stand, kill, again)
        self.begin = len(self.service.charges())
        #: How many charges there were before the command, and which somebody else had made.
        self.until = self.begin
        self.others: list[Mapping[str, Any]] = []
        #: The videos that were there before somebody else had them made anew.
        self.videos: dict[str, str] = {}

    @property
    def _command(self) -> int:
        """The step of the command; before it are the sheets, and after it the last run."""
        return len(self.scenario.sheets)

    def _take(self, step: int) -> None:
        settings = self.scenario.settings
        if step < self._command:
            self.place.desk.environ |= settings
        elif step == self._command:
            for name in settings:
                del self.place.desk.environ[name]
            if not self.findings:
                self._meddle()
        self._run_to_its_end(step)

    def _meddle(self) -> None:
        """Have somebody else do what they do."""
        charges = self.service.charges()
        if self.scenario.meddler is not None:
            ours = charges[self.begin :]
            made = {charge["video_id"] for charge in ours if charge["event"] == "charge"}
            self.videos = self._videos([c for c in ours if c["video_id"] in made])
            self.scenario.meddler(self.service, read_books(self.place.ledger))
            self.others = self.service.charges()[len(charges) :]
        self.until = len(self.service.charges())

    def _may_park(self, step: int) -> bool:
        return step == self._command or super()._may_park(step)

    def _words(self, step: int) -> list[str]:
        if step > self._command:
            return self._run_words(self._command - 1)
        wait = self.scenario.waits.get(step)
        return [*super()._words(step), *(["--max-wait", wait] if wait else [])]

    def _words_again(self, step: int) -> list[str]:
        return self._words(step)

    def _evidence(
        self, charges: Sequence[Mapping[str, Any]], clip_calls: int, books: Books
    ) -> Evidence:
        seen = super()._evidence(charges, clip_calls, books)
        self._ask_for_differences()
        return replace(
            seen,
            truth={**seen.truth, **self.videos},
            others=self.others,
            afterwards=[c for c in self.service.charges()[self.until :] if c["event"] == "reserve"],
        )

    def _ask_for_differences(self) -> None:
        """Another look has to find nothing that differs."""
        told = self.place.desk.call("reconcile", self.place.name, "--json")
        if told.status or told.json["differences"]:
            self.findings.append(f"ledger and service still differ: {told.out}{told.err}")
