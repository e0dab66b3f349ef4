"""How many videos are kept, and what a kept one costs: over all takes, replaced ones too."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.ledger.gauges import KeepRate, keep_rates
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.reviews import review
from tests.board.with_videos import another_take, with_videos
from tests.campaigns import Stage


async def decided(ledger: Ledger) -> Stage:
    """Five videos: 1 and 2 kept, 3 rejected, made again and kept, 4 rejected, 5 undecided."""
    stage = await with_videos(ledger, 5)

    async def say(row: str, verdict: str) -> None:
        take = (await stage.row(row)).take
        await stage.write(review, take.id, verdict, by="Rita", at=2.0)

    for row, verdict in (("1", "keep"), ("2", "keep"), ("3", "reject"), ("4", "reject")):
        await say(f"row-{row}", verdict)
    await another_take(stage, "row-3")
    await say("row-3", "keep")
    return stage


@pytest.mark.parametrize(
    ("by", "found"),
    [
        (None, [("", 5, 3, 2, Decimal("0.6"))]),
        ("ratio", [("9:16", 4, 3, 2, Decimal("0.6")), ("16:9", 1, 0, 0, None)]),
        ("language", [("en", 4, 2, 1, Decimal("2") / 3), ("de", 1, 1, 1, Decimal("0.5"))]),
        ("tool", [("", 5, 3, 2, Decimal("0.6"))]),
    ],
)
async def test_videos_are_counted_over_all_takes(ledger: Ledger, by, found):
    stage = await decided(ledger)

    rates = await stage.ledger.read(lambda one: keep_rates(one, stage.campaign.id, by))

    told = [(one.name, one.videos, one.kept, one.rejected) for one in rates]
    assert sum(one.undecided for one in rates) == 1
    assert told == [line[:4] for line in found]
    for one, line in zip(rates, found, strict=True):
        assert one.rate == (None if line[4] is None else pytest.approx(float(line[4])))


def test_a_kept_video_costs_all_that_was_paid_once_all_are_decided() -> None:
    rate = KeepRate(name="", videos=6, kept=3, rejected=2, charged=Decimal(40))

    assert rate.each == Decimal("13.33")
    assert replace(rate, undecided=1).each is None
