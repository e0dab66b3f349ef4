"""Which videos may be deleted at the service, and what stays of them in the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from callsheet.tasks.ledger import deletions
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema import takes
from callsheet.tasks.ledger.service_state import close_call, open_call
from tests.campaigns import NOW, VIDEO, Stage, brief


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    return await Stage.set(ledger, *(brief(row, topic=row) for row in "abc"))


async def old(stage: Stage, before: float | None = None, **own: Any):
    return {
        one.row.row: one
        for one in await stage.ledger.read(
            deletions.old_videos, campaign_id=stage.campaign.id, before=before, **own
        )
    }


async def may(stage: Stage, one: deletions.OldVideo, **own: Any) -> bool:
    return bool(await stage.write(deletions.intend_deletion, one, words="soon", at=NOW, **own))


@pytest.mark.safeguard(
    "tasks/ledger/deletions.py", 'renewed = {"nth": take.nth + 1,', 'renewed = {"nth": take.nth,'
)
async def test_a_deletion_is_recorded_once_and_nothing_is_lost(stage: Stage) -> None:
    before = await stage.delivered("a")
    await stage.sync(brief("b", topic="b"), brief("c", topic="c"))
    one = (await old(stage))["a"]

    assert await may(stage, one)
    await stage.write(deletions.record_deletion, one, by="Ann", words="gone", at=NOW)

    assert not await may(stage, one)
    # The store still has its files, which may be deleted too.
    (again,) = (await old(stage)).values()
    assert again.take.deletion.endswith("by Ann")
    assert (again.take.charged, again.take.stands) == (before.take.charged, True)
    assert await stage.ledger.read(deletions.deletion_of, video_id="vid_a") == again.take.deletion
    assert [e.words for e in await stage.events("a") if e.kind == "prune"] == ["soon", "gone"]
    await stage.write(deletions.record_deleted_files, again, kinds=["mp4"], words="files", at=NOW)
    assert await old(stage) == {}
    await stage.sync(*(brief(row, topic=row) for row in "abc"))
    row = await stage.row("a")
    assert (row.state, row.nth, row.take.charged) == ("planned", 2, before.take.charged)
    assert row.key() != row.take.key


@pytest.mark.safeguard(
    "tasks/ledger/deletions.py", "if now.delivered_at is None and not undelivered:", "if False:"
)
async def test_what_is_not_stored_is_deleted_only_if_that_is_said(stage: Stage) -> None:
    await stage.failed("a")
    await stage.sync(brief("b", topic="b"), brief("c", topic="c"))
    one = (await old(stage))["a"]

    assert not await may(stage, one)
    assert await may(stage, one, undelivered=True)
    await stage.write(deletions.record_deletion, one, by="Ann", words="gone", at=NOW)

    assert await old(stage) == {}
    await stage.sync(*(brief(row, topic=row) for row in "abc"))
    row = await stage.row("a")
    assert (row.state, row.nth, row.take.stands) == ("planned", 2, False)


@pytest.mark.safeguard("tasks/ledger/deletions.py", "if call.is_unsettled:", "if False:")
@pytest.mark.safeguard(
    "tasks/ledger/deletions.py",
    "if why_needed(connection, old.take, old.row.id) is not None:",
    "if False:",
)
@pytest.mark.parametrize(
    ("opened", "outcome", "needed"),
    [
        (NOW + 1, None, "a paid call that changes it is not settled: voice (call 1)"),
        (NOW - 9, "unknown", "a paid call that changes it is not settled: voice (call 1)"),
        (NOW + 1, "made", "`callsheet video delete vid_a` deletes it"),
        (NOW - 9, "made", None),
        (NOW + 1, "refused", None),
    ],
)
async def test_a_video_that_a_paid_call_has_changed_since_is_kept(stage, opened, outcome, needed):
    await stage.delivered("a")
    call = {"organisation": "us", "operation": "voice", "body": b"", "target": "vid_a"}
    number = await stage.write(open_call, **call, at=opened)
    if outcome is not None:
        await stage.write(close_call, call_id=number, outcome=outcome, at=NOW)

    one = (await old(stage, NOW))["a"]

    assert (one.kept or "").endswith(needed or "")
    assert (one.kept is None, await may(stage, one)) == (needed is None, needed is None)


@pytest.mark.safeguard("tasks/ledger/deletions.py", "or now.state != old.row.state or", "or")
async def test_a_row_that_came_back_keeps_its_video(stage: Stage) -> None:
    await stage.delivered("a")
    await stage.sync(brief("b", topic="b"), brief("c", topic="c"))
    one = (await old(stage))["a"]

    await stage.sync(*(brief(row, topic=row) for row in "abc"))

    assert not await may(stage, one)


@pytest.mark.safeguard(
    "tasks/ledger/deletions.py",
    "query = select(takes.c.id).where(named,",
    "query = select(takes.c.id).where(~named,",
)
async def test_a_video_that_rows_share_is_kept(stage: Stage) -> None:
    await stage.delivered("a")
    shared = await stage.delivered("b")
    await stage.sync(brief("b", topic="b"), brief("c", topic="c"))
    one = (await old(stage))["a"]

    def share(connection: Any) -> None:
        this = takes.c.id == shared.take.id
        connection.execute(update(takes).where(this).values(video_id="vid_a"))

    await stage.ledger.write(share)
    said = f"it is also the video of row b of {stage.campaign.name}"
    assert (await old(stage))["a"].kept == said
    assert not await may(stage, one)
    assert await stage.ledger.read(deletions.is_shared_file, uri=VIDEO.uri, old=one)
