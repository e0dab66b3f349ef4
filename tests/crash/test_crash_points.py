"""Kills at named points, a sample of them; `python -m tests.torture` tries every one.

The checker reads the service's own charge log and the store first, and only then the ledger.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.stores import moto_s3
from tests.torture.campaign import Scenario
from tests.torture.crashes import carry, plans_of
from tests.torture.points import unvisited, visited, visited_alone
from tests.torture.scenario import FIRST, FOLDER, LIMITS, MOTO, RETRIED
from tests.torture.stand import Stand
from tests.torture.trial import Kill, Trial, attempt

CREATED = "service: after the answer (create)"
#: One visit in so many is tried.
EVERY, SECONDS = 64, 1
#: What is recorded on the way of a video and of a clip; each is a commit of its own.
RECORDED = {
    "sheet_verb.campaign_of",
    "leases.acquire",
    "leases.release",
    "sheet_verb.sync_plan",
    "submit._opened",
    "service_state.note_videos",
    "submit._intend_unkeyed",
    "quotes.record_quotes",
    "service_state.close_gate",
    "takes.accept",
    "takes.refuse",
    "takes.settle",
    "deliveries.deliver",
}


@pytest.mark.merge
def test_a_kill_at_any_point_costs_nothing_but_time(here: Stand, reference: Trial) -> None:
    seed = random.randrange(10**6)
    print(f"the seed is {seed}")
    plans = plans_of(reference, FOLDER, every=EVERY, seconds=SECONDS, seed=seed)
    trials = carry(here, plans)
    assert not reference.findings, reference.findings
    # How often a video is looked at is up to the clock: not every visit comes again.
    assert sum(trial.kills > 0 for trial in trials) > len(plans) / 2
    broken = [
        f"{finding}\n    again: {plan.command(FOLDER)}"
        for plan, trial in zip(plans, trials, strict=True)
        for finding in trial.findings
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.merge
def test_every_point_in_the_source_is_visited(here: Stand, reference: Trial) -> None:
    seen = visited(reference)
    with moto_s3() as bucket:
        limits = attempt(replace(here, scenario=LIMITS))
        stored = attempt(replace(here, scenario=MOTO, bucket=bucket))
    for trial in (limits, stored):
        assert not trial.findings, trial.findings
        seen |= visited(trial)
    assert unvisited(seen) == visited_alone()
    assert RECORDED - {point.partition(" (")[2].rstrip(")") for point in seen} == set()


@pytest.mark.merge
@pytest.mark.parametrize(
    ("scenario", "points"),
    [
        (
            RETRIED,
            ["ledger: after the commit (progress._retaken)", CREATED],
        ),
        (FIRST, ["ledger: after the commit (approve.approve)"]),
    ],
    ids=["retried", "first"],
)
def test_rows_that_are_approved_beforehand_or_later_are_paid_for_once(
    here: Stand, scenario: Scenario, points: list[str]
) -> None:
    there = replace(here, scenario=scenario)
    found = attempt(there)
    assert not found.findings, found.findings
    seen = [visit.point for runs in found.traces for run in runs for visit in run]
    for point in points:
        # The last of them: that of the take that was approved beforehand, or later.
        trial = attempt(there, kill=Kill(scenario.steps - 1, point, max(1, seen.count(point))))
        assert (trial.kills, trial.findings) == (1, []), point


@pytest.mark.merge
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
