"""The restore drill: backups made in the middle of a run, restored after the campaign went on.

A run is killed before a commit, after an answer of the service or around a delivery, and its ledger
is backed up as it lies there. The run is taken up to its end, the backup is restored, and the sheet
is run again: inside the horizon, and past it with a service that has forgotten every key and lists
its videos with keys, without, or not at all. Nothing may be charged again, and each video that was
paid for is in the ledger, or its very row waits for a person.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from callsheet.tasks.values.briefs import CREATE
from tests.programs import Finished
from tests.torture.books import MICRO, Books, read_books
from tests.torture.campaign import Scenario
from tests.torture.checker import bought
from tests.torture.crashes import kills_of
from tests.torture.hook import Hook
from tests.torture.leaks import leaks
from tests.torture.result import NONE_YET, Result, Violation
from tests.torture.rows import CLIP, EDITED, RETITLED, REVOICED, SCRIPT, VOICED, VTT, was
from tests.torture.stand import Place, Stand, stand
from tests.torture.trial import KILLED, PARKED, RUNS, Kill, Trial, attempt

RESTORES = Scenario(
    name="restores",
    sheets=((SCRIPT, VTT, CLIP),),
    only=("ledger: before the commit", "service: after the answer", "delivery"),
)
#: The same with changes that edit the videos of the first sheet.
RESTORED_EDITS = Scenario(
    name="restored-edits",
    sheets=((SCRIPT, VOICED), (RETITLED, REVOICED)),
    only=RESTORES.only,
    tried_from=1,
)
#: The same with rows that get other ids, one with another brief.
RESTORED_RENAMES = Scenario(
    name="restored-renames",
    sheets=((SCRIPT, VTT), (was(EDITED, "words", "script"), was(VTT, "said", "vtt"))),
    only=RESTORES.only,
    tried_from=1,
)
#: The same with videos that were deleted at the service meanwhile, since they were old.
RESTORED_AGED = Scenario(
    name="restored-aged",
    sheets=((SCRIPT, VTT),),
    environ={"CALLSHEET_KEEP_AT_SERVICE": "1s"},
    command="prune {name} --yes --json",
    only=RESTORES.only,
)
#: What the service's list is like past the horizon.
LISTS = ("with keys", "without keys", "forbidden")
#: Seconds after which a video is old.
AGE = 1.5
#: Where a row is that a person decides on.
WAITING = ("held", "uncertain")


@dataclass(frozen=True)
class Drill:
    """One trial: where the run is killed and backed up, and what is known after the restore.

    `lists` is what the service's list is like past the horizon; None: inside it.
    """

    kill: Kill
    lists: str | None


def restores(*, every: int, workers: int, scenario: Scenario = RESTORES) -> Result:
    """Carry out two drills at every `every`-th visit: inside the horizon, and past it."""
    began = time.monotonic()
    result = Result(f"backups, {scenario.name}", Counter(NONE_YET))
    with tempfile.TemporaryDirectory(prefix="callsheet-torture-") as folder:
        with stand(Path(folder), scenario) as here:
            reference = [attempt(here) for _ in range(2)][-1]
        steps = range(scenario.tried_from, len(scenario.sheets))
        kills = [
            kill
            for kill in kills_of(reference)
            if kill.step in steps and kill.point.startswith(scenario.only)
        ]
        past = itertools.cycle(LISTS)
        drills = [Drill(k, one) for k in kills[::every] for one in (None, next(past))]
        slices = [drills[n::workers] for n in range(workers) if drills[n::workers]]
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            given = (slices, [scenario] * len(slices))
            for some, found in zip(slices, pool.map(_carry, *given), strict=True):
                for drill, trial in zip(some, found, strict=True):
                    again = f"python -m tests.torture --only restores   # {drill}"
                    result.add(trial.kills, trial.findings, again)
    if not result.counts["kills"]:
        result.violations.append(Violation("no run was killed", "see restores.py"))
    result.seconds = time.monotonic() - began
    return result


def _carry(drills: Sequence[Drill], scenario: Scenario) -> list[Trial]:
    with (
        tempfile.TemporaryDirectory(prefix="callsheet-torture-") as folder,
        stand(Path(folder), scenario) as here,
    ):
        attempt(here)
        return [carry(here, drill) for drill in drills]


def carry(here: Stand, drill: Drill) -> Trial:
    """Carry one drill out, and say what came of it."""
    try:
        return _Restored(here, drill).carry()
    except Exception as error:
        return Trial([f"the drill broke off: {error!r}"], 0)
    finally:
        here.service.clear_faults()


class _Restored:
    """A campaign whose ledger is restored from a backup that was made in the middle."""

    def __init__(self, here: Stand, drill: Drill) -> None:
        self.service = here.service
        self.place: Place = here.place()
        self.desk = self.place.desk
        self.drill = drill
        self.findings: list[str] = []
        self.said = ""
        #: How many charges there were before.
        self.before = len(self.service.charges())
        #: The title that each video was asked for with; None for a clip.
        self.titles: dict[str, str | None] = {}
        # A process that was killed has its campaign no longer than this.
        self.desk.environ["CALLSHEET_LEASE"] = "1s"
        self.scenario = here.scenario
        self._write(0)
        sheet, budget = f"{self.place.name}.csv", str(self.scenario.budget)
        self.words = ("run", sheet, "--yes", "--json", "--without-prefect", "--budget", budget)

    def carry(self) -> Trial:
        """Kill, back up, go on, restore, run again twice; hold the charge log against it."""
        before = self.before
        kill = self.drill.kill
        for step in range(kill.step):
            self._run()
            self._write(step + 1)
        hook = Hook(self.desk.folder / "trace", kill.point, kill.nth).as_json()
        killed = self.desk.call(*self.words, hook=hook).status == KILLED
        if not (self.desk.folder / ".callsheet" / "ledger.db").exists():
            return Trial([], int(killed))
        backup = self.desk.call("ledger", "backup", "backup.db")
        if backup.status:
            # Killed while the ledger was made: there is none in the file yet.
            none_yet = "no ledger" in backup.err
            return Trial([] if none_yet else [f"no backup: {backup.err}"], int(killed))
        self._run()
        self._command()
        paid = self._paid(before)
        if not paid:
            self.findings.append("nothing was paid for before the restore: it shows nothing")
        self._restore()
        for _ in range(2):
            last = self._run()
        self._check(paid, self._paid(before), last)
        self.findings += leaks(self.place, self.said)
        return Trial(self.findings, int(killed), said=last.err)

    def _write(self, step: int) -> None:
        """Write the sheet of a step."""
        name = self.place.name
        self.desk.sheet(f"{name}.csv", self.scenario.sheet(step, name))

    def _run(self) -> Finished:
        for _ in range(RUNS):
            ended = self.desk.call(*self.words)
            self.said += ended.out + ended.err
            if ended.status != PARKED:
                break
        # What a clip's lost call made is looked for in the list: while that is forbidden, it waits.
        fine = (0, 3, 4, PARKED) if self.drill.lists == "forbidden" else (0, 3, 4)
        if ended.status not in fine or "Traceback" in ended.err:
            self.findings.append(f"the run ended with {ended.status}: {ended.err[-300:]}")
        return ended

    def _command(self) -> None:
        """Call the scenario's command once the run is over, and its videos are old."""
        if self.scenario.command is None:
            return
        time.sleep(AGE)
        ended = self.desk.call(*self.scenario.command.format(name=self.place.name).split())
        if ended.status not in (0, 3):
            self.findings.append(f"the command ended with {ended.status}: {ended.err[-300:]}")

    def _restore(self) -> None:
        if self.drill.lists is not None:
            self.desk.environ["CALLSHEET_HORIZON"] = "1s"
            self.service.plan_fault(on="create", do="forget-key")
            time.sleep(1)
        if self.drill.lists == "without keys":
            hidden = ["videos.*.idempotency_key"]
            self.service.plan_fault(on="list", do="rewrite", remove=hidden)
        if self.drill.lists == "forbidden":
            self.service.plan_fault(on="list", do="forbidden")
        restored = self.desk.call("ledger", "restore", "backup.db", "--instead")
        if restored.status:
            self.findings.append(f"the restore ended with {restored.status}: {restored.err}")

    def _paid(self, before: int) -> Counter[str]:
        """Return the videos that were paid for since, and not given back: how often each."""
        log = self.service.charges()[before:]
        released = {entry["video_id"] for entry in log if entry["event"] == "release"}
        begun = [entry for entry in log if entry["event"] == "reserve"]
        self.titles |= {entry["video_id"]: entry["title"] for entry in begun}
        return Counter(one["video_id"] for one in begun if one["video_id"] not in released)

    def _check(self, paid: Counter[str], now: Counter[str], last: Finished) -> None:
        if more := now - paid:
            self.findings.append(f"after the restore {sorted(more)} were charged 2 times")
        books = read_books(self.place.ledger)
        self._compare_charges(books)
        known = {take["video_id"] for take in books.takes}
        # What a clip's lost call made is looked for in the list: while that is forbidden, it waits.
        waiting = (*WAITING, "submitting") if self.drill.lists == "forbidden" else WAITING
        for row in books.rows if self.scenario.command else ():
            # The service has deleted their videos; the store has the files.
            if row["state"] not in ("delivered", *waiting):
                self.findings.append(f"row {row['row']} ended {row['state']}: {row['reason']}")
        for video in paid.keys() - known:
            rows = [row for row in books.rows if _is_of(row, self.titles[video])]
            if not any(row["state"] in waiting for row in rows):
                states = {row["row"]: row["state"] for row in rows}
                self.findings.append(
                    f"{video} belongs to no take, and the run ended with {last.status}: {states}"
                )

    def _compare_charges(self, books: Books) -> None:
        """Where no row waits for a person, the ledger has all that was charged."""
        if any(row["state"] != "delivered" for row in books.rows):
            return
        log = self.service.charges()[self.before :]
        charged = sum(entry["credits"] for entry in bought(log)) * MICRO
        if books.campaign["charged"] != charged:
            words = f"the account says {books.campaign['charged']} charged, the service {charged}"
            self.findings.append(words)


def _is_of(row: Mapping[str, Any], title: str | None) -> bool:
    """Whether a video of this title was made for a row; a clip has none."""
    asked = json.loads(row["request"])
    return row["operation"] != CREATE if title is None else asked.get("title") == title
