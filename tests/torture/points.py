"""The crash points that the program names, read from its source."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from functools import cache

from tests.repository import PROGRAM, files_in
from tests.torture.trial import Trial

#: Of the board's own points some are tried beside it, all by `python -m tests.board.kills`; those
#: of a night by `python -m tests.pipeline.night_kills`.
BOARD = "tests/board/test_killed.py::"
KILLED_BOARD = BOARD + "test_a_board_that_is_killed_leaves_one_run_and_one_charge_a_row"
KILLED_WORKER = (
    "tests/workers/test_workers.py::test_a_killed_worker_and_a_killed_run_cost_nothing_but_time"
)
KILLED_RUN = BOARD + "test_a_killed_run_is_carried_on_and_no_row_is_charged_twice"
TOLD = "tests/unit/notices/test_telling.py::test_whoever_dies_leaves_it_to_the_next"
BACKUP = "tests/unit/ledger/test_backup.py::"
BACKED_UP = BACKUP + "test_a_backup_is_one_whole_file_for_its_owner_alone"
REPLACED = BACKUP + "test_a_restore_that_is_killed_leaves_the_old_ledger_whole"
KILLED_NIGHT = (
    "tests/pipeline/test_nightly.py::test_a_night_that_is_killed_is_taken_up_within_the_same_limit"
)
#: A video of that length takes seconds to make: this one is visited by the long tests, and here.
ELSEWHERE = {
    "board: the prices of a plan are known": KILLED_BOARD,
    "board: before a plan is approved": KILLED_BOARD,
    "board: after a plan is approved": KILLED_BOARD,
    "board: before a run is started": KILLED_BOARD,
    "board: after a run is started": KILLED_BOARD,
    "run: its campaign is free": KILLED_RUN,
    "workers: the production is begun": KILLED_WORKER,
    "worker: a batch is claimed": KILLED_WORKER,
    "ledger: before a backup has its name": BACKED_UP,
    "ledger: before a backup is put in its place": REPLACED,
    "ledger: before what is there is locked": REPLACED,
    "ledger: before what is restored is committed": REPLACED,
    "night: it is claimed": KILLED_NIGHT,
    "night: a sheet is begun": KILLED_NIGHT,
    "night: what was approved is in the rows": KILLED_NIGHT,
    "night: the answer lies beside the sheet": KILLED_NIGHT,
    "night: what became of the sheet is kept": KILLED_NIGHT,
    "night: before its end is noted": KILLED_NIGHT,
    "run: before its end is noted": BOARD + "test_killed_takes_are_paid_once",
    "notices: written down": TOLD,
    "notices: taken": TOLD,
    "notices: sent": TOLD,
    "bucket: after the HEAD": "tests/contract/test_store_s3.py::test_storing_it_twice_is_a_no_op",
}


@cache
def named() -> Counter[str]:
    """Return the names of all crash points of the program, each with how many places have it."""
    found: Counter[str] = Counter()
    texts = (path.read_text() for path in files_in(*PROGRAM))
    for text in texts:
        for node in ast.walk(ast.parse(text)) if "crashpoint(" in text else ():
            match node:
                case ast.Call(func=ast.Name(id="crashpoint"), args=[ast.Constant(str(name)), *_]):
                    found[name] += 1
    return found


def visited(trial: Trial) -> set[str]:
    """Return the points that a campaign came by, each with what was done there."""
    return {visit.point for runs in trial.traces for run in runs for visit in run}


def unvisited(points: Iterable[str]) -> set[str]:
    """Return the names in the source that are none of these points."""
    return set(named()) - {point.partition(" (")[0] for point in points}
