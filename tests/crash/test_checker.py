"""The checker of the kills finds what is planted: a check that cannot fail shows nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.torture.books import Line
from tests.torture.checker import Evidence, violations
from tests.torture.direct import of_money
from tests.torture.scenario import LIMITS
from tests.torture.stand import Stand
from tests.torture.trial import Trial, attempt

Plant = Callable[[Evidence], Evidence]


@pytest.mark.merge
def test_a_second_charge_at_the_service_is_found(here: Stand) -> None:
    # The answer to a create is lost, and the service forgets its key before it comes again.
    forgets = (
        {"on": "create", "nth": 1, "do": "drop-after"},
        {"on": "create", "nth": [2, 3], "do": "forget-key"},
    )
    scenario = replace(LIMITS, sheets=LIMITS.sheets[:1], faults=forgets)
    findings = attempt(replace(here, scenario=scenario)).findings
    assert any("was charged 2 times" in finding for finding in findings), findings


def charged_twice(seen: Evidence) -> Evidence:
    begun = next(c for c in seen.charges if c["event"] == "reserve" and c["idempotency_key"])
    return replace(seen, charges=[*seen.charges, {**begun, "video_id": "vid_other"}])


def charged_for_nothing(seen: Evidence) -> Evidence:
    begun = next(c for c in seen.charges if c["event"] == "reserve")
    return replace(seen, charges=[*seen.charges, {**begun, "idempotency_key": "cs1_none"}])


def clip_sent_again(seen: Evidence) -> Evidence:
    return replace(seen, clip_calls=seen.clip_calls + 1)


def over_the_budget(seen: Evidence) -> Evidence:
    return replace(seen, scenario=replace(seen.scenario, budget=1))


def video_gone(seen: Evidence) -> Evidence:
    videos = [name for name in seen.found if name.endswith(".mp4")]
    return replace(seen, found={k: v for k, v in seen.found.items() if k != videos[0]})


def video_of_another(seen: Evidence) -> Evidence:
    return replace(seen, truth=dict.fromkeys(seen.truth, "0" * 64))


def other_bytes(seen: Evidence) -> Evidence:
    changed = {name: replace(found, sha256="0" * 64) for name, found in seen.found.items()}
    return replace(seen, found=changed)


def video_that_does_not_play(seen: Evidence) -> Evidence:
    broken = {name: replace(found, trouble="no picture") for name, found in seen.found.items()}
    return replace(seen, found=broken)


def half_a_file(seen: Evidence) -> Evidence:
    return replace(seen, litter=["store/.callsheet-1.part"])


def row_lost(seen: Evidence) -> Evidence:
    return replace(seen, books=replace(seen.books, rows=seen.books.rows[1:]))


def row_left_behind(seen: Evidence) -> Evidence:
    return _changed(seen, "rows", state="rendering")


def captions_unrecorded(seen: Evidence) -> Evidence:
    files = tuple(line for line in seen.books.deliveries if line["kind"] != "vtt")
    return replace(seen, books=replace(seen.books, deliveries=files))


def account_off(seen: Evidence) -> Evidence:
    campaign = {**seen.books.campaign, "charged": seen.books.campaign["charged"] + 1}
    return replace(seen, books=replace(seen.books, campaign=campaign))


def money_left_reserved(seen: Evidence) -> Evidence:
    campaign = {**seen.books.campaign, "reserved": 5}
    return _changed(
        replace(seen, books=replace(seen.books, campaign=campaign)), "takes", reserved=5
    )


def history_with_a_gap(seen: Evidence) -> Evidence:
    kept = tuple(line for line in seen.books.events if line["new"] != "rendering")
    return replace(seen, books=replace(seen.books, events=kept))


def call_left_open(seen: Evidence) -> Evidence:
    return _changed(seen, "calls", closed_at=None)


def still_held(seen: Evidence) -> Evidence:
    campaign = {**seen.books.campaign, "owner": "host:1:2:3"}
    return replace(seen, books=replace(seen.books, campaign=campaign))


def service_says_another_thing(seen: Evidence) -> Evidence:
    return replace(seen, statuses=dict.fromkeys(seen.statuses, "generating"))


def cancelled_here_alone(seen: Evidence) -> Evidence:
    return _changed(seen, "rows", state="cancelled")


def begun_by_a_cancel(seen: Evidence) -> Evidence:
    return replace(seen, afterwards=seen.charges[:1])


PLANTS: Mapping[Plant, str] = {
    charged_twice: "was charged 2 times",
    charged_for_nothing: "belongs to no take",
    clip_sent_again: "calls were made for",
    over_the_budget: "over the budget",
    video_gone: "is not in the store",
    video_of_another: "another video than the service made",
    other_bytes: "is not the file that the ledger says",
    video_that_does_not_play: "no picture",
    half_a_file: "was left behind",
    row_lost: "the sheet has the rows",
    row_left_behind: "ended rendering instead of",
    captions_unrecorded: "asked for mp4 and",
    account_off: "the account says",
    money_left_reserved: "are reserved though every row is settled",
    history_with_a_gap: "when it was",
    call_left_open: "is still open",
    still_held: "still held by a process",
    service_says_another_thing: "its video generating",
    cancelled_here_alone: "its credits not released",
    begun_by_a_cancel: "were set aside for",
}


@pytest.mark.merge
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_what_is_planted_is_found(plant: Plant, reference: Trial) -> None:
    assert reference.evidence is not None
    assert violations(reference.evidence) == []
    findings = violations(plant(reference.evidence))
    assert any(PLANTS[plant] in finding for finding in findings), findings


PAID = {"video_id": "vid_1", "credits": 20}
CALL = {"id": 1, "outcome": "made", "video_id": "vid_1", "closed_at": 2.0, "resolved_at": None}


@pytest.mark.parametrize(
    ("paid", "calls", "got", "finding"),
    [
        ([PAID, {**PAID, "video_id": "vid_2"}], [CALL], "vid_1", "was charged 2 times"),
        ([], [CALL], "vid_1", "was charged 0 times"),
        ([PAID], [CALL], "vid_2", "they were told of vid_2"),
        ([PAID], [], "vid_1", "the ledger says that [] were made"),
        ([PAID], [CALL, {**CALL, "id": 2, "outcome": "unknown"}], "vid_1", "call 2 is not settled"),
        ([PAID], [{**CALL, "closed_at": None}], "vid_1", "call 1 is not settled"),
    ],
)
def test_what_is_planted_beside_a_command_typed_by_hand_is_found(
    paid: list[Line], calls: list[Line], got: str, finding: str
) -> None:
    assert list(of_money([PAID], [CALL], "vid_1", keyed=False)) == []
    findings = list(of_money(paid, calls, got, keyed=False))
    assert any(finding in found for found in findings), findings


def _changed(seen: Evidence, table: str, **values: Any) -> Evidence:
    lines = list(getattr(seen.books, table))
    lines[0] = {**lines[0], **values}
    changed: dict[str, Any] = {table: tuple(lines)}
    return replace(seen, books=replace(seen.books, **changed))
