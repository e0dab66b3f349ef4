"""`callsheet reconcile`: what the service says, beside what the ledger says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.programs import Desk, Sandbox, simple_sheet, wait_until

pytestmark = pytest.mark.merge

IMAGE = "https://img.example/{}.png"


def differences(desk: Desk, *words: str) -> list[dict[str, Any]]:
    ended = desk.call("reconcile", *words, "--json")
    assert ended.status in (0, 3), ended.err
    return list(ended.json["differences"])


def test_nothing_differs_after_a_run_and_others_are_only_counted(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(2))).status == 0
    studio.post("videos", {"tool": "explainer", "fields": {"subject": name}, "duration_seconds": 5})
    typed = desk.call(
        "video", "create", "--tool", "explainer", "--field", f"subject=by hand {name}",
        "--duration", "5", "--yes", "--json",
    )  # fmt: skip
    assert typed.status == 0, typed.err

    ended = desk.call("reconcile", "--json")

    assert ended.status == 0, ended.err
    assert ended.json["differences"] == []
    assert ended.json["compared"] == 2
    assert ended.json["others"] >= 2


def test_a_video_that_is_gone_a_charge_and_a_title_that_changed_are_told(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(3))).status == 0
    rows = desk.rows(name)
    assert desk.call("video", "delete", rows["r001"]["video_id"], "--yes").status == 0
    # Somebody else of the organisation has the voice made anew, which costs more.
    studio.post(f"videos/{rows['r002']['video_id']}/voice", {"voice_id": "alto"})
    studio.patch(f"videos/{rows['r003']['video_id']}", {"title": "By hand"})

    def seen() -> Counter[str]:
        return Counter(one["kind"] for one in differences(desk, name))

    wait_until(lambda: seen() == {"gone": 1, "charge": 1, "changed": 1})
    found = {one["kind"]: one for one in differences(desk, name)}
    assert found["gone"]["row"] == "r001"
    assert found["changed"]["row"] == "r003"
    assert 'its title at the service is "By hand" now' in found["changed"]["words"]
    told = found["charge"]["charged"]
    assert told > rows["r002"]["charged"]
    before = desk.call("status", name, "--json").json["credits"]["charged"]

    done = desk.call("reconcile", name, "--apply", "--json")

    assert done.status == 3, "a video that is gone needs a person"
    assert {one["kind"]: one["applied"] for one in done.json["differences"]} == {
        "gone": False, "charge": True, "changed": False,
    }  # fmt: skip
    after = desk.call("status", name, "--json").json["credits"]["charged"]
    assert after - before == told - rows["r002"]["charged"]
    assert seen() == {"gone": 1, "changed": 1}


def test_a_video_that_came_after_its_row_was_stalled_is_taken_up_again(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="render", nth=1, do="slow", seconds=3)
    desk.environ["CALLSHEET_DEADLINE"] = "1s"
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))
    assert ended.json["rows"] == {"total": 1, "stalled": 1}
    bought = len(studio.bought())
    (found,) = differences(desk, name)
    assert found["kind"] in ("rendering", "undelivered")
    assert found["can_apply"]
    assert desk.rows(name)["r001"]["state"] == "stalled", "a report changes nothing"

    done = desk.call("reconcile", name, "--apply", "--json")

    assert done.status == 0, done.err
    assert desk.rows(name)["r001"]["state"] == "rendering"
    desk.environ["CALLSHEET_DEADLINE"] = "1h"
    assert desk.run(f"{name}.csv").json["rows"] == {"total": 1, "delivered": 1}
    assert len(studio.bought()) == bought


def test_a_stalled_take_that_was_left_behind_is_settled_once_it_has_ended(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    desk.environ["CALLSHEET_DEADLINE"] = "1s"
    studio.plan_fault(on="render", nth=1, do="slow", seconds=3)
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 3
    assert desk.call("retake", name, "r001", "--yes", "--run", "--json").status == 0
    first = desk.call("explain", name, "r001", "--json").json["takes"][0]
    assert (first["reserved"], first["charged"]) == (15, None)
    wait_until(lambda: studio.video(first["video_id"])["status"] != "generating")

    done = desk.call("reconcile", name, "--apply", "--json")

    assert done.status == 0, done.err
    takes = desk.call("explain", name, "r001", "--json").json["takes"]
    assert [(take["reserved"], take["charged"]) for take in takes] == [(0, 15), (0, 15)]
    assert not differences(desk, name)
    assert desk.call("ledger", "check").status == 0


def test_videos_of_a_lost_ledger_are_named_by_their_keys(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    assert desk.run(sheet).status == 0
    ids = {row: line["video_id"] for row, line in desk.rows(name).items()}
    desk.lose_ledger()
    text = simple_sheet(1, title=f"Other {name}").replace("Kettle", "Pot")
    other = desk.sheet(f"{name}-2.csv", text)
    assert desk.run(other).status == 0

    blind = {one["video_id"]: one for one in differences(desk)}
    assert {blind[video]["row"] for video in ids.values()} == {None}
    found = {one["video_id"]: one for one in differences(desk, "--sheet", sheet)}
    for row, video in ids.items():
        one = found[video]
        assert (one["kind"], one["campaign"], one["row"]) == ("unrecorded", name, row)
    assert not differences(desk, f"{name}-2")


def test_a_call_whose_answer_was_lost_is_settled_once_its_video_is_certain(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    text = "id,operation,image,duration_seconds,max_credits\n"
    sheet = desk.sheet(f"{name}.csv", text + f"a,image-to-video,{IMAGE.format(name)},5,50\n")
    studio.plan_fault(on="image-to-video", nth=1, do="drop-after")
    before = studio.calls().get("image-to-video", 0)
    process = desk.start("run", sheet, "--yes", "--without-prefect")
    wait_until(lambda: studio.calls().get("image-to-video", 0) > before)
    theirs = studio.post("videos/image-to-video", {"image": IMAGE.format(name)})["id"]
    process.communicate(timeout=60)
    assert process.returncode == 3
    row = desk.rows(name)["a"]
    assert (row["state"], row["video_id"], theirs in row["reason"]) == ("uncertain", None, True)
    assert desk.call("resolve", name, "a", "--adopt", "vid_nobodys").status == 2
    assert differences(desk, name) == [], "two that look alike are not told apart"
    assert desk.call("video", "delete", theirs, "--yes").status == 0
    bought = len(studio.bought())

    (found,) = differences(desk, name)
    assert (found["kind"], found["row"]) == ("match", "a")
    assert desk.call("reconcile", name, "--apply").status == 0
    assert desk.run(sheet).json["rows"] == {"total": 1, "delivered": 1}
    assert desk.rows(name)["a"]["video_id"] == found["video_id"] != theirs
    assert len(studio.bought()) == bought


def test_a_service_that_cannot_be_asked_is_no_difference(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0
    video = desk.rows(name)["r001"]["video_id"]
    assert desk.call("video", "delete", video, "--yes").status == 0
    told = desk.call("reconcile", name)
    assert told.status == 3
    assert "no longer has this video" in told.out
    assert "1 gone" in told.out
    studio.plan_fault(on="list", do="status", status=401)

    ended = desk.call("reconcile", name, "--json")

    assert ended.status == 5
    assert "nothing is known" in ended.json["error"]
    assert desk.call("reconcile", "nobody").status == 2
