"""Kills at named points, a sample of them; `python -m tests.torture` tries every one.

The checker reads the service's own charge log and the store first, and only then the ledger.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.named_tests import missing
from tests.stores import moto_s3
from tests.torture.crashes import carry, plans_of
from tests.torture.points import unvisited, visited
from tests.torture.scenario import FOLDER, LIMITS, MOTO, SECOND
from tests.torture.stand import Stand
from tests.torture.trial import Kill, Trial, attempt

pytestmark = pytest.mark.xdist_group("crash points")

#: One visit in so many is tried.
EVERY, SECONDS = 64, 1
#: What is recorded on the way of a film and of a clip; each is a commit of its own.
RECORDED = {
    "campaigns.ensure_campaign",
    "campaigns.acquire_lease",
    "campaigns.release_lease",
    "sync.sync_sheet",
    "submit._opened",
    "paid_calls.note_videos",
    "submit_unkeyed._intend",
    "quotes.record_quotes",
    "gates.close_gate",
    "shared_pace.slow_down",
    "shared_pace.take_turns",
    "takes.accept",
    "takes.refuse",
    "takes.settle",
    "deliveries.deliver",
}

#: Of the board's own points some are tried beside it, all by `python -m tests.board.kills`; those
#: of a night by `python -m tests.pipeline.night_kills`.
BOARD = "tests/board/test_killed.py::"
KILLED_BOARD = BOARD + "test_a_board_that_is_killed_leaves_one_run_and_one_charge_a_row"
KILLED_CREW = "tests/crews/test_crews.py::test_a_killed_crew_and_a_killed_run_cost_nothing_but_time"
KILLED_RUN = BOARD + "test_a_killed_run_is_carried_on_and_no_row_is_charged_twice"
TOLD = "tests/unit/notices/test_telling.py::test_whoever_dies_leaves_it_to_the_next"
BACKUP = "tests/unit/ledger/test_backup.py::"
BACKED_UP = BACKUP + "test_a_backup_is_one_whole_file_for_its_owner_alone"
REPLACED = BACKUP + "test_a_restore_that_is_killed_leaves_the_old_ledger_whole"
KILLED_NIGHT = (
    "tests/pipeline/test_nightly.py::test_a_night_that_is_killed_is_taken_up_within_the_same_limit"
)
#: A film of that length takes seconds to make: this one is visited by the long tests, and here.
ELSEWHERE = {
    "board: the prices of a plan are known": KILLED_BOARD,
    "board: before a plan is approved": KILLED_BOARD,
    "board: after a plan is approved": KILLED_BOARD,
    "board: before a run is started": KILLED_BOARD,
    "board: after a run is started": KILLED_BOARD,
    "run: what was approved is in the rows": KILLED_RUN,
    "crews: the production is begun": KILLED_CREW,
    "crew: a batch is claimed": KILLED_CREW,
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
    "run: before its end is noted": BOARD + "test_other_takes_that_are_killed_are_paid_once",
    "notices: written down": TOLD,
    "notices: taken": TOLD,
    "notices: sent": TOLD,
    "spool: the note is written": "tests/unit/store/test_fetch_after_a_kill.py"
    "::test_a_killed_download_is_resumed_by_the_next_process",
}


def test_a_kill_at_any_point_costs_nothing_but_time(here: Stand, reference: Trial) -> None:
    seed = random.randrange(10**6)
    print(f"the seed is {seed}")
    plans = plans_of(reference, FOLDER, every=EVERY, seconds=SECONDS, seed=seed)
    trials = carry(here, plans)
    assert not reference.findings, reference.findings
    # How often a film is looked at is up to the clock: not every visit comes again.
    assert sum(trial.kills > 0 for trial in trials) > len(plans) / 2
    broken = [
        f"{finding}\n    again: {plan.command(FOLDER)}"
        for plan, trial in zip(plans, trials, strict=True)
        for finding in trial.findings
    ]
    assert not broken, "\n".join(broken)


def test_every_point_in_the_source_is_visited(here: Stand, reference: Trial) -> None:
    seen = visited(reference)
    with moto_s3() as bucket:
        limits = attempt(replace(here, scenario=LIMITS))
        stored = attempt(replace(here, scenario=MOTO, bucket=bucket))
    for trial in (limits, stored):
        assert not trial.findings, trial.findings
        seen |= visited(trial)
    assert unvisited(seen) == ELSEWHERE.keys()
    assert not missing(ELSEWHERE.values())
    assert RECORDED - {point.partition(" (")[2].rstrip(")") for point in seen} == set()


def test_a_kill_while_a_second_process_stores_a_film_costs_nothing_but_time(here: Stand) -> None:
    there = replace(here, scenario=SECOND)
    found = attempt(there)
    stored = {point for point in visited(found) if point.startswith("store:")}
    trials = [attempt(there, kill=Kill(0, point, 1)) for point in sorted(stored)[::4]]
    assert {"store: the film is on the disk", "store: the names are on the disk"} <= stored
    assert [trial.kills for trial in trials] == [1] * len(trials)
    assert not found.findings + [finding for trial in trials for finding in trial.findings]


def test_a_clip_killed_before_it_was_sent_asks_a_person_and_is_paid_once(here: Stand) -> None:
    kill = Kill(0, "service: before the request (image-to-video)", 1)
    trial = attempt(here, kill=kill)
    assert (trial.kills, trial.findings) == (1, [])
    # The row was uncertain, and was sent again by a person's word: the sheet's runs and one more.
    assert len(trial.traces[-1]) == 2


def test_a_clip_killed_after_it_was_sent_is_found_by_what_it_shows(here: Stand) -> None:
    kill = Kill(0, "service: after the answer (image-to-video)", 1)
    trial = attempt(here, kill=kill)
    assert (trial.kills, trial.findings) == (1, [])
    assert len(trial.traces[-1]) == 1
