"""The checker of the kills finds what is planted: a check that cannot fail shows nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.torture.checker import Evidence, violations
from tests.torture.scenario import LIMITS
from tests.torture.stand import Stand
from tests.torture.trial import Trial, attempt

pytestmark = pytest.mark.xdist_group("crash points")

Plant = Callable[[Evidence], Evidence]


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


def film_gone(seen: Evidence) -> Evidence:
    films = [name for name in seen.found if name.endswith(".mp4")]
    return replace(seen, found={k: v for k, v in seen.found.items() if k != films[0]})


def film_of_another(seen: Evidence) -> Evidence:
    return replace(seen, truth=dict.fromkeys(seen.truth, "0" * 64))


def other_bytes(seen: Evidence) -> Evidence:
    changed = {name: replace(found, sha256="0" * 64) for name, found in seen.found.items()}
    return replace(seen, found=changed)


def film_that_does_not_play(seen: Evidence) -> Evidence:
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


PLANTS: Mapping[Plant, str] = {
    charged_twice: "was charged 2 times",
    charged_for_nothing: "belongs to no take",
    clip_sent_again: "calls were made for",
    over_the_budget: "over the budget",
    film_gone: "is not in the store",
    film_of_another: "another film than the service made",
    other_bytes: "is not the file that the ledger says",
    film_that_does_not_play: "no picture",
    half_a_file: "was left behind",
    row_lost: "the sheet has the rows",
    row_left_behind: "ended rendering instead of",
    captions_unrecorded: "asked for mp4 and",
    account_off: "the account says",
    money_left_reserved: "are reserved though every row is settled",
    history_with_a_gap: "when it was",
    call_left_open: "is still open",
    still_held: "still held by a process",
}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_what_is_planted_is_found(plant: Plant, reference: Trial) -> None:
    assert reference.evidence is not None
    assert violations(reference.evidence) == []
    findings = violations(plant(reference.evidence))
    assert any(PLANTS[plant] in finding for finding in findings), findings


def _changed(seen: Evidence, table: str, **values: Any) -> Evidence:
    lines = list(getattr(seen.books, table))
    lines[0] = {**lines[0], **values}
    changed: dict[str, Any] = {table: tuple(lines)}
    return replace(seen, books=replace(seen.books, **changed))
