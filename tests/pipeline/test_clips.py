"""Rows that ask for clips: no key is taken for them, so each call is sent once."""

from __future__ import annotations

import pytest

from tests.programs import Desk, Sandbox

pytestmark = pytest.mark.merge

IMAGE = "https://img.example/{}.png"
HEAD = "id,operation,image,clip,script,photos,duration_seconds,max_credits\n"


def images(*rows: str) -> str:
    """A sheet that animates a picture for each row; `name=image` gives it another's picture."""
    named = [(row.partition("=")[0], row.partition("=")[2] or row) for row in rows]
    return HEAD + "".join(
        f"{row},image-to-video,{IMAGE.format(image)},,,,5,50\n" for row, image in named
    )


def test_every_kind_of_clip_is_made_and_delivered_without_a_key(desk: Desk, name: str) -> None:
    sheet = HEAD + (
        f"a,image-to-video,{IMAGE.format(name)},,,,5,50\n"
        "b,talking-avatar,,https://clips.example/b.mp4,Good morning.,,,50\n"
        "c,character-swap,,https://clips.example/c.mp4,,https://img.example/c.png,3,50\n"
    )
    ended = desk.run(desk.sheet(f"{name}.csv", sheet), "--budget", "150")
    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 3, "delivered": 3}
    rows = desk.rows(name).values()
    assert {row["key"] for row in rows} == {None}
    assert {row["quoted"] for row in rows} == {50}
    assert all(0 < row["charged"] <= 50 for row in rows)
    assert desk.run(f"{name}.csv").json["rows"] == {"total": 3, "delivered": 3}


@pytest.mark.always
def test_a_clip_without_a_price_of_its_own_is_not_bought_on_a_budget(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", images(name).replace(",50\n", ",\n"))
    ended = desk.run(sheet, "--budget", "100")
    assert ended.status == 4
    assert "max_credits" in ended.err


@pytest.mark.always
@pytest.mark.parametrize("fault", ["drop-after", "error-after", "not-json", "shapeless"])
def test_what_a_lost_answer_made_is_found_and_not_paid_again(
    desk: Desk, studio: Sandbox, name: str, fault: str
) -> None:
    studio.plan_fault(on="image-to-video", nth=1, do=fault)
    before = len(studio.bought())
    ended = desk.run(desk.sheet(f"{name}.csv", images(name, f"{name}2")))
    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 2, "delivered": 2}
    assert len(studio.bought()) - before == 2
    ids = [row["video_id"] for row in desk.rows(name).values()]
    assert len(set(ids)) == 2


def test_a_call_that_may_have_been_lost_on_the_way_asks_a_person(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="image-to-video", nth=1, do="drop-before")
    desk.environ["CALLSHEET_EVIDENCE_WAIT"] = "1s"
    before = len(studio.bought())
    ended = desk.run(desk.sheet(f"{name}.csv", images(name, f"{name}2")))
    assert ended.status == 3
    assert ended.json["rows"] == {"total": 2, "delivered": 1, "uncertain": 1}
    assert len(studio.bought()) - before == 1
    again = desk.run(f"{name}.csv")
    assert again.json["rows"] == {"total": 2, "delivered": 1, "uncertain": 1}
    assert len(studio.bought()) - before == 1
    (open_one,) = desk.call("resolve", "--json").json["unsettled"]
    assert open_one["whose"] == f"{name} {name}"

    told = desk.call("resolve", name, name, "--resend", "--charged", "0", "--json")
    assert told.status == 0, told.err
    last = desk.run(f"{name}.csv")
    assert last.json["rows"] == {"total": 2, "delivered": 2}
    assert len(studio.bought()) - before == 2
    assert desk.rows(name)[name]["take"] == 2


def test_a_refused_or_limited_call_was_not_carried_out_and_may_go_again(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="image-to-video", nth=1, do="limited", retry_after=1)
    studio.plan_fault(on="image-to-video", nth=3, do="status", status=400, message="no kettle")
    before = len(studio.bought())
    ended = desk.run(desk.sheet(f"{name}.csv", images(name, f"{name}2")))
    assert ended.status == 3, ended.err
    assert ended.json["rows"] == {"total": 2, "delivered": 1, "rejected": 1}
    assert len(studio.bought()) - before == 1


@pytest.mark.slow
def test_three_calls_of_unknown_outcome_stop_all_further_ones(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="image-to-video", do="drop-before")
    # There is nothing to be found, however long it is searched for.
    desk.environ["CALLSHEET_EVIDENCE_WAIT"] = "1s"
    struck = len(studio.strikes())
    rows = [f"{name}{n}" for n in range(5)]
    ended = desk.run(desk.sheet(f"{name}.csv", images(*rows)))
    assert ended.json["rows"] == {"total": 5, "uncertain": 3, "held": 2}
    assert len(studio.strikes()) - struck == 3
    found = desk.rows(name)
    held = [row for row in rows if found[row]["state"] == "held"]
    assert all("callsheet resolve" in found[row]["reason"] for row in held)
    for row in sorted(set(rows) - set(held)):
        assert desk.call("resolve", name, row, "--abandon", "--charged", "0").status == 0
    studio.clear_faults()
    ended = desk.run(f"{name}.csv")
    assert ended.json["rows"] == {"total": 5, "delivered": 2, "cancelled": 3}
