"""A video that a check held back is delivered once somebody keeps it, and for no other reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from callsheet.tasks.ledger.deliveries import StoredPicture, VideoFindings, deliver, find_take_video
from callsheet.tasks.ledger.reviews import review, review_all, review_of
from tests.campaigns import NOW, VIDEO, Stage, brief

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


async def test_a_client_delivers_no_video_that_is_on_hold(ledger) -> None:
    stage, take = await held(ledger, VIDEO, VTT)
    await stage.write(review, take, "keep", by="Mia (link 1)", at=NOW + 1, side="client")
    assert (await stage.row()).state == "held"
    assert await ledger.read(review_of, take_id=take) is None
    client = await ledger.read(review_of, take_id=take, side="client")
    assert (client.verdict, client.by) == ("keep", "Mia (link 1)")


async def test_what_was_found_is_read_as_it_was_kept(ledger) -> None:
    stage, _ = await held(ledger, VIDEO)
    found = await ledger.read(lambda c: find_take_video(c, campaign="spring", row="a", take=1))
    assert found.findings == WRONG
    assert found.findings.wrong == {"silence": "nothing to hear"}
    assert set(found.files) == {"mp4"}
    for row, number in (("a", 2), ("b", 1)):
        asked = {"campaign": "spring", "row": row, "take": number}
        assert await ledger.read(lambda c, asked=asked: find_take_video(c, **asked)) is None
    assert stage.campaign.name == "spring"
