"""Figures: over all takes of a row, and the same wherever they are added up."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.ledger.campaigns import tally_of
from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.deliveries import Delivered, deliver
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.takes import accept, settle
from tests.campaigns import NOW, Stage, brief


async def shown(stage: Stage, name: str = "a") -> dict[str, Any]:
    document = await stage.ledger.read(lambda c: row_documents(c, stage.campaign.id))
    return document(await stage.row(name))


async def taken_again(stage: Stage, price: int = 15) -> None:
    row = await stage.row()
    again = [Quoted(row, Decimal(price))]
    await stage.write(approve_retakes, again, by="Alice", because=None, at=NOW)
    await stage.open(await stage.row())


async def test_a_retake_adds_to_what_a_row_has_cost_and_leaves_its_video(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), brief("b"))
    await stage.delivered()
    assert (await shown(stage))["paid_before"] == 0
    await taken_again(stage)
    found = await shown(stage)
    amounts = {"quoted": 15, "reserved": 15, "charged": 12, "paid_before": 12, "variance": 0}
    assert found == {**found, **amounts, "take": 2, "video_take": 1}
    assert [file["uri"] for file in found["deliveries"]] == ["file:///video.mp4"]

    row = await stage.row()
    await stage.write(accept, row, row.take, video_id="vid_2", at=NOW)
    row = await stage.row()
    await stage.write(settle, row, row.take, new="ready", charged=Decimal(20), at=NOW)
    row = await stage.row()
    newer = Delivered(kind="mp4", uri="file:///newer.mp4", sha256="b" * 64, bytes=9)
    await stage.write(deliver, row, row.take, files=[newer], at=NOW)
    found = await shown(stage)
    amounts = {"quoted": 15, "reserved": 0, "charged": 32, "paid_before": 12, "variance": 5}
    assert found == {**found, **amounts, "video_take": 2}
    tally = await stage.ledger.read(lambda c: tally_of(c, stage.campaign))
    assert (tally.charged, tally.paid_before, tally.variance) == (32, 12, 5)


async def test_a_changed_row_beyond_the_budget_keeps_its_video(ledger: Ledger):
    stage = await Stage.set(ledger, brief(), budget=20)
    await stage.delivered()
    await stage.sync(brief(topic="Coffee"))
    assert await stage.open(await stage.approve()) is None
    found = await shown(stage)
    assert (found["state"], found["charged"], found["paid_before"]) == ("held", 12, 12)
    assert (found["video_take"], len(found["deliveries"])) == (1, 1)
