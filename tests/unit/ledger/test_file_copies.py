"""Copies of delivered files: wanted, proved, on hold."""

from __future__ import annotations

from dataclasses import replace

from callsheet.tasks.ledger.deliveries import FileCopy, copies_of, note_copies, wanted_copies
from callsheet.tasks.ledger.deliveries import deliver as record
from callsheet.tasks.ledger.ledger import Ledger
from tests.board.with_videos import wanted
from tests.campaigns import NOW, VIDEO, Stage

PLACES = (("s3://one", "{campaign}/{name}"), ("file:/srv", "{row}"))


async def test_what_is_wanted_follows_the_video_and_what_is_known_is_kept_once(
    ledger: Ledger,
) -> None:
    stage = await Stage.set(ledger, replace(wanted(1), copies=PLACES), wanted(2))
    for name in ("row-1", "row-2"):
        ready = await stage.ready(name)
        assert ready.take is not None
        await stage.write(record, ready, ready.take, files=[VIDEO], at=NOW)
    row = await stage.row("row-1")
    assert row.take is not None

    found = await ledger.read(lambda c: wanted_copies(c, row.campaign_id))
    assert [(one.row, one.take, one.place, one.name) for one in found] == [
        ("row-1", 1, *PLACES[0]), ("row-1", 1, *PLACES[1]),
    ]  # fmt: skip
    assert {one.file for one in found} == {VIDEO}

    there = FileCopy(take_id=row.take.id, kind="mp4", uri="s3://one/a", sha256="a", bytes=1)
    held = replace(there, uri="/srv/a", fault="another file")
    for copies in ([there, held], [held]):
        await ledger.write(lambda c, k=copies: note_copies(c, row.campaign_id, k, at=NOW))
        known = await ledger.read(lambda c: copies_of(c, row.campaign_id))
        assert {*known[row.take.id]} == {there, held}
    await ledger.write(lambda c: note_copies(c, row.campaign_id, [], at=NOW))
    assert await ledger.read(lambda c: copies_of(c, row.campaign_id)) == {row.take.id: [there]}
