"""Rows that ask for clips: no key is taken for them, so each call is sent once."""

from __future__ import annotations

import pytest

from tests.programs import Desk, Sandbox

pytestmark = pytest.mark.merge

IMAGE = "https://img.example/{}.png"
HEAD = "id,operation,image,clip,script,photos,duration_seconds,max_credits\n"


def images(desk: Desk, name: str, count: int = 2) -> str:
    """Write a sheet that animates a picture for each row, `r0` on."""
    rows = (f"r{n},image-to-video,{IMAGE.format(f'{name}{n}')},,,,5,50\n" for n in range(count))
    return desk.sheet(f"{name}.csv", HEAD + "".join(rows))


def test_every_kind_of_clip_is_made_and_delivered_without_a_key(desk: Desk, name: str) -> None:
    sheet = HEAD + (
        f"a,image-to-video,{IMAGE.format(name)},,,,5,50\n"
        "b,talking-avatar,,https://clips.example/b.mp4,Good morning.,,,50\n"
        "c,character-swap,,https://clips.example/c.mp4,,https://img.example/c.png,3,50\n"
    )
    ended = desk.run(desk.sheet(f"{name}.csv", sheet), "--budget", "150")
    assert (ended.status, ended.json["rows"]) == (0, {"total": 3, "delivered": 3}), ended.err
    for row in desk.rows(name).values():
        assert (row["key"], row["quoted"], 0 < row["charged"] <= 50) == (None, 50, True)
    assert desk.run(f"{name}.csv").json["rows"] == {"total": 3, "delivered": 3}


@pytest.mark.always
def test_a_clip_without_a_price_of_its_own_is_not_bought_on_a_budget(desk: Desk, name: str) -> None:
    sheet = images(desk, name)
    desk.sheet(sheet, (desk.folder / sheet).read_text().replace(",50\n", ",\n"))
    ended = desk.run(sheet, "--budget", "100")
    assert (ended.status, "max_credits" in ended.err) == (4, True)


@pytest.mark.always
@pytest.mark.parametrize("fault", ["drop-after", "error-after", "not-json", "shapeless"])
def test_what_a_lost_answer_made_is_found_and_not_paid_again(
    desk: Desk, studio: Sandbox, name: str, fault: str
) -> None:
    studio.plan_fault(on="image-to-video", nth=1, do=fault)
    before = len(studio.bought())
    ended = desk.run(images(desk, name))
    assert (ended.status, ended.json["rows"]) == (0, {"total": 2, "delivered": 2}), ended.err
    assert len(studio.bought()) - before == 2
    assert len({row["video_id"] for row in desk.rows(name).values()}) == 2


def test_a_call_that_may_have_been_lost_on_the_way_asks_a_person(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="image-to-video", nth=1, do="drop-before")
    desk.environ["CALLSHEET_EVIDENCE_WAIT"] = "1s"
    before = len(studio.bought())
    sheet = images(desk, name)
    for _ in range(2):
        ended = desk.run(sheet)
        assert (ended.status, len(studio.bought()) - before) == (3, 1)
        assert ended.json["rows"] == {"total": 2, "delivered": 1, "uncertain": 1}
    (open_one,) = desk.call("resolve", "--json").json["unsettled"]
    campaign, row = open_one["whose"].split()
    assert campaign == name
    told = desk.call("resolve", name, row, "--resend", "--charged", "0", "--json")
    assert told.status == 0, told.err
    assert desk.run(sheet).json["rows"] == {"total": 2, "delivered": 2}
    assert (len(studio.bought()) - before, desk.rows(name)[row]["take"]) == (2, 2)


def test_a_refused_or_limited_call_was_not_carried_out_and_may_go_again(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="image-to-video", nth=1, do="limited", retry_after=1)
    studio.plan_fault(on="image-to-video", nth=3, do="status", status=400, message="no kettle")
    before = len(studio.bought())
    ended = desk.run(images(desk, name))
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
    struck, sheet = len(studio.strikes()), images(desk, name, 5)
    assert desk.run(sheet).json["rows"] == {"total": 5, "uncertain": 3, "held": 2}
    assert len(studio.strikes()) - struck == 3
    for row, line in desk.rows(name).items():
        if line["state"] == "held":
            assert "callsheet resolve" in line["reason"]
        else:
            assert desk.call("resolve", name, row, "--abandon", "--charged", "0").status == 0
    studio.clear_faults()
    assert desk.run(sheet).json["rows"] == {"total": 5, "delivered": 2, "cancelled": 3}
