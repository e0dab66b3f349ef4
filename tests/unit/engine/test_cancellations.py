"""What is decided about a row whose take somebody wants to be cancelled."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.engine.policy.decide import decide
from callsheet.tasks.engine.policy.decision import (
    Accepted,
    Memory,
    Missing,
    NeverSent,
    NotCancelled,
    NotMade,
    Polled,
    RefusedAs,
    Released,
    Resumed,
    Rules,
    VideoReady,
)
from callsheet.tasks.ledger.values import CampaignRow, State
from tests.campaigns import T0, a_row

NOW = T0 + 30
NOTHING = Memory()


def wanted_gone(state: State) -> CampaignRow:
    row = a_row(state)
    assert row.take is not None
    return replace(row, take=replace(row.take, cancel_requested_at=NOW))


def after(state: State, observation, memory=NOTHING):  # type: ignore[no-untyped-def]
    return decide(wanted_gone(state), memory, observation, NOW, Rules())


@pytest.mark.parametrize("observation", [Resumed(), NeverSent("no"), Polled("generating")])
def test_a_render_under_way_is_cancelled(observation) -> None:  # type: ignore[no-untyped-def]
    assert after("rendering", observation).lane == "cancel"
    assert decide(a_row("rendering"), Memory(), observation, NOW, Rules()).lane == "poll"


def test_a_create_that_arrives_late_is_cancelled_at_once() -> None:
    decision = after("submitting", Accepted("vid_1", 30))
    assert (decision.to, decision.lane, decision.after) == ("rendering", "cancel", 0)


def test_a_release_ends_it_and_costs_nothing_unless_the_service_says_so() -> None:
    assert after("rendering", Released()).to == "cancelled"
    assert after("rendering", Released()).memory.charged is None
    assert after("rendering", Released(Decimal(3))).memory.charged == 3


def test_what_could_not_be_cancelled_is_polled_and_its_video_is_delivered() -> None:
    polling = after("rendering", NotCancelled("409"))
    assert (polling.lane, polling.to) == ("poll", None)
    made = after("rendering", VideoReady("https://videos.example"), polling.memory)
    assert (made.to, made.lane) == ("ready", "deliver")
    # Still running: it is asked again, but not at once.
    again = after("rendering", Polled("generating"), polling.memory)
    assert again.lane == "cancel"
    assert again.after > 0
    # Any other word: there is nothing to cancel, and the video may come yet.
    assert after("rendering", Polled("finalising"), polling.memory).lane == "poll"


def test_a_word_for_cancelled_is_believed_at_the_second_poll() -> None:
    first = after("rendering", Polled("cancelled", downloadable=False), Memory(not_cancelled=True))
    second = after("rendering", Polled("cancelled", downloadable=False), first.memory)
    assert (first.to, second.to) == (None, "cancelled")


def test_a_video_that_the_service_has_lost_is_cancelled_and_counts_as_paid() -> None:
    decision = after("rendering", Missing())
    assert decision.lane == "poll", "a new video may be unknown to reads for a while"
    late = decide(wanted_gone("rendering"), Memory(), Missing(), NOW + 60, Rules())
    assert late.to == "cancelled"
    assert "counts as paid" in (late.reason or "")


def test_what_made_nothing_is_cancelled_instead_of_waiting_for_another_run() -> None:
    assert after("submitting", NotMade("429")).to == "cancelled"
    assert after("submitting", RefusedAs(402, "no credits")).to == "cancelled"
    doubt = Memory(doubt=True)
    assert after("submitting", RefusedAs(402, "no credits"), doubt).to is None
