"""What people say of videos: the first verdict stands, and a video on hold is delivered by one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from callsheet.tasks.ledger import reviews
from callsheet.tasks.ledger.database import ledger_url, make_engine
from callsheet.tasks.ledger.deliveries import StoredPicture, VideoFindings, deliver
from callsheet.tasks.ledger.reviews import review, review_all, review_of
from callsheet.tasks.runtime.errors import BadInput
from tests.campaigns import NOW, VIDEO, Stage, brief


async def decide(stage: Stage, verdict: Any, row: str = "a", **how: Any) -> reviews.Review | None:
    take = (await stage.row(row)).take
    assert take is not None
    how = {"by": "Ann", "at": NOW, **how}
    said: reviews.Review | None = await stage.write(reviews.review, take.id, verdict, **how)
    return said


async def standing(stage: Stage, row: str = "a") -> reviews.Review | None:
    take = (await stage.row(row)).take
    return await stage.ledger.read(reviews.review_of, take_id=take.id)


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
async def test_the_first_verdict_stands_unless_it_is_named(stage: Stage, before, said, after):
    await stage.delivered()
    if before:
        await decide(stage, before, by="Ann")
    verdict, instead_of = said
    if after is None:
        with pytest.raises(reviews.ReviewStands) as refused:
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


#: Who says reject again, with which reason and note, naming it or not; what then stands.
AMENDED = [
    (("Bob", None, "the logo", None), ("picture", "the logo")),
    (("Bob", "voice", None, None), ("picture", None)),
    (("Bob", "voice", "the logo", "reject"), ("voice", "the logo")),
    (("Ann", "voice", None, None), ("voice", None)),
    (("Ann", "", "the logo", None), (None, "the logo")),
]


@pytest.mark.parametrize(("again", "words"), AMENDED)
async def test_the_same_verdict_again_adds_words_and_stays_the_first_ones(stage, again, words):
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


@pytest.mark.parametrize("state", ["submitting", "ready", "failed"])
async def test_what_is_no_video_yet_is_not_decided_on(stage: Stage, state: Any):
    await stage.in_state(state)
    with pytest.raises(BadInput, match="no video yet"):
        await decide(stage, "keep")
    with pytest.raises(BadInput, match="no such take"):
        await stage.write(reviews.review, 4711, "keep", by="Ann", at=NOW)


@pytest.mark.safeguard("tasks/ledger/reviews.py", "_hold(connection, videos)", "")
@pytest.mark.safeguard("tasks/ledger/reviews.py", "_hold(connection, [video])", "")
@pytest.mark.parametrize("made_address", ["postgres"], indirect=True)
@pytest.mark.parametrize("many", [False, True])
async def test_who_decides_waits_for_another_process_that_is_about_to(stage, made_address, many):
    take = (await stage.delivered()).take
    assert take is not None
    other = make_engine(ledger_url(made_address), writes=True)
    try:
        with other.begin() as connection:
            reviews.review(connection, take.id, "keep", by="Bob", at=NOW)
            if many:
                said = stage.write(reviews.review_all, [take.id], "reject", by="Ann", at=NOW)
            else:
                said = decide(stage, "reject")
            late = asyncio.create_task(said)
            done, _ = await asyncio.wait([late], timeout=0.5)
            assert not done
    finally:
        other.dispose()
    if many:
        assert await late == reviews.Reviewed(made=0, same=0, stood=1)
    else:
        with pytest.raises(reviews.ReviewStands, match="kept by Bob"):
            await late
    assert await told(stage) == [(None, "keep", "by Bob")]


WRONG = VideoFindings(
    checks={"black": "ok", "silence": "nothing to hear"},
    pictures={"poster": StoredPicture(uri="/a.jpg", bytes=9, width=360, height=640)},
)
FINE = VideoFindings(checks={"black": "ok"})
VTT = replace(VIDEO, kind="vtt", uri="file:///video.vtt")


async def held(ledger, *files, findings=WRONG) -> tuple[Stage, int]:
    stage = await Stage.set(ledger, brief(captions=("vtt",)))
    ready = await stage.ready()
    assert ready.take is not None
    await stage.write(
        deliver, ready, ready.take, files=files, at=NOW, new="held", reason="silent",
        findings=findings,
    )  # fmt: skip
    return stage, ready.take.id


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    ("files", "findings", "verdict", "state"),
    [
        ((VIDEO, VTT), WRONG, "keep", "delivered"),
        ((VIDEO, VTT), WRONG, "reject", "held"),
        # It waits for its captions, or for something else.
        ((VIDEO,), WRONG, "keep", "held"),
        ((VIDEO, VTT), FINE, "keep", "held"),
    ],
)
async def test_what_is_kept_is_delivered(ledger, files, findings, verdict, state, many) -> None:
    stage, take = await held(ledger, *files, findings=findings)
    how = {"by": "Rita", "at": NOW + 1, "reason": "wording"}
    if many:
        await stage.write(review_all, [take], verdict, **how)
    else:
        await stage.write(review, take, verdict, **how)
    row = await stage.row()
    assert row.state == state
    assert (row.take.delivered_at is not None) == (state == "delivered")
    assert row.take.charged == 12


@pytest.mark.safeguard(
    "tasks/ledger/reviews.py",
    'if side == "team" and said is not None and said.verdict == "keep":',
    'if said is not None and said.verdict == "keep":',
)
async def test_a_client_delivers_no_video_that_is_on_hold(ledger) -> None:
    stage, take = await held(ledger, VIDEO, VTT)
    await stage.write(review, take, "keep", by="Mia (link 1)", at=NOW + 1, side="client")
    assert (await stage.row()).state == "held"
    assert await ledger.read(review_of, take_id=take) is None
    client = await ledger.read(review_of, take_id=take, side="client")
    assert (client.verdict, client.by) == ("keep", "Mia (link 1)")
