"""A night belongs to one sweep at a time, and what it approves to no more than its limits."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.earlier_takes import PastTake, restore_take
from callsheet.tasks.ledger.inbox_sheets import (
    begin_campaign,
    end_sheet,
    see_sheets,
    sheets_in,
    sheets_under_way,
)
from callsheet.tasks.ledger.leases import Lease, night_lease
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.nightly_runs import (
    LEFT,
    KeptNight,
    approve_in_night,
    claim_night,
    end_night,
    find_night,
    nights_of,
    renew_night,
)
from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.values.amounts import parse_credit_price
from tests.campaigns import Stage, brief
from tests.leasing import let_lapse

NOW = 1_000.0
LAPSE = 60.0


async def claim(
    ledger: Ledger, place: str, *, date: str = "2026-11-20", inbox: str = "spring", at: float = NOW,
    dead: str | None = None,
) -> KeptNight | Lease:  # fmt: skip
    terms: dict[str, Any] = {"zone": "UTC", "seconds": LAPSE, "is_dead": lambda one: one == dead}
    return await ledger.write(claim_night, inbox=inbox, date=date, place=place, at=at, **terms)


async def claimed(ledger: Ledger, place: str, **own: Any) -> KeptNight:
    """Claim a night that no other sweep has."""
    night = await claim(ledger, place, **own)
    assert isinstance(night, KeptNight)
    return night


async def lapse(ledger: Ledger, inbox: str = "spring") -> None:
    await ledger.write(let_lapse, name=night_lease(inbox))


async def approve(ledger: Ledger, night: KeptNight, credits: int, **limits: Any) -> None:
    terms = {"place": "one", "sheet": "a.csv", "per_night": Decimal(100), "per_sheet": None}
    terms |= {"since": NOW}
    change = partial(approve_in_night, night_id=night.id, **{**terms, **limits})
    await ledger.write(change, credits=Decimal(credits))


async def see(ledger: Ledger, **seen: str) -> None:
    names = {f"{name}.csv": version for name, version in seen.items()}
    await ledger.write(see_sheets, inbox="spring", seen=names, at=NOW)


@pytest.mark.safeguard("tasks/ledger/nightly_runs.py", "if lease.owner != place:", "if False:")
async def test_a_night_is_claimed_by_one(ledger: Ledger) -> None:
    one, other = await claimed(ledger, "one"), await claim(ledger, "another")
    assert isinstance(other, Lease)
    assert other.owner == "one"
    assert await claimed(ledger, "one", at=NOW + 1) == one
    # Whatever the date, and whatever the clock of the other says.
    assert isinstance(await claim(ledger, "another", date="2026-11-21"), Lease)
    assert await ledger.read(find_night, inbox="spring", date="2026-11-21") is None
    assert isinstance(await claim(ledger, "another", at=NOW + 3 * 3600), Lease)
    assert (await claimed(ledger, "another", inbox="autumn")).inbox == "autumn"


@pytest.mark.safeguard(
    "tasks/ledger/nightly_runs.py",
    "return holds(connection, _lease_of(night_id), owner=place)",
    "return True",
)
async def test_a_night_that_was_left_ends_when_a_later_one_begins(ledger: Ledger) -> None:
    left = await claimed(ledger, "one")
    # It lapsed, and was taken up by another sweep, which may be known to be dead.
    await lapse(ledger)
    assert (await claimed(ledger, "two")).id == left.id
    renew = partial(renew_night, inbox="spring", seconds=LAPSE)
    assert not await ledger.write(renew, place="one")
    assert await ledger.write(renew, place="two")
    await claimed(ledger, "another", date="2026-11-21", at=NOW + LAPSE, dead="two")
    found = await ledger.read(find_night, inbox="spring", date="2026-11-20")
    assert (found.ended_at, found.skipped) == (NOW + LAPSE, LEFT)
    with pytest.raises(SpendRefused, match="another nightly run has this night"):
        await approve(ledger, left, 1)


@pytest.mark.safeguard(
    "tasks/ledger/nightly_runs.py", "_open(night_id).where(within)", "_open(night_id)"
)
async def test_what_is_approved_counts_over_every_sweep_of_the_night(ledger: Ledger) -> None:
    await see(ledger, a="1")
    night = await claimed(ledger, "one")
    await approve(ledger, night, 60)
    assert await ledger.write(end_night, night_id=night.id, place="one", exit_status=0, at=NOW + 1)
    with pytest.raises(SpendRefused, match="another nightly run"):
        await approve(ledger, night, 1)

    night = await claimed(ledger, "one", at=NOW + 2)
    with pytest.raises(SpendRefused, match="40 of the 100 credits that may be spent in the night"):
        await approve(ledger, night, 41)
    in_money = r"40 \(4.00 USD\) of the 100 credits \(10.00 USD\) that may be spent in the night"
    with pytest.raises(SpendRefused, match=in_money):
        await approve(ledger, night, 41, credit_price=parse_credit_price("0.1 USD"))
    await approve(ledger, night, 40)
    (found,) = await ledger.read(nights_of, inbox="spring", limit=9)
    assert found.approved == 100


@pytest.mark.safeguard(
    "tasks/ledger/nightly_runs.py",
    "true() if per_sheet is None else sofar + spent_on + amount <= to_micro(per_sheet)",
    "true()",
)
async def test_a_sheet_has_a_limit_of_its_own_in_each_night(ledger: Ledger) -> None:
    await see(ledger, a="1", b="1")
    night, limit = await claimed(ledger, "one"), {"per_sheet": Decimal(30)}
    await approve(ledger, night, 20, **limit)
    with pytest.raises(SpendRefused, match="30 credits that may be spent on one sheet"):
        await approve(ledger, night, 11, **limit)
    await approve(ledger, night, 30, sheet="b.csv", **limit)
    await approve(ledger, night, 10, **limit)
    with pytest.raises(SpendRefused, match="one sheet"):
        await approve(ledger, night, 1, **limit)
    # What was refused is not counted for the night either.
    (found,) = await ledger.read(nights_of, inbox=None, limit=9)
    assert found.approved == 60

    await ledger.write(end_night, night_id=night.id, place="one", exit_status=0, at=NOW)
    await ledger.write(see_sheets, inbox="spring", seen={"a.csv": "2", "b.csv": "1"}, at=NOW + 5)
    known = await ledger.read(sheets_in, inbox="spring")
    assert [known[name].seen_at for name in ("a.csv", "b.csv")] == [NOW + 5, NOW]
    await approve(ledger, await claimed(ledger, "one", date="2026-11-21"), 30, **limit)


@pytest.mark.safeguard(
    "tasks/ledger/nightly_runs.py", "_check_whole(connection, night.date, since)", ""
)
@pytest.mark.parametrize(("at", "refused"), [(NOW - 1, False), (NOW, True), (NOW + 9, True)])
async def test_after_a_restore_the_night_it_was_in_approves_nothing_more(ledger, at, refused):
    await see(ledger, a="1")
    night = await claimed(ledger, "one")
    await ledger.write(note_act, act="restore", by="Ann", at=at, words="b.db")
    if refused:
        with pytest.raises(SpendRefused, match="restored from a backup at 00:16 UTC, after the"):
            await approve(ledger, night, 1)
    else:
        await approve(ledger, night, 1)
    await approve(ledger, night, 1, since=NOW + 10)


@pytest.mark.safeguard(
    "tasks/ledger/nightly_runs.py",
    "nights.c.approved + amount + sum(elsewhere.values()) <= to_micro(per_night)",
    "nights.c.approved + amount <= to_micro(per_night)",
)
@pytest.mark.parametrize(("sent_at", "counts"), [(NOW - 1, False), (NOW, True)])
async def test_what_a_lost_ledger_paid_for_in_the_night_counts(ledger: Ledger, sent_at, counts):
    stage = await Stage.set(ledger, brief("a"), brief("b"))
    await see(ledger, a="1", b="1")
    night = await claimed(ledger, "one")
    await begun(ledger, "a", stage.campaign.name)
    past = PastTake(
        number=1, nth=1, key="cs1_past", body=b"{}", quoted=Decimal(40), charged=None,
        video_id="vid_past", sent_at=sent_at,
    )  # fmt: skip
    assert await stage.write(restore_take, await stage.row("a"), past, at=NOW + 5)
    # What this ledger has begun itself is in what the night has approved.
    await stage.rendering("b", 30)
    limits: dict[str, Any] = {"per_night": Decimal(100), "per_sheet": Decimal(50)}
    if counts:
        with pytest.raises(SpendRefused, match="60 of the 100 credits"):
            await approve(ledger, night, 61, sheet="b.csv", **limits)
        with pytest.raises(SpendRefused, match="one sheet"):
            await approve(ledger, night, 11, **limits)
        await approve(ledger, night, 10, **limits)
    else:
        await approve(ledger, night, 50, **limits)


async def begun(ledger: Ledger, name: str, campaign: str, *, charged: int = 0, event: int = 0):
    """Begin a campaign of a sheet, as the ledger knows that sheet."""
    known = (await ledger.read(sheets_in, inbox="spring"))[f"{name}.csv"]
    begin = partial(begin_campaign, inbox="spring", sheet=replace(known, campaign=campaign))
    return await ledger.write(begin, charged=Decimal(charged), event=event)


@pytest.mark.safeguard(
    "tasks/ledger/inbox_sheets.py",
    "to_micro(charged) if left is None else left",
    "to_micro(charged)",
)
async def test_what_a_sweep_noted_that_was_killed_at_a_sheet_stays(ledger: Ledger) -> None:
    """All that was charged since then is told by the sweep after it, and not a part.

    Also where the file was renamed since, and each campaign by itself.
    """
    await see(ledger, a="1", b="1")
    for name, campaign, charged, noted in (
        ("a", "one", 10, 10),
        ("a", "one", 25, 10),
        ("b", "one", 40, 10),
        ("a", "other", 7, 7),
    ):
        found = await begun(ledger, name, campaign, charged=charged, event=charged)
        assert (found.charged_before, found.event_before) == (noted, noted)
    await ledger.write(end_sheet, inbox="spring", sheet=found)
    for campaign, noted in (("other", 50), ("one", 10)):
        assert (await begun(ledger, "a", campaign, charged=50)).charged_before == noted


@pytest.mark.safeguard(
    "tasks/ledger/inbox_sheets.py",
    "or_(_UNDER_WAY, inbox_campaigns.c.charged_before.is_not(None))",
    "_UNDER_WAY",
)
@pytest.mark.safeguard(
    "tasks/ledger/inbox_sheets.py",
    "connection.execute(_this(inbox, sheet.name).values(campaign=sheet.campaign))",
    "pass",
)
async def test_a_campaign_of_a_sheet_is_known_until_nothing_of_it_is_under_way(ledger: Ledger):
    """It is known before anything is spent, and whatever campaign the file has by then."""
    await see(ledger, a="1")
    for name in ("one", "other"):
        await ledger.write(ensure_campaign, name=name, sheet="a", sheet_digest="d", at=NOW)
        last = await begun(ledger, "a", name)
    unfinished = partial(sheets_under_way, inbox="spring", sandbox=False)

    found = [(one.campaign, one.former) for one in await ledger.read(unfinished)]
    assert found == [("one", True), ("other", False)]
    (former, present) = await ledger.read(unfinished)
    await ledger.write(end_sheet, inbox="spring", sheet=former)
    assert [one.campaign for one in await ledger.read(unfinished)] == ["other"]
    await ledger.write(end_sheet, inbox="spring", sheet=present)
    assert await ledger.read(unfinished) == []
    assert last.campaign == "other"
