"""One trial: a reference campaign, killed at chosen visits, taken up again to its end, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError

from tests.programs import Finished
from tests.torture.books import Books, read_books
from tests.torture.checker import DELETED, Evidence, bought, violations
from tests.torture.hook import Hook, Visit, visits
from tests.torture.leaks import leaks
from tests.torture.lost import lost_clips
from tests.torture.scenario import Scenario
from tests.torture.stand import Place, Stand
from tests.torture.videos import look

KILLED, PARKED = -9, 5
#: Runs of one sheet until it is no longer parked; more would mean that it never ends.
RUNS = 8


@dataclass(frozen=True)
class Kill:
    """Where a process ends: the `nth` visit of a point, in the run of sheet number `step`."""

    step: int
    point: str
    nth: int

    def __str__(self) -> str:
        return f'--step {self.step} --at "{self.point}" --nth {self.nth}'


@dataclass
class Trial:
    """What became of a trial; `traces` are the visits of every process, by sheet."""

    findings: list[str]
    kills: int
    traces: list[list[list[Visit]]] = field(default_factory=list)
    said: str = ""
    #: None for a campaign that did not come to its end.
    evidence: Evidence | None = field(default=None, repr=False)


def attempt(stand: Stand, *, kill: Kill | None = None, again: Kill | None = None) -> Trial:
    """Carry a campaign from its first sheet to its last; kill it, and kill the recovery."""
    return Attempt(stand, kill, again).carry()


class Attempt:
    """One campaign on its way, with what was said and done so far."""

    def __init__(self, stand: Stand, kill: Kill | None, again: Kill | None) -> None:
        self.stand = stand
        self.scenario: Scenario = stand.scenario
        self.service = stand.service
        self.place: Place = stand.place()
        self.kill = kill
        self.again = again
        self.kills = 0
        self.resent = 0
        self.traces: list[list[list[Visit]]] = [[] for _ in range(self.scenario.steps)]
        self.findings: list[str] = []
        self.last = Finished(0, "", "")
        self.said = ""
        maker = self.scenario.maker
        #: The videos that somebody else made beforehand, by name.
        self.made = maker(self.service, self.place.name) if maker else {}

    def carry(self) -> Trial:
        """Carry it to its end, and look at what came of it."""
        before = len(self.service.charges())
        clips = self._clip_calls()
        for step in range(self.scenario.steps):
            for fault in self.scenario.later.get(step, () if step else self.scenario.faults):
                self.service.plan_fault(**fault)
            self._take(step)
            self.service.clear_faults()
        if self.findings:
            # It did not come to an end: there is nothing to hold against anything.
            return Trial(self.findings, self.kills, self.traces, self.last.err)
        books = self._ask_a_person(read_books(self.place.ledger))
        charges = self.service.charges()[before:]
        evidence = self._evidence(charges, self._clip_calls() - clips, books)
        self.findings += violations(evidence)
        self._told(books)
        self.findings += leaks(self.place, self.said)
        return Trial(self.findings, self.kills, self.traces, self.last.err, evidence)

    def _take(self, step: int) -> None:
        """Take one step of the way: a run of its sheet, or the command."""
        self._run_to_its_end(step)

    def _run_to_its_end(self, step: int) -> None:
        words = self._words(step)
        wanted = [k for k in (self.kill, self.again) if k is not None and k.step == step]
        parked = [PARKED] if self._may_park(step) else []
        for _ in range(RUNS):
            self.last = self._call(words, step, wanted.pop(0) if wanted else None)
            words = self._words_again(step)
            if self.last.status == KILLED:
                self.kills += 1
            elif self.last.status != PARKED or parked:
                break
            else:
                # A second kill is for the run after the first one, wherever that ended.
                wanted.clear()
        else:
            self.findings.append(f"the run of sheet {step} did not end in {RUNS} goes")
        if self.last.status not in (0, 3, *parked):
            self.findings.append(f"the run ended with {self.last.status}: {self.last.err[-300:]}")

    def _may_park(self, step: int) -> bool:
        """Whether a step may leave something undone, since another one comes after it."""
        return step in self.scenario.waits

    def _words_again(self, step: int) -> list[str]:
        """Return what takes up a step that was stopped: whatever it was, a run of the sheet."""
        return self._words(min(step, len(self.scenario.sheets) - 1))

    def _words(self, step: int) -> list[str]:
        """Return the command of a step; write the sheet that it is about."""
        if step == len(self.scenario.sheets) and self.scenario.command is not None:
            return self.scenario.command.format(name=self.place.name).split()
        return self._run_words(step)

    def _run_words(self, sheet: int) -> list[str]:
        name = self.place.name
        file = self.place.desk.sheet(f"{name}.csv", self.scenario.sheet(sheet, name, **self.made))
        words = ["run", file, "--yes", "--json", "--budget", str(self.scenario.budget)]
        return [*words, *self.scenario.options.split(), "--without-prefect"]

    def _call(self, words: list[str], step: int, kill: Kill | None) -> Finished:
        traces = self.traces[step]
        trace = self.place.desk.folder / f"trace-{step}-{len(traces)}"
        linger = self.scenario.linger
        hook = Hook(trace, kill.point, kill.nth, linger) if kill else Hook(trace)
        ended = self.place.desk.call(*words, hook=hook.as_json())
        traces.append(visits(trace))
        self.said += ended.out + ended.err
        return ended

    def _ask_a_person(self, books: Books) -> Books:
        """Settle what only a person can: nothing was charged for it, so it is sent again."""
        unsettled = [line["row"] for line in books.rows if line["state"] == "uncertain"]
        excused = lost_clips(self.traces)
        for row in unsettled:
            if row not in excused:
                self.findings.append(f"row {row} is uncertain though nothing was lost")
                continue
            words = ("resolve", self.place.name, row, "--resend", "--charged", "0")
            answered = self.place.desk.call(*words)
            if answered.status:
                self.findings.append(f"{row} could not be resolved: {answered.err}")
            self.resent += 1
        if not unsettled:
            return books
        # The person's run is the last one: nobody kills it.
        self.kill = self.again = None
        self._run_to_its_end(len(self.scenario.sheets) - 1)
        return read_books(self.place.ledger)

    def _evidence(
        self, charges: Sequence[Mapping[str, Any]], clip_calls: int, books: Books
    ) -> Evidence:
        there, litter = look(self.place)
        known = {take["video_id"] for take in books.takes if take["video_id"]}
        return Evidence(
            scenario=self.scenario,
            charges=charges,
            clip_calls=clip_calls,
            found=there,
            litter=litter,
            truth=self._videos(charges),
            statuses={video: self._status(video) for video in known},
            books=books,
            resent=self.resent,
        )

    def _videos(self, charges: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        made = {charge["video_id"] for charge in bought(charges)} | {*self.made.values()}
        there = [video_id for video_id in made if self._status(video_id) != DELETED]
        return {video_id: self.service.video_digest(video_id) for video_id in there}

    def _status(self, video_id: str) -> str:
        try:
            return str(self.service.video(video_id)["status"])
        except HTTPError as error:
            if error.code != 404:
                raise
            return DELETED

    def _told(self, books: Books) -> None:
        """What the last run said is what the ledger has."""
        if self.last.status not in (0, 3) or "total" not in self.last.out:
            return
        told = dict(self.last.json["rows"])
        if told.pop("total") != len(books.rows) or sum(told.values()) != len(books.rows):
            self.findings.append(f"the run told of {self.last.json['rows']}")

    def _clip_calls(self) -> int:
        return self.service.calls().get("image-to-video", 0)
