"""What people say of videos: the first verdict stands, and whoever changes it has to know it."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import pytest

from callsheet.tasks.ledger.database import ledger_url, make_engine
from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.reviews import (
    Review,
    Reviewed,
    ReviewStands,
    kept_rows,
    last_reviews,
    review,
    review_all,
    review_of,
)
from callsheet.tasks.runtime.errors import BadInput
from tests.campaigns import NOW, Stage, brief


async def decide(stage: Stage, verdict: Any, row: str = "a", **how: Any) -> Review | None:
    take = (await stage.row(row)).take
    assert take is not None
    how = {"by": "Ann", "at": NOW, **how}
    said: Review | None = await stage.write(review, take.id, verdict, **how)
    return said


async def standing(stage: Stage, row: str = "a") -> Review | None:
    take = (await stage.row(row)).take
    return await stage.ledger.read(review_of, take_id=take.id)


async def told(stage: Stage, row: str = "a") -> list[tuple[str | None, str | None, str | None]]:
    return [(e.old, e.new, e.words) for e in await stage.events(row) if e.kind == "review"]


#: What stands, what is said next (verdict, instead of), and what stands then; None: refused.
CHANGES = [
    (None, ("keep", None), "keep"),
    (None, ("reject", None), "reject"),
    (None, ("keep", "reject"), None),
    (None, (None, None), "nothing"),
    ("keep", ("keep", None), "keep"),
    ("keep", ("reject", None), None),
    ("keep", ("reject", "keep"), "reject"),
    ("keep", ("reject", "reject"), None),
    ("keep", (None, "keep"), "nothing"),
    ("keep", (None, None), None),
    ("keep", (None, "reject"), None),
    ("reject", ("keep", None), None),
    ("reject", ("keep", "reject"), "keep"),
    ("reject", ("reject", "reject"), "reject"),
]


@pytest.mark.parametrize(("before", "said", "after"), CHANGES)
async def test_the_first_verdict_stands_unless_it_is_named(
    stage: Stage, before: Any, said: Any, after: str | None
):
    await stage.delivered()
    if before:
        await decide(stage, before, by="Ann")
    verdict, instead_of = said
    if after is None:
        with pytest.raises(ReviewStands) as refused:
            await decide(stage, verdict, by="Bob", instead_of=instead_of, at=NOW + 1)
        assert ("Ann" if before else "not reviewed any more") in str(refused.value)
        assert getattr(refused.value.standing, "verdict", None) == before
        after = before or "nothing"
    else:
        await decide(stage, verdict, by="Bob", instead_of=instead_of, at=NOW + 1)
    found = await standing(stage)
    assert getattr(found, "verdict", "nothing") == after
    if found and found.verdict == before and instead_of is None:
        assert found.by == "Ann"


async def test_every_change_leaves_who_and_why_in_the_history(stage: Stage):
    await stage.delivered()
    await decide(stage, "reject", reason="wrong look", note="the logo\nis old")
    await decide(stage, "reject", by="Bob")
    await decide(stage, "keep", by="Bob", instead_of="reject", at=NOW + 1)
    await decide(stage, None, by="Ann", instead_of="keep", at=NOW + 2)
    assert await told(stage) == [
        (None, "reject", "by Ann: wrong look: the logo\nis old"),
        ("reject", "keep", "by Bob"),
        ("keep", None, "by Ann"),
    ]


#: Who says reject again, with which reason and note, naming it or not; what then stands.
AMENDED = [
    (("Bob", None, None, None), ("picture", None)),
    (("Bob", None, "the logo", None), ("picture", "the logo")),
    (("Bob", "voice", None, None), ("picture", None)),
    (("Bob", "voice", "the logo", "reject"), ("voice", "the logo")),
    (("Ann", "voice", None, None), ("voice", None)),
    (("Ann", "", "the logo", None), (None, "the logo")),
    (("Ann", "picture", None, "reject"), ("picture", None)),
]


@pytest.mark.parametrize(("again", "words"), AMENDED)
async def test_the_same_verdict_again_adds_words_and_stays_the_first_ones(
    stage: Stage, again: Any, words: Any
):
    await stage.delivered()
    await decide(stage, "reject", reason="picture")
    by, reason, note, instead_of = again
    how = {"reason": reason, "note": note, "instead_of": instead_of}
    said = await decide(stage, "reject", by=by, at=NOW + 1, **how)
    found = await standing(stage)
    assert found == said
    assert (found.reason, found.note, found.by, found.at) == (*words, "Ann", NOW)
    changed = words != ("picture", None)
    assert len(await told(stage)) == 1 + changed
    if changed:
        assert (await told(stage))[-1][2].startswith(f"by {by}")  # type: ignore[union-attr]


REFUSED = {
    "no verdict": {"verdict": "maybe"},
    "a long reason": {"verdict": "reject", "reason": "x" * 41},
    "a long note": {"verdict": "reject", "note": "x" * 2001},
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_makes_no_sense_changes_nothing(stage: Stage, case: str):
    await stage.delivered()
    with pytest.raises(BadInput):
        await decide(stage, **REFUSED[case])
    assert await standing(stage) is None


@pytest.mark.parametrize("state", ["submitting", "rendering", "ready", "failed"])
async def test_what_is_no_video_yet_is_not_decided_on(stage: Stage, state: Any):
    await stage.in_state(state)
    with pytest.raises(BadInput, match="no video yet"):
        await decide(stage, "keep")
    with pytest.raises(BadInput, match="no such take"):
        await stage.write(review, 4711, "keep", by="Ann", at=NOW)


async def test_words_are_kept_as_every_database_takes_them_and_without_secrets(stage: Stage):
    await stage.delivered()
    note = "see https://x.example/a.mp4?X-Amz-Signature=5ecre7 \0 \ud800 <b>"
    await decide(stage, "reject", reason="  ", note=note)
    found = await standing(stage)
    assert found.reason is None
    assert found.note is not None
    assert "5ecre7" not in found.note
    assert "\0" not in found.note
    assert found.note.endswith("<b>")


async def test_of_many_who_decide_at_once_one_is_first(stage: Stage):
    await stage.delivered()
    verdicts = ["keep", "reject"] * 8
    said = [decide(stage, v, by=f"person {n}") for n, v in enumerate(verdicts)]
    ended = await asyncio.gather(*said, return_exceptions=True)
    found = await standing(stage)
    assert found is not None
    refused = [one for one in ended if isinstance(one, ReviewStands)]
    assert len(refused) == 8
    assert {one.standing.by for one in refused if one.standing} == {found.by}
    assert len(await told(stage)) == 1


@pytest.mark.parametrize("made_address", ["postgres"], indirect=True)
@pytest.mark.parametrize("many", [False, True])
async def test_who_decides_waits_for_another_process_that_is_about_to(
    stage: Stage, made_address: str, many: bool
) -> None:
    take = (await stage.delivered()).take
    assert take is not None
    other = make_engine(ledger_url(made_address), writes=True)
    try:
        with other.begin() as connection:
            review(connection, take.id, "keep", by="Bob", at=NOW)
            if many:
                said = stage.write(review_all, [take.id], "reject", by="Ann", at=NOW)
            else:
                said = decide(stage, "reject")
            late = asyncio.create_task(said)
            done, _ = await asyncio.wait([late], timeout=0.5)
            assert not done
    finally:
        other.dispose()
    if many:
        assert await late == Reviewed(made=0, same=0, stood=1)
    else:
        with pytest.raises(ReviewStands, match="kept by Bob"):
            await late
    assert await told(stage) == [(None, "keep", "by Bob")]


async def test_many_videos_are_decided_on_together_and_what_stands_stays(ledger: Ledger):
    stage = await Stage.set(ledger, *(brief(f"r{n}", f"Tea {n}") for n in range(6)))
    for n in range(5):
        await stage.delivered(f"r{n}")
    await stage.rendering("r5")
    await decide(stage, "reject", "r1", by="Bob", reason="wrong look")
    await decide(stage, "keep", "r2", by="Bob")
    ids = [row.take.id for row in await stage.rows() if row.take]
    named = {"reason": None, "note": None, "by": "Ann", "at": NOW + 1}
    first = await stage.write(review_all, ids, "keep", **named)
    again = await stage.write(review_all, ids, "keep", **named)
    assert (first, again) == (Reviewed(3, 1, 1), Reviewed(0, 4, 1))
    found = await ledger.read(last_reviews, campaign_id=stage.campaign.id)
    assert Counter((r.verdict, r.by) for r in found.values()) == {
        ("keep", "Ann"): 3, ("keep", "Bob"): 1, ("reject", "Bob"): 1,
    }  # fmt: skip
    assert [len(await told(stage, f"r{n}")) for n in range(6)] == [1, 1, 1, 1, 1, 0]


async def test_a_kept_row_is_one_whose_present_take_is_kept(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), brief("b", "Coffee"))
    await stage.delivered()
    await stage.delivered("b")
    await decide(stage, "keep")
    await decide(stage, "reject", "b")
    row = await stage.row()
    kept = partial(kept_rows, campaign_id=stage.campaign.id)
    assert await ledger.read(kept) == {row.id}
    named = {"by": "Ann", "because": None, "at": NOW}
    await stage.write(approve_retakes, [Quoted(row, None)], **named)
    assert await ledger.read(kept) == {row.id}
    assert await stage.open(await stage.row()) is not None
    assert await ledger.read(kept) == frozenset()
