"""Pages of rows: what each filter finds, in each order, and which rows need somebody first."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
from sqlalchemy import Connection, update

from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.deliveries import deliver
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import note
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_history import whole_row
from callsheet.tasks.ledger.row_pages import (
    SORTS,
    Sort,
    count_shown,
    names_shown,
    shown_rows,
    videos_shown,
)
from callsheet.tasks.ledger.row_selection import urgent_rows
from callsheet.tasks.ledger.row_views import ShownRow
from callsheet.tasks.ledger.schema import takes
from callsheet.tasks.ledger.takes import accept, settle
from callsheet.tasks.ledger.values import State
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import NOW, VIDEO, Stage, brief

STATES = ["planned", "failed", "delivered", "delivered", "held", "delivered", "rendering"]
VERDICTS = [None, "keep", "reject", None, "keep"]
FLAGS = [None, 0, 0, 2, None, 1, 0, 3]
TAGS = [(), ("launch",), ("launch", "de"), ('the "big" one',), ("de",)]
LANGUAGES = ["en", "de", "fr"]
TITLES = ["Tea 100%", "Ödön's _kettle_", None, 'The "hum"']


def made(number: int) -> Brief:
    request: dict[str, Any] = {
        "topic": f"Topic {number}",
        "language": LANGUAGES[number % 3],
        "aspect_ratio": "9:16" if number % 2 else "1:1",
    }
    if title := TITLES[number % len(TITLES)]:
        request["title"] = title
    if number % 5 == 0:
        request["tool"] = "product-launch"
    tags = TAGS[number % len(TAGS)]
    return Brief(row=f"row-{number}", request=request, tags=tags, line=number)


async def campaign(ledger: Ledger, rows: int = 35) -> Stage:
    """A campaign of every kind of row, some of them taken again."""
    stage = await Stage.set(ledger, *map(made, range(rows)))
    for number in range(rows):
        name = f"row-{number}"
        row = await stage.in_state(STATES[number % len(STATES)], name)  # type: ignore[arg-type]
        if row.take is None:
            continue
        checks = {"flagged": FLAGS[number % len(FLAGS)], "checks": json.dumps({"black": "ok"})}
        await stage.write(look, row.take.id, NOW + number, **checks)
        verdict = VERDICTS[number % len(VERDICTS)]
        if row.state == "delivered" and verdict:
            await stage.write(review, row.take.id, verdict, by="Ann", at=NOW + 1)
        if number % 6 == 2 and row.state == "delivered":
            named = {"by": "Ann", "because": None, "at": NOW + number % 4}
            await stage.write(approve_retakes, [Quoted(row, None)], **named)
            await stage.open(await stage.row(name))
    return stage


def look(connection: Connection, take: int, at: float, **found: Any) -> None:
    connection.execute(update(takes).where(takes.c.id == take).values(**found))
    # As if each video had come a second after the one before.
    this = (takes.c.id == take, takes.c.delivered_at.is_not(None))
    connection.execute(update(takes).where(*this).values(delivered_at=at))


#: What a row filter of a sheet cannot say; `test_row_filter` has the rest.
FILTERS: dict[str, tuple[RowFilter, Callable[[ShownRow], bool]]] = {
    "all": (RowFilter(), lambda r: True),
    "a state": (RowFilter.of(state="failed"), lambda r: r.state == "failed"),
    "kept": (RowFilter.of(review="keep"), lambda r: r.verdict == "keep"),
    "undecided": (RowFilter.of(review="none"), lambda r: bool(r.video_take) and r.verdict is None),
    "flagged": (RowFilter.of(flagged="yes"), lambda r: bool(r.flagged)),
    "not flagged": (RowFilter.of(flagged="no"), lambda r: bool(r.video_take) and not r.flagged),
    "taken again": (RowFilter.of(takes="2"), lambda r: r.take >= 2),
    "with a video": (RowFilter.of(video="yes"), lambda r: r.video_take is not None),
    "without a video": (RowFilter.of(video="no"), lambda r: r.video_take is None),
    "new videos": (RowFilter.of(since=f"{NOW + 20}"), lambda r: (r.delivered_at or 0) > NOW + 20),
    "videos until": (
        RowFilter.of(until=f"{NOW + 20}"), lambda r: 0 < (r.delivered_at or 0) <= NOW + 20
    ),
    "some rows": (RowFilter.of(row=["row-3", "row-9", "x"]), lambda r: r.row in ("row-3", "row-9")),
    "an id": (RowFilter.of(q="ROW-1"), lambda r: "row-1" in r.row),
    "a title": (RowFilter.of(q="ÖDÖN'S _k"), lambda r: r.title.startswith("Ödön")),
    "signs of a pattern": (RowFilter.of(q="100%"), lambda r: "100%" in r.title),
    "a name of JSON": (RowFilter.of(q="aspect_ratio"), lambda r: False),
    "a reason": (RowFilter.of(q="no", state="held"), lambda r: r.reason == "no"),
    "many": (
        RowFilter.of(state="delivered", review="none", flagged="no", language="de"),
        lambda r: r.state == "delivered" and not r.verdict and not r.flagged and r.language == "de",
    ),
}  # fmt: skip
ORDERS: dict[Sort, Callable[[ShownRow], Any]] = {
    "sheet": lambda r: r.id,
    "since": lambda r: (-r.since, -r.id),
    "worst": lambda r: (-r.flagged, r.id),
}


async def paged(stage: Stage, which: RowFilter, sort: Sort, limit: int) -> list[ShownRow]:
    found: list[ShownRow] = []
    after = None
    for _ in range(100):
        how = {"which": which, "sort": sort, "after": after, "limit": limit}
        page = await stage.ledger.read(shown_rows, campaign_id=stage.campaign.id, **how)
        found += page.rows
        after = page.next
        if after is None:
            return found
    raise AssertionError("there is no end to it")


@pytest.mark.merge
async def test_every_filter_finds_what_a_look_at_each_row_finds_in_every_order(ledger: Ledger):
    stage = await campaign(ledger)
    number = stage.campaign.id
    everything = await paged(stage, RowFilter(), "sheet", 500)
    assert len(everything) == 35
    assert {row.take for row in everything} >= {0, 1, 2}
    for (case, (which, holds)), sort in product(FILTERS.items(), SORTS):
        wanted = sorted(filter(holds, everything), key=ORDERS[sort])
        names = [row.row for row in wanted]
        for limit in (4, 500) if sort == "sheet" else (6,):
            found = await paged(stage, which, sort, limit)
            assert [row.row for row in found] == names, (case, sort, limit)
        if sort == "sheet":
            assert await ledger.read(names_shown, campaign_id=number, which=which) == names
            videos = [row.video_take_id for row in wanted if row.video_take_id]
            assert await ledger.read(videos_shown, campaign_id=number, which=which) == videos
            assert await ledger.read(count_shown, campaign_id=number, which=which) == len(names)
            assert names or case == "a name of JSON", case


async def test_a_row_shows_its_newest_video_and_what_was_said_of_that(ledger: Ledger):
    stage = await Stage.set(ledger, made(1))
    row = await stage.delivered("row-1")
    await stage.write(review, row.take.id, "reject", reason="captions", by="Ann", at=NOW)
    again = {"by": "Ann", "because": None, "at": NOW}
    await stage.write(approve_retakes, [Quoted(row, None)], **again)
    await stage.open(await stage.row("row-1"))

    (before,) = await paged(stage, RowFilter(), "sheet", 9)
    assert (before.take, before.video_take, before.verdict) == (2, 1, "reject")
    assert (list(before.files), before.seconds, before.charged) == (["mp4"], 2.0, 12)
    assert before.review.because == "captions"
    row = await stage.row("row-1")
    await stage.write(accept, row, row.take, video_id="vid_2", at=NOW)
    row = await stage.row("row-1")
    await stage.write(settle, row, row.take, new="ready", charged=None, at=NOW)
    row = await stage.row("row-1")
    await stage.write(deliver, row, row.take, files=[VIDEO], at=NOW + 5)

    whole = await ledger.read(whole_row, campaign_id=stage.campaign.id, row="row-1")
    assert [whole.shown] == await paged(stage, RowFilter(), "sheet", 9)
    assert (whole.shown.take, whole.shown.video_take, whole.shown.verdict) == (2, 2, None)
    newest, first = whole.takes
    assert (newest.take.number, newest.review, first.review.verdict) == (2, None, "reject")
    assert [file.kind for file in newest.video.files.values()] == ["mp4"]
    kinds = [(e.kind, e.new, e.row, e.take) for e in sorted(whole.events, key=lambda e: e.id)]
    assert ("review", "reject", "row-1", 1) in kinds
    assert kinds[-1] == ("state", "delivered", "row-1", 2)
    assert await ledger.read(whole_row, campaign_id=stage.campaign.id, row="nobody") is None


NO_PLACES = ("x", "sheet~", "sheet~0.0~a~1", "since~0.0~1~1", "~~~", "sheet~nan~1~1")


@pytest.mark.parametrize("after", [*NO_PLACES, "sheet~0.0~9999999999999999999999~1"])
async def test_a_place_that_no_page_named_is_refused(ledger: Ledger, after: str):
    stage = await Stage.set(ledger, made(1))
    page = partial(shown_rows, campaign_id=stage.campaign.id, after=after)
    with pytest.raises(BadInput, match="no place"):
        await ledger.read(page)


async def test_a_row_that_changes_between_two_pages_is_not_shown_twice(ledger: Ledger):
    stage = await campaign(ledger, 14)
    number = stage.campaign.id
    first = await ledger.read(shown_rows, campaign_id=number, limit=5)
    await stage.quote("row-0")
    rest = await ledger.read(shown_rows, campaign_id=number, after=first.next, limit=500)
    names = [row.row for row in (*first.rows, *rest.rows)]
    assert names == [f"row-{n}" for n in range(14)]


MIXED: tuple[State, ...] = ("delivered", "rendering", "failed", "delivered", "held", "delivered")


async def stage_of(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger, *(brief(f"r{n}", f"Tea {n}") for n in range(len(MIXED))))
    for n, state in enumerate(MIXED):
        await stage.in_state(state, f"r{n}")
    # The last that is heard of a video.
    await stage.write(note, await stage.row("r0"), "repair", "x", at=NOW)
    return stage


@pytest.mark.parametrize(
    ("limit", "wanted", "found"),
    [
        (30, None, "r2 r4 r1 r0 r3 r5"),
        (5, None, "r2 r4 r1 r0 r5"),
        (0, None, ""),
        (30, {"r5", "r4"}.__contains__, "r4 r5"),
        (1, {"r5", "r1"}.__contains__, "r1"),
    ],
)
async def test_the_rows_that_matter_most(ledger: Ledger, limit, wanted, found):
    stage = await stage_of(ledger)
    rows = await ledger.read(
        lambda c: urgent_rows(c, stage.campaign.id, limit=limit, wanted=wanted)
    )
    assert " ".join(row.row for row in rows) == found
