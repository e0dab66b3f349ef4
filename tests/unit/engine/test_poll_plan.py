"""When renders are polled: how many polls they cost, and how late they are noticed."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean

import pytest

from callsheet.tasks.engine.policy.decide import decide
from callsheet.tasks.engine.policy.decision import Accepted, Memory, Polled, Rules
from callsheet.tasks.engine.policy.renders import (
    AFTER_HINT,
    POLL_MAX,
    SAFETY_NET,
    first_interval,
    kind_of,
    poll_interval,
    wait_to_poll,
)
from callsheet.tasks.engine.polls import PollPlan
from callsheet.tasks.ledger.values import CampaignRow
from tests.campaigns import T0, a_row

RULES = Rules()


@dataclass
class Cost:
    """What finding one finished render took: polls, and seconds after its end."""

    polls: int
    late: float
    length: float


def simulate(
    lengths: list[float],
    *,
    at_once: int,
    told: float | None = None,
    rules: Rules = RULES,
    known: Sequence[float] = (),
) -> list[Cost]:
    """Carry renders of so many seconds, `at_once` of them under way, with polls as decided."""
    polls, costs, due = PollPlan(), [], list[tuple[float, int]]()
    rows: dict[int, CampaignRow] = {}
    memories: dict[int, Memory] = {}
    waiting = list(enumerate(lengths))
    operation, price = kind_of(a_row("submitting", intended=T0))
    polls.recall((operation, price, length) for length in known)

    def begin(now: float) -> None:
        n, _ = waiting.pop(0)
        row = a_row("submitting", intended=now)
        row = replace(row, id=n + 1)
        memory = polls.expect(row, Memory())
        decision = decide(row, memory, Accepted(f"vid_{n}", told), now, rules)
        assert row.take is not None
        take = replace(row.take, accepted_at=now, video_id=f"vid_{n}")
        rows[n] = replace(row, state="rendering", take=take)
        memories[n] = decision.memory
        heapq.heappush(due, (now + decision.after, n))

    def replan(now: float) -> None:
        for _, n in due:
            memories[n] = polls.expect(rows[n], memories[n])
        due[:] = [(now + wait_to_poll(rows[n], memories[n], now, rules), n) for _, n in due]
        heapq.heapify(due)

    for _ in range(min(at_once, len(waiting))):
        begin(T0)
    taken: dict[int, int] = dict.fromkeys(range(len(lengths)), 0)
    while due:
        now, n = heapq.heappop(due)
        taken[n] += 1
        row = rows[n]
        end = (row.take.accepted_at or 0.0) + lengths[n]
        if now >= end:
            costs.append(Cost(taken[n], now - end, lengths[n]))
            if polls.finish(row, memories[n], now, hinted=rules.hinted):
                replan(now)
            if waiting:
                begin(now)
            continue
        memory = polls.expect(row, memories[n])
        decision = decide(row, memory, Polled("generating"), now, rules)
        memories[n] = decision.memory
        heapq.heappush(due, (now + decision.after, n))
    return costs


def three_minutes(count: int) -> list[float]:
    chance = random.Random(7)
    return [chance.uniform(165, 215) for _ in range(count)]


#: Of renders that take three minutes: how many are under way at once, what the service says of the
#: next poll, how many of the kind are known; the most polls they may cost, and how late they are.
COSTS = [
    *((at_once, told, 0, 15, 0.25) for at_once in (8, 64, 200) for told in (None, 10.0, 60.0)),
    *((at_once, None, 50, 6, 0.1) for at_once in (1, 8, 200)),
]


@pytest.mark.parametrize(("at_once", "told", "known", "polls", "late"), COSTS)
def test_renders_cost_few_polls_and_are_noticed_soon(at_once, told, known, polls, late):
    costs = simulate(three_minutes(200), at_once=at_once, told=told, known=three_minutes(known))
    of_each = [cost.polls for cost in costs]
    assert (max(of_each) if known else mean(of_each)) <= polls
    # Some are finished before the first is noticed, from which the others learn.
    assert max(cost.late / cost.length for cost in costs) <= late


@pytest.mark.parametrize("length", [20.0, 180.0, 1200.0])
def test_a_single_render_of_a_kind_nobody_knows_is_noticed_soon(length: float) -> None:
    (cost,) = simulate([length], at_once=1)
    assert cost.late <= max(3.0, 0.25 * length)
    assert cost.polls <= 25


@pytest.mark.parametrize("stuck", [[], [3600.0], [1200.0, 5000.0]])
def test_a_render_whose_hint_is_lost_is_found_soon_after_the_longest_of_its_kind(stuck):
    rules = replace(RULES, hinted=True)
    costs = simulate(three_minutes(20), at_once=20, rules=rules, known=three_minutes(50) + stuck)
    assert {cost.polls for cost in costs} == {1}
    assert max(cost.late for cost in costs) < 80


def test_a_hint_brings_the_next_poll_forward_and_is_used_up_by_it() -> None:
    polls, row = PollPlan(), a_row("rendering")
    polls.name(["vid_other", "vid_1"])
    named = replace(row, take=replace(row.take, video_id="vid_1"))  # type: ignore[type-var]
    assert polls.is_named(named)
    assert polls.before_poll(named, Memory()).hint == 1
    assert not polls.is_named(named)


def test_a_hint_that_comes_before_its_video_is_followed_by_a_few_quick_polls() -> None:
    row, memory, rules = a_row("rendering"), Memory(hint=1), replace(RULES, hinted=True)
    waits = []
    for n in range(AFTER_HINT + 2):
        decision = decide(row, memory, Polled("generating", downloadable=False), T0 + n, rules)
        memory = decision.memory
        waits.append(decision.after)
    assert waits == [1, 2, 4, 8, 16, 32, SAFETY_NET, SAFETY_NET]


def test_a_create_that_was_sent_again_is_polled_soon_although_webhooks_are_well() -> None:
    rules = replace(RULES, hinted=True)
    row = a_row("submitting")
    assert decide(row, Memory(), Accepted("vid_1"), T0, rules).after == SAFETY_NET
    assert decide(row, Memory(doubt=True), Accepted("vid_1"), T0, rules).after == 10


def test_no_wait_is_longer_than_the_longest() -> None:
    waits = first_interval(None, 1e9), first_interval(1e9, None), poll_interval(1e9, None, told=1e9)
    assert {*waits, poll_interval(1e9, 1e9), poll_interval(0, 1e9)} == {POLL_MAX}
