"""Changed rows whose video is edited instead of made again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import urllib.error
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Desk, Sandbox, kill_at_call
from tests.torture.hook import Hook

#: Per kind of edit: what changes, the operations it calls, and what it costs at the sandbox.
EDITS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "title": ({"title": "Summer"}, {"patch": 1, "export": 1}),
    "captions": ({"caption_style": "thin"}, {"patch": 1, "export": 1}),
    "voice": ({"voice_id": "ben"}, {"voice": 1}),
    "scene": ({"script": {"scenes": ["One two three.", "Seven eight."]}}, {"scene": 1}),
}


@pytest.fixture
def desk(tmp_path: Path, studio: Sandbox) -> Iterator[Desk]:
    # 2 s instead of 10 min: how long an edit is searched for after a lost answer.
    yield Desk(tmp_path, {**studio.environ, "CALLSHEET_EVIDENCE_WAIT": "2s"})
    studio.clear_faults()


def sheet_of(desk: Desk, name: str, **changes: Any) -> str:
    """Write a sheet of one row, with changes; `head` is what the sheet says at its top."""
    head = changes.pop("head", {})
    row = {
        "id": "a",
        "title": "Spring",
        "voice_id": "anna",
        "caption_style": "bold",
        "duration_seconds": 10,
        "script": {"scenes": ["One two three.", "Four five six."]},
        **changes,
    }
    return desk.sheet(f"{name}.json", json.dumps({"campaign": name, **head, "rows": [row]}))


def make(desk: Desk, name: str, *words: str) -> dict[str, Any]:
    """Make the video of the row as it is before the change."""
    ended = desk.run(sheet_of(desk, name), *words)
    assert ended.status == 0, ended.err
    return desk.rows(name)["a"]


def deliver_earlier(desk: Desk, *, take: int) -> None:
    """Have the ledger say that a take was delivered two hours before."""
    with closing(sqlite3.connect(desk.folder / ".callsheet" / "ledger.db")) as ledger, ledger:
        query = "UPDATE takes SET delivered_at = delivered_at - 7200 WHERE number = ?"
        ledger.execute(query, (take,))


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_changes_the_video_and_is_delivered_as_a_take_of_its_own(
    desk: Desk, studio: Sandbox, name: str, kind: str
) -> None:
    changes, wanted = EDITS[kind]
    before = make(desk, name)
    calls = studio.calls()
    sheet = sheet_of(desk, name, **changes)

    (planned,) = desk.call("plan", sheet, "--json").json["rows"]
    ended = desk.run(sheet, "--budget", "100")
    row = desk.rows(name)["a"]

    assert (planned["action"], planned["edit_of"]) == ("edit", kind)
    # The service gives no quote for an edit: it is taken to cost no more than a new video.
    assert planned["quoted"] == before["quoted"]
    assert (
        "not quoted: 20 credits reserved, the price of a new video; it may cost more"
        in planned["why"]
    )
    assert ended.status == 0, ended.err
    assert (row["take"], row["video_id"], row["key"]) == (2, before["video_id"], None)
    now = studio.calls()
    assert {op: now.get(op, 0) - calls.get(op, 0) for op in wanted} == wanted
    assert now["create"] == calls["create"]
    # Both files are there, and the new one is what the service has now.
    old, new = before["deliveries"][0], row["deliveries"][0]
    assert Path(desk.folder, old["uri"].removeprefix("file://")).exists()
    assert new["sha256"] == studio.video_digest(row["video_id"]) != old["sha256"]
    # The ledger has what the service charged, for the video and for its edit.
    charged = studio.video(row["video_id"])["credits_charged"]
    assert row["charged"] == charged > before["charged"]
    assert ended.json["credits"]["charged"] == charged
    assert desk.call("reconcile", name, "--json").json["differences"] == []
    history = desk.call("explain", name, "a", "--json").json["takes"]
    assert [bool(take["calls"]) for take in history] == [False, True]
    again = desk.run(sheet)
    assert again.json["credits"]["charged_this_run"] == 0


@pytest.mark.merge
def test_a_plan_says_what_edits_like_its_own_were_charged_once_there_were_three(
    desk: Desk, name: str
) -> None:
    make(desk, name)
    said, charged = [], []
    for title in ("Summer", "Autumn", "Winter", "Year"):
        sheet = sheet_of(desk, name, title=title)
        (planned,) = desk.call("plan", sheet, "--json").json["rows"]
        said.append(planned.get("usual"))
        if title != "Year":
            charged.append(desk.run(sheet, "--yes").json["credits"]["charged_this_run"])

    assert said == [None, None, None, sorted(charged)[1]]
    shown = desk.call("plan", sheet).out
    assert f"not quoted: usually {said[-1]} credit" in " ".join(shown.split())
    assert "20 credits reserved, the price of a new video" in planned["why"]


@pytest.mark.merge
def test_a_row_or_a_sheet_may_ask_for_a_new_video_instead(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    before = make(desk, name)
    changed = sheet_of(desk, name, title="Summer")
    desk.call("plan", changed, "-o", "plan.json")

    moved = desk.run(changed, "--edits", "retake", "--plan", "plan.json")
    sheet = sheet_of(desk, name, title="Summer", head={"edits": "retake"})
    (planned,) = desk.call("plan", sheet, "--json").json["rows"]
    (edited,) = desk.call("plan", sheet, "--edits", "cheapest", "--json").json["rows"]
    ended = desk.run(sheet)

    assert moved.status == 4
    assert "a: an edit of its title then, a new video now" in moved.err
    assert (planned["action"], edited["action"]) == ("retake", "edit")
    assert ended.status == 0, ended.err
    assert desk.rows(name)["a"]["video_id"] != before["video_id"]
    wrong = desk.call("check", sheet_of(desk, name, head={"edits": "never"}))
    assert (wrong.status, '"never" is not one of cheapest, retake' in wrong.err) == (2, True)


@pytest.mark.merge
def test_a_saved_plan_of_an_edit_is_of_the_take_that_it_shows(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    make(desk, name)
    desk.call("plan", sheet_of(desk, name, title="Summer"), "-o", "plan.json")
    assert desk.call("retake", name, "a", "--run", "--yes").status == 0
    calls, charged = studio.calls(), desk.rows(name)["a"]["charged"]

    ended = desk.call("run", "--plan", "plan.json", "--without-prefect")

    assert ended.status == 4
    assert "a: an edit of take 1 then, of take 2 now" in ended.err
    assert studio.calls().get("patch") == calls.get("patch")
    assert desk.rows(name)["a"]["charged"] == charged


@pytest.mark.merge
def test_a_saved_plan_of_an_edit_that_was_taken_back_no_longer_holds(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    make(desk, name)
    desk.call("plan", sheet_of(desk, name, title="Summer"), "-o", "plan.json")
    run = ("run", "--plan", "plan.json", "--without-prefect", "--json")
    calls = studio.calls()

    sheet_of(desk, name)
    back = desk.call(*run)
    shown = desk.call("show-plan", "plan.json", "--json").json
    unpaid = studio.calls()
    sheet_of(desk, name, title="Summer")
    ends = [desk.call(*run) for _ in range(2)]

    moved = 'a: the row was edited since: "Summer" then; "Spring" now'
    assert (back.status, moved in back.err, shown["holds"]) == (4, True, False), back.err
    assert unpaid.get("patch", 0) == calls.get("patch", 0)
    # What it approved is made once, and a second run of it has nothing to do.
    assert [ended.status for ended in ends] == [0, 0], ends
    assert "nothing to do" in ends[1].err
    assert studio.calls()["patch"] == calls.get("patch", 0) + 1


@pytest.mark.merge
def test_max_credits_limit_an_edit_and_are_reserved_for_it(desk: Desk, name: str) -> None:
    make(desk, name)
    sheet = sheet_of(desk, name, voice_id="ben", max_credits=12)

    (planned,) = desk.call("plan", sheet, "--json").json["rows"]
    refused = desk.run(sheet, "--budget", "31")
    ended = desk.run(sheet, "--budget", "32")

    assert (planned["quoted"], "12 credits reserved, its max_credits" in planned["why"]) == (
        12,
        True,
    )
    assert (refused.status, ended.status) == (4, 0)
    assert ended.json["credits"]["charged"] == 30


@pytest.mark.merge
def test_a_plan_promises_no_new_attempt_of_an_edit(desk: Desk, studio: Sandbox, name: str) -> None:
    make(desk, name)
    sheet = sheet_of(desk, name, voice_id="ben", head={"retry_failed": 1})
    calls = studio.calls()
    plans = [
        desk.call("plan", sheet, "--edits", how, "--json").json for how in ("retake", "cheapest")
    ]
    studio.plan_fault(on="get", do="rewrite", set={"status": "failed"})
    studio.plan_fault(on="download", do="status", status=409)

    ended = desk.run(sheet)

    assert [one["credits"]["most"] / one["credits"]["total"] for one in plans] == [2, 1]
    assert "an edit whose render fails is not tried again automatically" in ended.err
    assert ended.json["rows"] == {"total": 1, "failed": 1}
    assert studio.calls()["voice"] == calls.get("voice", 0) + 1


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["title", "voice", "scene"])
@pytest.mark.parametrize("fault", ["drop-after", "error-after", "not-json"])
def test_an_edit_whose_answer_is_lost_is_found_and_not_paid_again(
    desk: Desk, studio: Sandbox, name: str, kind: str, fault: str
) -> None:
    changes, wanted = EDITS[kind]
    make(desk, name)
    before = len(studio.bought())
    studio.plan_fault(on=[*wanted][-1], nth=1, do=fault)

    ended = desk.run(sheet_of(desk, name, **changes))

    assert ended.status == 0, ended.err
    assert len(studio.bought()) - before == 1
    assert desk.rows(name)["a"]["take"] == 2


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["voice", "scene"])
def test_the_video_from_before_an_edit_is_not_delivered_as_the_edited_one(
    desk: Desk, studio: Sandbox, name: str, kind: str
) -> None:
    changes, _ = EDITS[kind]
    before = make(desk, name)
    for nth in (1, 2):
        studio.plan_fault(on="file", nth=nth, do="old-video")

    ended = desk.run(sheet_of(desk, name, **changes))
    row = desk.rows(name)["a"]

    assert ended.status == 0, ended.err
    assert row["deliveries"][0]["sha256"] == studio.video_digest(row["video_id"])
    assert row["deliveries"][0]["sha256"] != before["deliveries"][0]["sha256"]
    assert {one["do"] for one in studio.strikes()} >= {"old-video"}


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["voice", "title"])
def test_an_edit_that_may_have_been_lost_on_the_way_asks_a_person(
    desk: Desk, studio: Sandbox, name: str, kind: str
) -> None:
    """Once they said that it was not made, it is sent though the video has its title by now."""
    changes, wanted = EDITS[kind]
    make(desk, name)
    before = len(studio.bought())
    studio.plan_fault(on=[*wanted][-1], nth=1, do="drop-before")
    sheet = sheet_of(desk, name, **changes)

    first, again = desk.run(sheet), desk.run(sheet)
    row = desk.rows(name)["a"]
    told = desk.call("resolve", name, "a", "--resend", "--charged", "0", "--json")
    last = desk.run(sheet)

    assert (first.status, again.status) == (3, 3)
    assert (row["state"], "shows no sign of it" in row["reason"]) == ("uncertain", True)
    assert (told.status, last.status) == (0, 0), last.err
    assert len(studio.bought()) - before == 1
    costs = {"voice": 30, "title": 22}
    assert (desk.rows(name)["a"]["take"], desk.rows(name)["a"]["charged"]) == (3, costs[kind])


@pytest.mark.merge
def test_nothing_is_paid_where_the_free_change_before_it_fails(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    make(desk, name)
    before = len(studio.bought())
    for nth in range(1, 8):
        studio.plan_fault(on="patch", nth=nth, do="error-before")

    ended = desk.run(sheet_of(desk, name, title="Summer"))

    assert ended.status == 0, ended.err
    assert len(studio.bought()) - before == 1


@pytest.mark.merge
def test_an_edit_of_a_video_that_is_gone_is_held_and_a_new_video_can_be_made(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    studio.delete(make(desk, name)["video_id"])
    sheet = sheet_of(desk, name, title="Summer")

    ended = desk.run(sheet)
    row = desk.rows(name)["a"]
    again = desk.run(sheet, "--edits", "retake")

    assert (ended.status, ended.json["credits"]["charged_this_run"]) == (3, 0)
    assert (row["state"], "nothing was edited" in row["reason"]) == ("held", True)
    assert "--edits retake" in row["reason"]
    assert again.status == 0, again.err


@pytest.mark.merge
def test_a_run_that_is_killed_during_an_edit_pays_for_it_once(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    make(desk, name)
    before = len(studio.bought())
    sheet = sheet_of(desk, name, voice_id="ben")
    for call in (2, 4, 5, 6):
        kill_at_call(desk.start("run", sheet, "--yes", "--without-prefect"), studio, call)  # type: ignore[arg-type]
    ended = desk.run(sheet)

    assert ended.status in (0, 3), ended.err
    assert len(studio.bought()) - before <= 1
    assert (ended.status == 0) == (len(studio.bought()) - before == 1)


@pytest.mark.merge
def test_a_row_that_is_changed_back_is_free_and_the_next_edit_starts_from_the_video_as_it_is(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    make(desk, name)
    desk.run(sheet_of(desk, name, title="Summer"))
    before = len(studio.bought())

    back = desk.run(sheet_of(desk, name))
    # The video at the service still says Summer: a new voice alone would not make this one.
    (planned,) = desk.call("plan", sheet_of(desk, name, voice_id="ben"), "--json").json["rows"]
    (title,) = desk.call("plan", sheet_of(desk, name, title="Autumn"), "--json").json["rows"]

    assert (back.status, len(studio.bought()) - before) == (0, 0)
    assert (planned["action"], title["action"]) == ("retake", "edit")


@pytest.mark.merge
def test_a_retake_of_an_edited_row_is_a_new_video(desk: Desk, studio: Sandbox, name: str) -> None:
    before = make(desk, name)
    desk.run(sheet_of(desk, name, voice_id="ben"))

    ended = desk.call("retake", name, "a", "--run", "--yes", "--json")
    row = desk.rows(name)["a"]

    assert ended.status == 0, ended.err
    assert (row["take"], row["video_id"] != before["video_id"]) == (3, True)
    assert row["key"] is not None


@pytest.mark.merge
def test_a_video_is_kept_at_the_service_as_long_as_its_last_edit_is_young(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    video = make(desk, name)["video_id"]
    sheet = sheet_of(desk, name, voice_id="ben", head={"keep_at_service": "1h"})
    assert desk.run(sheet).status == 0
    deliver_earlier(desk, take=1)
    young = desk.call("prune", name, "--yes", "--json").json
    deliver_earlier(desk, take=2)
    old = desk.call("prune", name, "--yes", "--json").json

    assert young["videos"] == []
    assert (old["deleted"], [one["take"] for one in old["videos"]]) == (1, [2])
    with pytest.raises(urllib.error.HTTPError):
        studio.video(video)
    # There is nothing left to edit: what changes now is a new video.
    (planned,) = desk.call("plan", sheet_of(desk, name, title="Autumn"), "--json").json["rows"]
    assert planned["action"] == "retake"


@pytest.mark.merge
def test_the_files_of_every_edit_leave_with_their_row(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    make(desk, name)
    desk.run(sheet_of(desk, name, voice_id="ben"))
    other = json.loads((desk.folder / f"{name}.json").read_text())
    other["rows"][0] |= {"id": "b", "title": "Other"}
    desk.run(desk.sheet(f"{name}.json", json.dumps(other)), "--retire")

    done = desk.call("prune", name, "--yes", "--prune-store", "--json").json

    assert (done["deleted"], done["files_deleted"]) == (1, 6)
    assert not [*Path(desk.folder, "deliveries", name, "a").glob("*.mp4")]
    # Back as it was before the edit: that video is gone, too.
    ended = desk.run(sheet_of(desk, name), "--retire")
    row = desk.rows(name)["a"]
    assert ended.status == 0, ended.err
    assert (row["take"], [one["kind"] for one in row["deliveries"]]) == (3, ["mp4", "srt", "vtt"])


@pytest.mark.merge
def test_a_video_with_an_edit_that_nobody_knows_the_outcome_of_is_not_deleted(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    video = make(desk, name)["video_id"]
    studio.plan_fault(on="voice", nth=1, do="drop-before")
    sheet = sheet_of(desk, name, voice_id="ben", head={"keep_at_service": "1h"})
    assert desk.run(sheet).status == 3
    deliver_earlier(desk, take=1)

    done = desk.call("prune", name, "--yes", "--json").json

    assert (done["deleted"], done["kept"]) == (0, 1)
    assert "paid call that changes it is not settled: edit-voice" in done["videos"][0]["kept"]
    assert studio.video(video)


@pytest.mark.merge
def test_a_lost_ledger_does_not_pay_for_an_edit_again(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    make(desk, name)
    sheet = sheet_of(desk, name, voice_id="ben")
    assert desk.run(sheet).status == 0
    before = len(studio.bought())
    for file in Path(desk.folder, ".callsheet").glob("ledger*"):
        file.unlink()

    ended = desk.run(sheet)

    assert ended.status == 0, ended.err
    assert len(studio.bought()) == before


@pytest.mark.merge
@pytest.mark.parametrize("how", [(), ("--edits", "retake")], ids=["edited", "made anew"])
def test_a_restored_ledger_does_not_pay_again_for_what_was_edited_since(
    desk: Desk, studio: Sandbox, name: str, how: tuple[str, ...]
) -> None:
    make(desk, name)
    backup = shutil.copytree(desk.folder / ".callsheet", desk.folder / "backup")
    sheet = sheet_of(desk, name, voice_id="ben")
    assert desk.run(sheet, *how).status == 0
    before, row = len(studio.bought()), desk.rows(name)["a"]
    shutil.rmtree(desk.folder / ".callsheet")
    shutil.copytree(backup, desk.folder / ".callsheet")

    ended = desk.run(sheet)

    assert ended.status == 0, ended.err
    assert len(studio.bought()) == before
    again = desk.rows(name)["a"]
    same = ("video_id", "key", "deliveries", "charged")
    assert [again[one] for one in same] == [row[one] for one in same]
    assert desk.call("reconcile", name, "--json").json["differences"] == []


@pytest.mark.merge
@pytest.mark.parametrize("lost", ["after the run", "in the middle of it"])
def test_an_edit_under_way_when_the_ledger_is_lost_is_not_paid_again(
    desk: Desk, studio: Sandbox, name: str, lost: str
) -> None:
    make(desk, name)
    sheet = sheet_of(desk, name, voice_id="ben")
    studio.plan_fault(on="render", nth=1, do="slow", seconds=600)
    if lost == "after the run":
        assert desk.run(sheet, "--max-wait", "3s").status == 5
    else:
        hook = Hook(desk.folder / "trace", "service: after the answer (voice)").as_json()
        desk.call("run", sheet, "--yes", "--without-prefect", hook=hook)
    before = len(studio.bought())
    for file in Path(desk.folder, ".callsheet").glob("ledger*"):
        file.unlink()

    ended = desk.run(sheet)

    assert ended.status == 4, ended.err
    assert "an earlier one may have sent it" in ended.err
    assert "edit-voice takes no key that finds it again" in ended.err
    assert len(studio.bought()) == before
