"""A campaign to which everything happened that a manifest tells of, and what a ledger knows.

`recorded/manifest.json` is what was written of it once, and `recorded/recovery-*.json` what a
ledger had after it read that file. Neither is ever made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from callsheet.tasks.ledger import schema
from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.deletions import mark_deleted
from callsheet.tasks.ledger.deliveries import (
    Delivered,
    VideoFindings,
    add_delivery,
    deliver,
    videos_of,
)
from callsheet.tasks.ledger.earlier_takes import EarlierTake, keep_earlier, refuse_to_pay
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.takes import accept, open_take, settle
from callsheet.tasks.ledger.values import STATES, State
from callsheet.tasks.values.briefs import Brief
from callsheet.tasks.values.names import object_name
from tests.campaigns import NOW, Stage

RECORDED = Path(__file__).parent / "recorded"
STORE = "file:///deliveries/spring"
#: Delivered, and what became of them afterwards.
DELIVERED = (
    "kept", "rejected", "edited", "voiced", "revoiced", "renamed", "deleted", "deleted and lost",
    "moved", "gone", "gone and deleted", 'odd "ü"',
)  # fmt: skip
CLIPS = ("clip", "lost clip", "next clip")
#: What a run finds that is restored from a backup: videos of these are deleted by now.
BEHIND: tuple[State, ...] = ("submitting", "rendering", "ready", "stalled")


def topic(row: str, **more: Any) -> dict[str, Any]:
    return {"topic": f"Tea of {row}", "title": f"Tea {row}", "duration_seconds": 8, **more}


def brief_of(row: str, **more: Any) -> Brief:
    """The brief of a row of the first sheet."""
    if row in CLIPS:
        image = {"image_url": f"https://img.example/{row}.png"}
        return Brief(row=row, operation="image-to-video", request=image, **more)
    voice = {"voice_id": "Ann"} if row in ("voiced", "revoiced") else {}
    return Brief(row=row, request=topic(row, **voice), cells=(("id", row), ("note", "-")), **more)


def first_sheet() -> dict[str, Brief]:
    """What the campaign was begun with."""
    names = [*DELIVERED, *CLIPS, *(f"in {state}" for state in STATES), "was renamed"]
    late = [f"late {state}" for state in BEHIND]
    names.remove("renamed")
    return {name: brief_of(name) for name in (*names, *late, "held before", "told", "again")}


def last_sheet() -> dict[str, Brief]:
    """What it asks for in the end: some rows are edited, one is renamed, and some have left."""
    sheet = first_sheet()
    for row in ("gone", "gone and deleted", "in retired"):
        del sheet[row]
    was = sheet.pop("was renamed")
    sheet["renamed"] = replace(was, row="renamed", was="was renamed")
    sheet["edited"] = Brief(row="edited", request=topic("edited", language="de"))
    for row in ("voiced", "revoiced"):
        sheet[row] = Brief(row=row, request=topic(row, voice_id="Bob"))
    return sheet


def file_of(row: str, kind: str = "mp4", take: int = 1) -> Delivered:
    """A file of a row; those of one were moved by hand."""
    folder = "elsewhere" if row == "moved" else row
    uri = f"{STORE}/{folder}/{row}-take{take}.{kind}"
    content = content_of(row, kind)
    digest = hashlib.sha256(content).hexdigest()
    return Delivered(kind=kind, uri=uri, sha256=digest, bytes=len(content), seconds=8.0)


def content_of(row: str, kind: str) -> bytes:
    """What is in a file of a row."""
    return f"{kind} of {row}".encode()


def fill_store(folder: Path) -> None:
    """Put the files of the campaign where a run puts them, but for those that are lost."""
    late = [f"late {state}" for state in BEHIND]
    for row in (*DELIVERED, "clip", *late):
        if row == "deleted and lost":
            continue
        was = "was renamed" if row == "renamed" else row
        for kind, take in (("mp4", 1), ("srt", 1), ("vtt", 1), ("mp4", 2), ("srt", 2)):
            file = folder / object_name(None, campaign="spring", row=row, take=take, kind=kind)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content_of(was, kind))


async def happen(stage: Stage) -> None:
    """Let everything happen to the rows of the campaign."""
    await stage.sync(*first_sheet().values())
    for row in DELIVERED:
        await deliver_row(stage, "was renamed" if row == "renamed" else row)
    await deliver_row(stage, "clip")
    await stage.rendering("next clip")
    await stage.moved(await stage.submitting("lost clip"), "uncertain", "its answer was lost")
    for state in BEHIND:
        await deliver_row(stage, f"late {state}")
        await delete(stage, f"late {state}")
    for state in STATES:
        await stage.in_state(state, f"in {state}")
    await tell_reviews(stage)
    for row in ("deleted", "deleted and lost", "gone and deleted"):
        await delete(stage, row)
    await stage.sync(*last_sheet().values())
    await make_again(stage)
    await tell_earlier(stage)


async def deliver_row(stage: Stage, row: str) -> None:
    """Bring a row to its delivery, with captions and checks, at a cost of its own."""
    found = await stage.rendering(row, 10)
    charged = Decimal(len(row)) + Decimal("0.5")
    await stage.write(settle, found, found.take, new="ready", charged=charged, at=NOW + 60)
    found = await stage.row(row)
    checks = {"length": "ok", "silence": "no sound" if row == "kept" else "ok"}
    assert found.take is not None
    files = [file_of(row), file_of(row, "srt")]
    findings = VideoFindings(checks=checks)
    await stage.write(deliver, found, found.take, files=files, findings=findings, at=NOW + 61)
    if row == "kept":
        await stage.write(add_delivery, found, found.take, file=file_of(row, "vtt"), at=NOW + 62)


async def delete(stage: Stage, row: str) -> None:
    found = await stage.row(row)
    await stage.write(mark_deleted, found.take, at=NOW + 100.5, by="Ann" if row[0] == "d" else None)


async def tell_reviews(stage: Stage) -> None:
    for row, verdict, reason, note in (
        ("kept", "keep", None, "two\nlines"),
        ("rejected", "reject", "voice", "too deep"),
        ("moved", "keep", None, None),
        ("late rendering", "keep", None, None),
    ):
        take = (await stage.row(row)).take
        assert take is not None
        said = {"reason": reason, "note": note, "by": "Ann", "at": NOW + 90}
        await stage.write(review, take.id, verdict, **said)


async def make_again(stage: Stage) -> None:
    """Approve what is to be made next, and make one edit."""
    for row in ("rejected", "again", "next clip"):
        if row == "again":
            await stage.failed(row)
        if row == "next clip":
            await stage.moved(await stage.row(row), "failed", "no video")
        wanted = [Quoted(await stage.row(row), Decimal(11))]
        await stage.write(approve_retakes, wanted, by="Ann", because="again", at=NOW + 120)
    for row in ("edited", "voiced", "revoiced"):
        await stage.approve(row, 9, at=NOW + 120)
    edited = await stage.row("voiced")
    await stage.write(_open_edit, edited)
    edited = await stage.row("voiced")
    assert edited.take is not None
    await stage.write(accept, edited, edited.take, video_id="vid_voiced", at=NOW + 130)
    edited = await stage.row("voiced")
    await stage.write(settle, edited, edited.take, new="ready", charged=Decimal(3), at=NOW + 140)
    edited = await stage.row("voiced")
    files = [file_of("voiced", take=2), file_of("voiced", "srt", take=2)]
    await stage.write(deliver, edited, edited.take, files=files, at=NOW + 150)


def _open_edit(connection: Connection, row: Any) -> None:
    key = row.key()
    assert open_take(connection, row, key=key, body=row.body(None), at=NOW + 125) is not None


async def tell_earlier(stage: Stage) -> None:
    """Know of takes of another ledger: with a line and without, refused, and of no row here."""
    planned = await stage.row("in planned")
    line = {"row": "told", "charged": 7.5, "state": "delivered", "take": 3, "later": [1]}
    found = [
        EarlierTake(row="told", digest="", sent_at=NOW - 5, line=json.dumps(line)),
        EarlierTake(row="gone long ago", digest="of it", nth=2, video_id="vid_gone"),
        EarlierTake(row="held before", digest="of an earlier brief", sent_at=NOW - 900),
    ]
    await stage.write(keep_earlier, stage.campaign.id, found, at=NOW + 160)
    refused = EarlierTake(
        row=planned.row, digest=planned.digest, nth=1, sent_at=NOW - 9, why="it was sent"
    )
    await stage.write(refuse_to_pay, stage.campaign.id, [refused], at=NOW + 161)


async def fall_behind(stage: Stage) -> None:
    """Be a backup that was made while rows were under way whose videos are deleted by now."""
    await stage.sync(*first_sheet().values())
    for state in BEHIND:
        row = f"late {state}"
        if state == "stalled":
            await stage.moved(await stage.rendering(row, 10), "stalled", "no video")
        else:
            await stage.in_state(state, row)
    await stage.delivered("kept")
    await stage.approve("in approved")


_SAID = (
    select(
        schema.takes.c.id.label("take_id"), schema.takes.c.review.label("verdict"),
        schema.takes.c.review_reason.label("reason"), schema.takes.c.review_note.label("note"),
        schema.takes.c.reviewed_by.label("by"), schema.takes.c.reviewed_at.label("at"),
    )
    .where(schema.REVIEWED)
    .subquery()
)  # fmt: skip


def snapshot(connection: Connection) -> dict[str, Any]:
    """What a ledger knows, but for the numbers of lines."""
    return {
        "account": _lines(connection, schema.campaigns, ("name", "reserved", "charged")),
        "rows": _lines(
            connection, schema.rows,
            ("row", "state", "reason", "operation", "digest", "nth", "quoted", "first_id"),
        ),
        "takes": _lines(
            connection, schema.takes,
            ("row_id", "number", "nth", "key", "digest", "quoted", "reserved", "charged",
             "video_id", "intended_at", "accepted_at", "refused_at", "ready_at", "delivered_at",
             "abandoned_at", "checks", "found_at", "deleted_at", "deleted_by", "body"),
        ),
        "deliveries": _deliveries(connection),
        "reviews": _lines(
            connection, _SAID, ("take_id", "verdict", "reason", "note", "by", "at")
        ),
        "earlier": _lines(
            connection, schema.earlier_takes,
            ("row", "digest", "nth", "sent_at", "video_id", "line", "noted_at", "refused_at",
             "why"),
        ),
        "events": _lines(connection, schema.events, ("kind", "old", "new", "words")),
    }  # fmt: skip


def _deliveries(connection: Connection) -> list[dict[str, Any]]:
    keys = dict(connection.execute(select(schema.takes.c.id, schema.takes.c.key)).tuples().all())
    found = [
        {"take_id": keys[take], "kind": file.kind, "uri": file.uri, "sha256": file.sha256,
         "bytes": file.bytes}
        for take, video in videos_of(connection).items()
        for file in video.files.values()
    ]  # fmt: skip
    return sorted(found, key=lambda one: json.dumps(one, sort_keys=True))


def _lines(connection: Connection, table: Any, names: Sequence[str]) -> list[Mapping[str, Any]]:
    named = dict(connection.execute(select(schema.rows.c.id, schema.rows.c.row)).tuples().all())
    taken = dict(connection.execute(select(schema.takes.c.id, schema.takes.c.key)).tuples().all())
    found = connection.execute(select(*(table.c[name] for name in names))).mappings()
    lines = [
        {
            name: named.get(value) if name == "row_id"
            else taken.get(value) if name == "take_id"
            else value.decode() if isinstance(value, bytes)
            else value
            for name, value in one.items()
        }
        for one in found
    ]  # fmt: skip
    return sorted(lines, key=lambda one: json.dumps(one, sort_keys=True))
