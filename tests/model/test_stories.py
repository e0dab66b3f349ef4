"""Stories that chance seldom tells, told step by step with the same machine and promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.model.machine import CampaignMachine


@pytest.fixture
def story() -> Iterator[CampaignMachine]:
    """One row, approved and about to be submitted; the answers to its create will be lost."""
    machine = CampaignMachine()
    machine.begin(shows_keys=True, clip_keys=False, clips=set())
    machine.take_row_out(name="b", how="remove")
    yield machine
    machine.teardown()


@pytest.mark.safeguard("tasks/engine/submit.py", "if _stands(found) != _stands(row):", "if False:")
def test_what_was_refused_meanwhile_is_not_sent_by_a_process_that_is_behind(
    story: CampaignMachine,
) -> None:
    story.edit_row(name="a", topic="bad", seconds=1)
    story.run(visits=0)
    story.lose_answers(on="create", after=False, count=3)
    story.work(visits=1, pick=0)
    story.all_promises_hold()
    behind = story.found[0]
    story.work(visits=1, pick=0)
    story.all_promises_hold()
    before = story.service.requests

    story.past.append(behind)
    story.another_process_is_behind(pick=0)
    story.all_promises_hold()

    assert (behind.state, story.found[0].state) == ("submitting", "rejected")
    assert story.service.requests == before


@pytest.mark.safeguard(
    "tasks/engine/submit.py", 'if raw.get("idempotency_key") == row.take.key:', "if raw:"
)
def test_somebody_elses_video_is_not_taken_for_ours_past_the_horizon(
    story: CampaignMachine,
) -> None:
    story.run(visits=0)
    story.lose_answers(on="create", after=False, count=3)
    story.work(visits=1, pick=0)
    story.somebody_else_makes_one(pick=0, alike=False, seconds=1.0)
    story.wait(seconds=90_000.0)
    story.work(visits=1, pick=0)
    story.all_promises_hold()

    assert story.found[0].state == "uncertain"


def test_ours_is_found_past_the_horizon_and_not_paid_for_again(story: CampaignMachine) -> None:
    story.run(visits=0)
    story.lose_answers(on="create", after=True, count=3)
    story.work(visits=1, pick=0)
    story.somebody_else_makes_one(pick=0, alike=False, seconds=1.0)
    story.wait(seconds=90_000.0)
    story.work(visits=60, pick=0)
    story.all_promises_hold()

    assert story.found[0].state == "delivered"
    assert len(story.service.videos) == 2


@pytest.mark.parametrize("how", ["edit", "remove"])
def test_a_stalled_take_that_a_sheet_leaves_behind_stays_set_aside_and_is_gone_on_with(
    how: str,
) -> None:
    """It may still be charged; the sheet changed back, the row goes on with it."""
    story = CampaignMachine()
    story.begin(shows_keys=True, clip_keys=False, clips=set())
    story.plan_render(fate="never", seconds=1.0)
    story.plan_render(fate="never", seconds=1.0)
    story.run(visits=60)
    story.wait(seconds=40_000.0)
    story.run(visits=60)
    story.all_promises_hold()
    stalled = {row.row: row for row in story.found}["b"]
    brief = story.sheet["b"]

    if how == "edit":
        story.edit_row(name="b", topic="salt", seconds=0)
    else:
        story.take_row_out(name="b", how="remove")
    story.run(visits=0)
    story.all_promises_hold()
    left = {row.row: row for row in story.found}["b"]
    story.sheet["b"] = brief
    story.run(visits=0)
    story.all_promises_hold()
    back = {row.row: row for row in story.found}["b"]
    story.teardown()

    assert (stalled.state, left.state) == ("stalled", "approved" if how == "edit" else "retired")
    assert left.take.reserved > 0
    assert (back.state, back.take and back.take.id) == ("rendering", stalled.take.id)


def test_a_video_cancelled_and_deleted_by_a_colleague_counts_as_what_was_set_aside(
    story: CampaignMachine,
) -> None:
    story.run(visits=0)
    story.work(visits=1, pick=0)
    story.ask_to_cancel(name="a", whole=True)
    story.interfere(pick=0, how="cancelled")
    story.interfere(pick=0, how="deleted")
    story.work_until_all_rest()
    story.all_promises_hold()

    row = story.found[0]
    assert (row.take.charged, row.take.reserved) == (row.take.quoted, 0), row
