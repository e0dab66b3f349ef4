"""What to do next: for every state, everything that can be observed, and every moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.engine.policy import renders
from callsheet.tasks.engine.policy.creates import LOST_LIMIT, in_columns
from callsheet.tasks.engine.policy.decide import (
    CORRUPT_LIMIT,
    DELIVERY_LIMIT,
    UNASKED_LIMIT,
    decide,
)
from callsheet.tasks.engine.policy.decision import (
    LAST_CREATE,
    SPREAD,
    Accepted,
    AccessDenied,
    Busy,
    Closed,
    FilesStored,
    Memory,
    Missing,
    NeverSent,
    NotCancelled,
    NothingFound,
    NotMade,
    NotStored,
    Observation,
    Polled,
    RefusedAs,
    Released,
    Resumed,
    Rules,
    Troubled,
    Unknown,
    VideoReady,
    backoff,
)
from callsheet.tasks.ledger.deliveries import VideoFindings
from callsheet.tasks.ledger.values import STATES, TRANSITIONS, State
from callsheet.tasks.service.sending import LONGEST
from callsheet.tasks.values.briefs import Brief, Json
from tests.campaigns import T0, VIDEO, a_row

RULES = Rules(horizon=86400, deadline=10800, captions_wait=120)
NEW = Memory()


def closed(after: float) -> Closed:
    return Closed(datetime.fromtimestamp(T0 + after, UTC), "429")


OBSERVATIONS: dict[str, Observation] = {
    "resumed": Resumed(),
    "accepted": Accepted("vid_1", 5.0),
    "400": RefusedAs(400, "bad"),
    "401": RefusedAs(401, "key"),
    "402": RefusedAs(402, "credits"),
    "404": RefusedAs(404, "where"),
    "key": RefusedAs(422, "key", of_key=True),
    "unknown": Unknown("lost"),
    "nothing": NothingFound(),
    "candidates": NothingFound(("vid_8", "vid_9")),
    "unmade": NotMade("not sent"),
    "busy": Busy("waits", T0 + 900),
    "tripped": Busy("too many", None),
    "unreached": NeverSent("down"),
    "closed": closed(30),
    "access denied": AccessDenied("key"),
    "running": Polled("generating"),
    "missing": Missing(),
    "troubled": Troubled("500"),
    "ready": VideoReady("https://video"),
    "stored": FilesStored((VIDEO,)),
    "late": FilesStored((VIDEO,), ("srt",)),
    "not stored": NotStored("disk", permanent=False),
    "never stored": NotStored("bucket", permanent=True),
}
#: state -> what was observed -> "where to" and "lane"; whatever is not listed changes nothing.
TABLE: dict[State, dict[str, tuple[State | None, str | None]]] = {
    "submitting": {
        "accepted": ("rendering", "poll"),
        "400": ("rejected", None),
        "401": ("held", None),
        "402": ("held", None),
        "404": ("held", None),
        "key": ("uncertain", None),
        "nothing": ("uncertain", None),
        "candidates": ("uncertain", None),
        "unmade": ("approved", "submit_unkeyed"),
        "access denied": (None, None),
    },
    "uncertain": {"accepted": ("rendering", "poll")},
    "rendering": {
        "ready": ("ready", "deliver"),
        "missing": ("stalled", None),
        "access denied": (None, None),
    },
    "ready": {
        "stored": ("delivered", None),
        "missing": ("held", None),
        "never stored": ("held", None),
        "late": ("held", None),
        "access denied": (None, None),
    },
    "approved": {
        "access denied": (None, None),
        "busy": (None, "submit_unkeyed"),
        "tripped": ("held", None),
    },
}
#: Where a row that asks for a clip, whose call takes no key, goes another way than a video's.
ONCE: dict[State, dict[str, tuple[State | None, str | None]]] = {
    "submitting": {"nothing": (None, "search"), "candidates": (None, "search")}
}
LANES = {"approved": "submit", "submitting": "submit", "rendering": "poll", "ready": "deliver"}


@pytest.mark.safeguard(
    "tasks/engine/policy/decision.py",
    'case "submitting" if row.take is not None and not row.take.keyed:',
    'case "never" if row.take is not None and not row.take.keyed:',
)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", OBSERVATIONS)
def test_a_call_without_a_key_is_never_sent_again(state: State, name: str):
    row = a_row(state, intended=T0 + 500, operation="image-to-video")
    decision = decide(row, NEW, OBSERVATIONS[name], T0 + 1_000, RULES)
    lanes = LANES | {"approved": "submit_unkeyed", "submitting": "search"}
    usual = TABLE.get(state, {}).get(name, (None, lanes.get(state)))
    expected = ONCE.get(state, {}).get(name, usual)
    assert (decision.to, decision.lane) == expected
    assert decision.lane != "submit"


@pytest.mark.parametrize("name", ["nothing", "candidates"])
def test_what_a_call_without_a_key_made_is_looked_for_and_then_asked_for(name: str):
    row = a_row("submitting", intended=T0, operation="image-to-video")
    late = decide(row, NEW, OBSERVATIONS[name], T0 + RULES.evidence_wait, RULES)
    assert (late.to, late.lane) == ("uncertain", None)
    assert "callsheet resolve" in str(late.reason)
    assert ("vid_8, vid_9" in str(late.reason)) == (name == "candidates")


def test_a_row_waits_for_another_call_as_long_as_its_answer_may_come_and_is_held_then():
    row = a_row("approved", operation="image-to-video")
    now = T0 + 900 + 2 * RULES.evidence_wait + 1
    assert decide(row, NEW, OBSERVATIONS["busy"], now, RULES).to == "held"
    rules = replace(RULES, evidence_wait=1)
    decision = decide(row, NEW, Busy("waits", T0), T0 + LONGEST, rules)
    assert (decision.to, decision.lane) == (None, "submit_unkeyed")
    assert decide(row, NEW, Busy("waits", T0), T0 + LONGEST + 2, rules).to == "held"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", OBSERVATIONS)
def test_every_state_and_every_observation(state: State, name: str):
    decision = decide(a_row(state), NEW, OBSERVATIONS[name], T0 + 1_000, RULES)
    expected = TABLE.get(state, {}).get(name, (None, LANES.get(state)))
    assert (decision.to, decision.lane) == expected


statuses = st.sampled_from(
    ["generating", "ready", "failed", "error", "cancelled", "who knows", None]
)
some_seconds = st.none() | st.floats(-10, 1e6) | st.just(float("nan"))
anything_observed = st.one_of(
    st.sampled_from(list(OBSERVATIONS.values())),
    st.builds(Accepted, st.just("vid_1"), some_seconds),
    st.builds(RefusedAs, st.none() | st.integers(300, 499), st.just("no"), st.booleans()),
    st.builds(Polled, statuses, some_seconds, st.none(), st.sampled_from([None, False])),
    st.floats(-100, 200_000).map(closed),
)


@given(
    state=st.sampled_from(STATES),
    intended=st.floats(T0 - 200_000, T0),
    accepted=st.floats(T0 - 200_000, T0),
    observations=st.lists(anything_observed, min_size=1, max_size=30),
    step=st.floats(0, 5_000),
)
def test_whatever_is_observed_the_decision_is_lawful(state, intended, accepted, observations, step):
    memory, now = NEW, T0
    row = a_row(state, intended=intended, accepted=accepted)
    for observation in observations:
        decision = decide(row, memory, observation, now, RULES)
        # By their text: from Python 3.13 on, values that hold a NaN do not equal themselves.
        assert repr(decide(row, memory, observation, now, RULES)) == repr(decision)
        if decision.to is not None:
            assert decision.to in TRANSITIONS[row.state]
            row = replace(row, state=decision.to)
        if decision.to in ("held", "rejected", "failed", "stalled", "uncertain", "cancelled"):
            assert decision.reason
            assert decision.lane is None
        assert decision.after >= 0
        if decision.lane == "submit" and row.state == "submitting":
            # The latest moment at which the engine may send it.
            latest = now + decision.after * SPREAD
            assert latest - intended < RULES.horizon - LAST_CREATE
        memory, now = decision.memory, now + step


@given(some_seconds)
def test_waits_between_polls_are_within_bounds(hint):
    assert 0 <= renders.told_interval(hint, least=0.0) <= renders.POLL_MAX
    assert renders.POLL_MIN <= renders.told_interval(hint) <= renders.POLL_MAX


@given(st.integers(0, 10_000))
def test_a_backoff_never_ends_the_world(failures):
    assert 1 <= backoff(failures) <= 60


def test_a_hint_of_nothing_means_at_once():
    assert renders.told_interval(0, least=0.0) == 0
    assert renders.told_interval(0) == renders.POLL_MIN


FULL_DISK = NotStored("disk", permanent=False)
CORRUPT = NotStored("no frame can be decoded", permanent=False, corrupt=True)
#: What is observed again and again: in which state and how often, where it leads and what is said.
AGAIN: list[tuple[State, Observation, int, State | None, str]] = [
    ("submitting", Unknown("lost"), LOST_LIMIT, None, "run again"),
    ("approved", Troubled("500"), UNASKED_LIMIT, "held", "500: nothing was spent on it; run again"),
    ("ready", FULL_DISK, DELIVERY_LIMIT, "held", "fetches it free"),
    ("ready", CORRUPT, CORRUPT_LIMIT, "held", "`callsheet retake spring a --run`"),
]


@pytest.mark.parametrize(("state", "observation", "limit", "to", "words"), AGAIN)
def test_what_fails_again_and_again_is_tried_ever_more_rarely_and_then_left(
    state: State, observation: Observation, limit: int, to: State | None, words: str
):
    row, memory = a_row(state), NEW
    for n in range(1, limit):
        decision = decide(row, memory, observation, T0 + n, RULES)
        assert (decision.to, decision.lane, decision.after) == (None, LANES[state], backoff(n))
        memory = decision.memory
    if observation is CORRUPT:
        # What failed for another reason in between is no word on the video.
        memory = decide(row, memory, FULL_DISK, T0, RULES).memory
    last = decide(row, memory, observation, T0 + 60, RULES)
    assert (last.to, last.lane) == (to, None)
    assert words in (last.reason or "")


@pytest.mark.safeguard(
    "tasks/engine/policy/decision.py", "return -SKEW <= now - take", "return now - take"
)
@pytest.mark.safeguard(
    "tasks/engine/policy/decision.py",
    "return -SKEW <= now - take.intended_at < last",
    "return True",
)
@pytest.mark.parametrize(
    ("age", "lane"),
    # The last two: a clock a little behind, and one that was set back.
    [(0, "submit"), (85_499, "submit"), (85_500, "search"), (-300, "submit"), (-301, "search")],
)
def test_too_close_to_its_horizon_a_create_is_looked_for_and_not_sent(age, lane):
    row = a_row("submitting", intended=T0 - age)
    assert decide(row, NEW, Resumed(), T0, RULES).lane == lane


def test_a_gate_that_opens_past_the_horizon_leads_to_a_search():
    row = a_row("submitting", intended=T0 - 85_000)
    assert decide(row, NEW, closed(300), T0, RULES).lane == "submit"
    late = decide(row, NEW, closed(1_000), T0, RULES)
    assert (late.lane, late.after, late.pauses) == ("search", 1_000, T0 + 1_000)


@pytest.mark.parametrize("status", [401, 402, 404, 302, 413, 422])
def test_a_refusal_that_no_row_is_to_blame_for_holds_the_run(status):
    decision = decide(a_row("submitting"), NEW, RefusedAs(status, "no"), T0, RULES)
    brief = status in (413, 422)
    assert decision.to == ("rejected" if brief else "held")
    assert decision.defers == (None if brief else decision.reason)


@pytest.mark.safeguard(
    "tasks/engine/policy/creates.py",
    "if memory.doubt:\n        # An answer to this take",
    "if False:\n        # An answer to this take",
)
@pytest.mark.parametrize("status", [402, 403])
@pytest.mark.parametrize("before", [Unknown("lost"), Resumed()])
def test_a_refusal_after_a_lost_answer_releases_nothing(before, status):
    """Keys and credits may be checked before it is looked up what a key was used for."""
    row = a_row("submitting")
    memory = decide(row, NEW, before, T0, RULES).memory
    decision = decide(row, memory, RefusedAs(status, "no"), T0, RULES)
    assert (decision.to, decision.lane) == (None, None)
    assert decision.defers


def a_poll(status: str | None, downloadable: bool | None = False) -> Polled:
    return Polled(status, None, None, downloadable)


#: What polls tell one after the other, and what is concluded at the last.
POLLS: list[tuple[tuple[Polled, ...], State | None]] = [
    ((a_poll("failed"), a_poll("failed")), "failed"),
    ((a_poll("failed"), a_poll("generating"), a_poll("failed")), None),
    ((a_poll("failed"), a_poll("odd"), a_poll("failed")), None),
    ((a_poll("failed"), a_poll("failed", None), a_poll("failed")), None),
    ((a_poll("exporting"), a_poll("failed")), None),
    ((a_poll("cancelled"), a_poll("cancelled")), "cancelled"),
    ((a_poll("canceled"), a_poll("canceled")), "cancelled"),
    ((a_poll("kaputt"), a_poll("kaputt")), "failed"),
]


@pytest.mark.parametrize(("polls", "to"), POLLS)
def test_a_word_for_the_end_needs_two_polls_with_refused_downloads(polls, to):
    row, memory, rules = a_row("rendering"), NEW, replace(RULES, failed=RULES.failed | {"kaputt"})
    for observation in polls[:-1]:
        decision = decide(row, memory, observation, T0, rules)
        assert (decision.to, decision.lane) == (None, "poll")
        memory = decision.memory
    assert decide(row, memory, polls[-1], T0 + 10, rules).to == to


def test_an_unknown_word_stalls_after_enough_polls_and_time():
    row, memory = a_row("rendering"), NEW
    for n in range(renders.ODD_POLLS):
        decision = decide(row, memory, a_poll("exporting"), T0 + n, RULES)
        assert decision.to is None
        memory = decision.memory
    assert decide(row, memory, a_poll("exporting"), T0 + renders.ODD_SPAN - 1, RULES).to is None
    assert decide(row, memory, a_poll("exporting"), T0 + renders.ODD_SPAN, RULES).to == "stalled"


def test_a_render_past_its_deadline_stalls_once_its_video_was_asked_for():
    row = a_row("rendering")
    assert decide(row, NEW, a_poll("generating"), T0 + 10_800, RULES).to is None
    assert decide(row, NEW, a_poll("generating", None), T0 + 10_801, RULES).to is None
    late = decide(row, NEW, a_poll("generating"), T0 + 10_801, RULES)
    assert late.to == "stalled"
    assert "3h" in (late.reason or "")


def test_a_new_video_may_be_unknown_for_a_while():
    row = a_row("rendering")
    assert decide(row, NEW, Missing(), T0 + renders.GRACE, RULES).lane == "poll"
    assert decide(row, NEW, Missing(), T0 + renders.GRACE + 1, RULES).to == "stalled"


@pytest.mark.parametrize("charged", [Decimal(0), Decimal("3.5")])
def test_the_service_says_what_a_video_cost_even_nothing(charged):
    memory = Memory(charged=Decimal(9))
    ready = decide(a_row("rendering"), memory, VideoReady("https://f", charged), T0, RULES)
    assert ready.memory.charged == charged
    ready = decide(a_row("rendering"), memory, VideoReady("https://f"), T0, RULES)
    assert ready.memory.charged == 9


def test_late_captions_are_waited_for_and_then_held():
    row, late = a_row("ready"), FilesStored((VIDEO,), ("srt", "vtt"))
    soon = decide(row, NEW, late, T0 + 119, RULES)
    assert (soon.to, soon.lane) == (None, "deliver")
    assert 0 < soon.after <= 10
    assert soon.memory.files == (VIDEO,)
    held = decide(row, NEW, late, T0 + 120, RULES)
    assert held.to == "held"
    assert "srt and vtt" in (held.reason or "")


@pytest.mark.parametrize(
    ("checks", "to"),
    [((), "delivered"), (("black", "length"), "delivered"), (("silence",), "held")],
)
def test_a_video_is_held_for_what_somebody_wants_it_held_for(checks, to):
    found = VideoFindings(checks={"black": "ok", "silence": "nothing to hear"})
    rules = replace(RULES, checks=frozenset(checks))
    late = decide(a_row("ready"), NEW, FilesStored((VIDEO,), ("srt",), found), T0, rules)
    assert late.to is None
    # Its captions came later: what was found of the video is remembered.
    decision = decide(a_row("ready"), late.memory, FilesStored((VIDEO,)), T0, rules)
    assert decision.to == to
    assert decision.memory.findings == found
    if to == "held":
        for words in ("nothing to hear", "callsheet review", "callsheet retake"):
            assert words in (decision.reason or "")


@pytest.mark.safeguard(
    "tasks/engine/policy/decide.py",
    'return f"{observation.blocks}: nothing was spent on it; fix this, then run again"',
    "return None",
)
@pytest.mark.parametrize("in_the_end", [False, True])
def test_nothing_more_is_paid_for_while_no_video_can_be_stored(in_the_end):
    row, memory, full = a_row("ready"), NEW, NotStored("full", permanent=False, blocks="full")
    full = replace(full, in_the_end=in_the_end)
    for _ in range(1, DELIVERY_LIMIT):
        decision = decide(row, memory, full, T0, RULES)
        assert (decision.to, decision.lane) == (None, "deliver")
        assert bool(decision.defers) is not in_the_end
        memory = decision.memory
    held = decide(row, memory, full, T0, RULES)
    assert (held.to, bool(held.defers)) == ("held", True)


CANCELLED = Polled("cancelled", downloadable=False)
NO_CREDITS = RefusedAs(402, "no credits")
#: A row whose take somebody wants to be cancelled: its state, what is observed of it one after the
#: other, and where the last leads.
UNWANTED: list[tuple[State, Memory, tuple[Observation, ...], State | None, str | None]] = [
    *(
        ("rendering", NEW, (one,), None, "cancel")
        for one in (Resumed(), NeverSent("no"), Polled("generating"))
    ),
    # A create that arrives late is cancelled at once.
    ("submitting", NEW, (Accepted("vid_1", 30),), "rendering", "cancel"),
    ("rendering", NEW, (Released(),), "cancelled", None),
    # What could not be cancelled is polled, asked again, and its video is delivered.
    ("rendering", NEW, (NotCancelled("409"),), None, "poll"),
    ("rendering", NEW, (NotCancelled("409"), Polled("generating")), None, "cancel"),
    ("rendering", NEW, (NotCancelled("409"), Polled("finalising")), None, "poll"),
    ("rendering", NEW, (NotCancelled("409"), VideoReady("https://video")), "ready", "deliver"),
    ("rendering", Memory(not_cancelled=True), (CANCELLED,), None, "poll"),
    ("rendering", Memory(not_cancelled=True), (CANCELLED, CANCELLED), "cancelled", None),
    # A new video may be unknown to reads for a while.
    ("rendering", NEW, (Missing(),), None, "poll"),
    # What made nothing does not wait for another run.
    ("submitting", NEW, (NotMade("429"),), "cancelled", None),
    ("submitting", NEW, (NO_CREDITS,), "cancelled", None),
    ("submitting", Memory(doubt=True), (NO_CREDITS,), None, None),
]


@pytest.mark.parametrize(("state", "memory", "observations", "to", "lane"), UNWANTED)
def test_what_somebody_wants_cancelled(state, memory, observations, to, lane):
    row = a_row(state)
    row = replace(row, take=replace(row.take, cancel_requested_at=T0 + 30))
    for observation in observations:
        decision = decide(row, memory, observation, T0 + 30, Rules())
        memory = decision.memory
    assert (decision.to, decision.lane) == (to, lane)
    assert decision.after > 0 or lane != "cancel" or len(observations) == 1


def test_a_cancelled_render_costs_nothing_unless_the_service_says_so_or_has_lost_it():
    row = a_row("rendering")
    row = replace(row, take=replace(row.take, cancel_requested_at=T0 + 30))
    for charged in (None, Decimal(3)):
        assert decide(row, NEW, Released(charged), T0 + 30, RULES).memory.charged == charged
    late = decide(row, NEW, Missing(), T0 + 90, RULES)
    assert late.to == "cancelled"
    assert "counts as paid" in (late.reason or "")


LONG = {"product": "x" * 90, "offer": "y"}
SCENES = {"scenes": [{"narration": "Boil it."}, {"narration": "Pour it."}]}
#: A request, what the service says against it, and the cells that are named.
REFUSALS: list[tuple[dict[str, Json], str, str]] = [
    (
        {"duration_seconds": 7},
        "duration_seconds: 7 is not one of 5",
        'refused duration_seconds "7"',
    ),
    (
        {"tool": "explainer", "fields": LONG},
        "fields.product: too long; fields.offer: too short",
        f'fields.product "{"x" * 59}…" and fields.offer "y": edit line 3',
    ),
    ({"script": SCENES}, "script names a brand", 'script "Boil it. Pour it.": edit line 3'),
    ({"title": "Tea"}, "subtitle_mode is odd", ": edit line 3 of the sheet and run again"),
]


@pytest.mark.parametrize(("request_", "said", "told"), REFUSALS)
def test_a_refusal_names_the_cells(request_: dict[str, Json], said: str, told: str) -> None:
    words = f"create was refused (400): {said}"

    reason = in_columns(words, Brief(row="a", request=request_, line=3))

    assert told in reason
    assert words in reason
