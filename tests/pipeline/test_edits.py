"""Changed rows whose video is edited instead of made again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import urllib.error
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Desk, Finished, Sandbox, kill_at_call

pytestmark = pytest.mark.merge

#: Per kind of edit: what changes, the operations it calls, and what it costs at the sandbox.
EDITS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "title": ({"title": "Summer"}, {"patch": 1, "export": 1}),
    "captions": ({"caption_style": "thin"}, {"patch": 1, "export": 1}),
    "voice": ({"voice_id": "ben"}, {"voice": 1}),
    "scene": ({"script": {"scenes": ["One two three.", "Seven eight."]}}, {"scene": 1}),
}
ROW = {
    "id": "a",
    "title": "Spring",
    "voice_id": "anna",
    "caption_style": "bold",
    "duration_seconds": 10,
    "script": {"scenes": ["One two three.", "Four five six."]},
}
RUN_PLAN = ("run", "--plan", "plan.json", "--without-prefect", "--json")


class Place:
    """A sheet of one row, whose video is made; `before` is how that was."""

    def __init__(self, desk: Desk, studio: Sandbox, name: str) -> None:
        self.desk, self.studio, self.name = desk, studio, name
        self.sheet = f"{name}.json"
        assert self.run().status == 0
        self.before = self.row()
        self._bought, self._calls = len(studio.bought()), studio.calls()

    def write(self, *, head: dict[str, Any] | None = None, **changes: Any) -> None:
        """Write the sheet, with changes of its row; `head` is what it says at its top."""
        said = {"campaign": self.name, **(head or {}), "rows": [{**ROW, **changes}]}
        self.desk.sheet(self.sheet, json.dumps(said))

    def run(self, *words: str, **changes: Any) -> Finished:
        """Run the sheet with changes."""
        self.write(**changes)
        return self.desk.run(self.sheet, *words)

    def plan(self, *words: str, **changes: Any) -> dict[str, Any]:
        """Return the line of a plan of the sheet with changes."""
        self.write(**changes)
        (line,) = self.desk.call("plan", self.sheet, "--json", *words).json["rows"]
        return dict(line)

    def row(self) -> dict[str, Any]:
        return self.desk.rows(self.name)["a"]

    def prune(self, *words: str) -> dict[str, Any]:
        return self.desk.call("prune", self.name, "--yes", "--json", *words).json

    def bought(self) -> int:
        """Return how much was bought since the video was made."""
        return len(self.studio.bought()) - self._bought

    def calls(self, operation: str) -> int:
        """Return how often an operation was called since then."""
        return self.studio.calls().get(operation, 0) - self._calls.get(operation, 0)

    def deliver_earlier(self, *, take: int) -> None:
        """Have the ledger say that a take was delivered two hours before."""
        file = self.desk.folder / ".callsheet" / "ledger.db"
        with closing(sqlite3.connect(file)) as ledger, ledger:
            query = "UPDATE takes SET delivered_at = delivered_at - 7200 WHERE number = ?"
            ledger.execute(query, (take,))


@pytest.fixture
def made(desk: Desk, studio: Sandbox, name: str) -> Place:
    return Place(desk, studio, name)


@pytest.mark.safeguard("tasks/values/edits.py", "(clip_keys and operation not in _OF)", "True")
@pytest.mark.always
@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_changes_the_video_and_is_delivered_as_a_take_of_its_own(
    made: Place, kind: str
) -> None:
    changes, wanted = EDITS[kind]
    planned = made.plan(**changes)
    ended = made.run("--budget", "100", **changes)
    before, row = made.before, made.row()
    assert (planned["action"], planned["edit_of"]) == ("edit", kind)
    # The service gives no quote for an edit: it is taken to cost no more than a new video.
    assert planned["quoted"] == before["quoted"]
    unquoted = "not quoted: 20 credits reserved, the price of a new video; it may cost more"
    assert unquoted in planned["why"]
    assert ended.status == 0, ended.err
    assert (row["take"], row["video_id"], row["key"]) == (2, before["video_id"], None)
    assert {one: made.calls(one) for one in (*wanted, "create")} == {**wanted, "create": 0}
    # Both files are there, and the new one is what the service has now.
    old, new = before["deliveries"][0], row["deliveries"][0]
    assert Path(made.desk.folder, old["uri"].removeprefix("file://")).exists()
    assert new["sha256"] == made.studio.video_digest(row["video_id"]) != old["sha256"]
    # The ledger has what the service charged, for the video and for its edit.
    charged = made.studio.video(row["video_id"])["credits_charged"]
    assert row["charged"] == charged > before["charged"]
    assert ended.json["credits"]["charged"] == charged
    assert made.desk.call("reconcile", made.name, "--json").json["differences"] == []
    history = made.desk.call("explain", made.name, "a", "--json").json["takes"]
    assert [bool(take["calls"]) for take in history] == [False, True]
    assert made.run(**changes).json["credits"]["charged_this_run"] == 0


def test_a_plan_says_what_edits_like_its_own_were_charged_once_there_were_three(
    made: Place,
) -> None:
    said, charged = [], []
    for title in ("Summer", "Autumn", "Winter", "Year"):
        planned = made.plan(title=title)
        said.append(planned.get("usual"))
        if title != "Year":
            charged.append(made.run(title=title).json["credits"]["charged_this_run"])
    assert said == [None, None, None, sorted(charged)[1]]
    made.write(title="Year")
    shown = made.desk.call("plan", made.sheet).out
    assert f"not quoted: usually {said[-1]} credit" in " ".join(shown.split())
    assert "20 credits reserved, the price of a new video" in planned["why"]


@pytest.mark.safeguard(
    "tasks/campaign/validity.py", "if then.edit_of != line.edit_of:", "if False:"
)
def test_a_row_or_a_sheet_may_ask_for_a_new_video_instead(made: Place) -> None:
    made.plan("-o", "plan.json", title="Summer")
    moved = made.run("--edits", "retake", "--plan", "plan.json", title="Summer")
    asked = {"title": "Summer", "head": {"edits": "retake"}}
    lines = [made.plan(*words, **asked)["action"] for words in ((), ("--edits", "cheapest"))]
    ended = made.run(**asked)
    assert (moved.status, lines) == (4, ["retake", "edit"])
    assert "a: an edit of its title then, a new video now" in moved.err
    assert ended.status == 0, ended.err
    assert made.row()["video_id"] != made.before["video_id"]
    made.write(head={"edits": "never"})
    wrong = made.desk.call("check", made.sheet)
    assert (wrong.status, '"never" is not one of cheapest, retake' in wrong.err) == (2, True)


@pytest.mark.safeguard("tasks/campaign/plan.py", "base=one.base,", "")
def test_a_saved_plan_of_an_edit_is_of_the_take_that_it_shows(made: Place) -> None:
    made.plan("-o", "plan.json", title="Summer")
    assert made.desk.call("retake", made.name, "a", "--run", "--yes").status == 0
    charged = made.row()["charged"]
    ended = made.desk.call(*RUN_PLAN)
    assert (ended.status, "a: an edit of take 1 then, of take 2 now" in ended.err) == (4, True)
    assert (made.calls("patch"), made.row()["charged"]) == (0, charged)


@pytest.mark.safeguard(
    "tasks/campaign/validity.py", "if moved := _taken_back(shown, now):", "if moved := []:"
)
def test_a_saved_plan_of_an_edit_that_was_taken_back_no_longer_holds(made: Place) -> None:
    made.plan("-o", "plan.json", title="Summer")
    made.write()
    back = made.desk.call(*RUN_PLAN)
    shown = made.desk.call("show-plan", "plan.json", "--json").json
    moved = 'a: the row was edited since: "Summer" then; "Spring" now'
    assert (back.status, moved in back.err, shown["holds"]) == (4, True, False), back.err
    assert made.calls("patch") == 0
    # What it approved is made once, and a second run of it has nothing to do.
    made.write(title="Summer")
    ends = [made.desk.call(*RUN_PLAN) for _ in range(2)]
    assert [ended.status for ended in ends] == [0, 0], ends
    assert "nothing to do" in ends[1].err
    assert made.calls("patch") == 1


def test_max_credits_limit_an_edit_and_are_reserved_for_it(made: Place) -> None:
    changes = {"voice_id": "ben", "max_credits": 12}
    planned = made.plan(**changes)
    refused, ended = (made.run("--budget", budget, **changes) for budget in ("31", "32"))
    assert planned["quoted"] == 12
    assert "12 credits reserved, its max_credits" in planned["why"]
    assert (refused.status, ended.status) == (4, 0)
    assert ended.json["credits"]["charged"] == 30


def test_a_plan_promises_no_new_attempt_of_an_edit(made: Place) -> None:
    changes = {"voice_id": "ben", "head": {"retry_failed": 1}}
    made.write(**changes)
    plans = [
        made.desk.call("plan", made.sheet, "--edits", how, "--json").json["credits"]
        for how in ("retake", "cheapest")
    ]
    made.studio.plan_fault(on="get", do="rewrite", set={"status": "failed"})
    made.studio.plan_fault(on="download", do="status", status=409)
    ended = made.run(**changes)
    assert [one["most"] / one["total"] for one in plans] == [2, 1]
    assert "an edit whose render fails is not tried again automatically" in ended.err
    assert ended.json["rows"] == {"total": 1, "failed": 1}
    assert made.calls("voice") == 1


@pytest.mark.parametrize("kind", ["title", "voice", "scene"])
@pytest.mark.parametrize("fault", ["drop-after", "error-after", "not-json"])
def test_an_edit_whose_answer_is_lost_is_found_and_not_paid_again(
    made: Place, kind: str, fault: str
) -> None:
    changes, wanted = EDITS[kind]
    made.studio.plan_fault(on=[*wanted][-1], nth=1, do=fault)
    ended = made.run(**changes)
    assert ended.status == 0, ended.err
    assert (made.bought(), made.row()["take"]) == (1, 2)


@pytest.mark.safeguard(
    "tasks/engine/deliver.py",
    'if edit_of(row.operation) not in (None, "title") and',
    "if False and",
)
@pytest.mark.parametrize("kind", ["voice", "scene"])
def test_the_video_from_before_an_edit_is_not_delivered_as_the_edited_one(
    made: Place, kind: str
) -> None:
    for nth in (1, 2):
        made.studio.plan_fault(on="file", nth=nth, do="old-video")
    ended = made.run(**EDITS[kind][0])
    row = made.row()
    assert ended.status == 0, ended.err
    delivered = row["deliveries"][0]["sha256"]
    assert delivered == made.studio.video_digest(row["video_id"])
    assert delivered != made.before["deliveries"][0]["sha256"]
    assert {one["do"] for one in made.studio.strikes()} >= {"old-video"}


@pytest.mark.safeguard(
    "tasks/campaign/service_list.py",
    "asked = {} if self.was_tried else self.wanted",
    "asked = self.wanted",
)
@pytest.mark.parametrize(("kind", "cost"), [("voice", 30), ("title", 22)])
def test_an_edit_that_may_have_been_lost_on_the_way_asks_a_person(
    made: Place, kind: str, cost: int
) -> None:
    """Once they said that it was not made, it is sent though the video has its title by now."""
    changes, wanted = EDITS[kind]
    made.studio.plan_fault(on=[*wanted][-1], nth=1, do="drop-before")
    asked = [made.run(**changes).status for _ in range(2)]
    row = made.row()
    told = made.desk.call("resolve", made.name, "a", "--resend", "--charged", "0", "--json")
    last = made.run(**changes)
    assert asked == [3, 3]
    assert (row["state"], "shows no sign of it" in row["reason"]) == ("uncertain", True)
    assert (told.status, last.status) == (0, 0), last.err
    assert made.bought() == 1
    assert (made.row()["take"], made.row()["charged"]) == (3, cost)


def test_nothing_is_paid_where_the_free_change_before_it_fails(made: Place) -> None:
    for nth in range(1, 8):
        made.studio.plan_fault(on="patch", nth=nth, do="error-before")
    ended = made.run(title="Summer")
    assert ended.status == 0, ended.err
    assert made.bought() == 1


@pytest.mark.parametrize(("call", "changed"), [("export", True), ("patch", False)])
def test_what_an_edit_changed_before_it_was_refused_is_said(
    made: Place, call: str, changed: bool
) -> None:
    made.studio.plan_fault(on=call, do="no-credits")
    ended = made.run(title="Summer")
    row = made.row()
    made.studio.clear_faults()
    again = made.run(title="Summer")
    assert (ended.status, row["state"], again.status) == (3, "held", 0), ended.err
    assert ("the service has the new title already" in row["reason"]) is changed
    assert made.bought() == 1


def test_an_edit_of_a_video_that_is_gone_is_held_and_a_new_video_can_be_made(
    made: Place,
) -> None:
    made.studio.delete(made.before["video_id"])
    ended = made.run(title="Summer")
    row = made.row()
    again = made.run("--edits", "retake", title="Summer")
    assert (ended.status, ended.json["credits"]["charged_this_run"]) == (3, 0)
    assert (row["state"], "nothing was edited" in row["reason"]) == ("held", True)
    assert "--edits retake" in row["reason"]
    assert again.status == 0, again.err


def test_a_run_that_is_killed_during_an_edit_pays_for_it_once(made: Place) -> None:
    made.write(voice_id="ben")
    for call in (2, 4, 5, 6):
        process = made.desk.start("run", made.sheet, "--yes", "--without-prefect")
        kill_at_call(process, made.studio, call)
    ended = made.desk.run(made.sheet)
    assert (ended.status, made.bought()) in ((0, 1), (3, 0)), ended.err


def test_a_row_that_is_changed_back_is_free_and_the_next_edit_starts_from_the_video_as_it_is(
    made: Place,
) -> None:
    made.run(title="Summer")
    bought = made.bought()
    assert (made.run().status, made.bought()) == (0, bought)
    # The video at the service still says Summer: a new voice alone would not make this one.
    assert made.plan(voice_id="ben")["action"] == "retake"
    assert made.plan(title="Autumn")["action"] == "edit"
    # A retake of it is a new video.
    made.write()
    assert made.desk.call("retake", made.name, "a", "--run", "--yes", "--json").status == 0
    assert made.row()["video_id"] != made.before["video_id"]
    assert made.row()["key"] is not None


@pytest.mark.safeguard("tasks/ledger/deletions.py", ".where(~_edited_since().exists())", "")
@pytest.mark.safeguard(
    "tasks/ledger/values.py", "return take if made else None", "return take if made else takes[0]"
)
def test_a_video_is_kept_at_the_service_as_long_as_its_last_edit_is_young(made: Place) -> None:
    assert made.run(voice_id="ben", head={"keep_at_service": "1h"}).status == 0
    made.deliver_earlier(take=1)
    young = made.prune()
    made.deliver_earlier(take=2)
    old = made.prune()
    assert young["videos"] == []
    assert (old["deleted"], [one["take"] for one in old["videos"]]) == (1, [2])
    with pytest.raises(urllib.error.HTTPError):
        made.studio.video(made.before["video_id"])
    # There is nothing left to edit: what changes now is a new video.
    assert made.plan(title="Autumn")["action"] == "retake"


@pytest.mark.safeguard(
    "tasks/ledger/deletions.py",
    "_give_up(connection, old, old.takes, at=at)",
    "_give_up(connection, old, [old.take.id], at=at)",
)
def test_the_files_of_every_edit_leave_with_their_row(made: Place) -> None:
    made.run(voice_id="ben")
    made.run("--retire", voice_id="ben", id="b", title="Other")
    done = made.prune("--prune-store")
    assert (done["deleted"], done["files_deleted"]) == (1, 6)
    assert not [*Path(made.desk.folder, "deliveries", made.name, "a").glob("*.mp4")]
    # Back as it was before the edit: that video is gone, too.
    ended, row = made.run("--retire"), made.row()
    assert ended.status == 0, ended.err
    assert (row["take"], [one["kind"] for one in row["deliveries"]]) == (3, ["mp4", "srt", "vtt"])


def test_the_file_from_before_an_edit_is_not_at_the_service_any_more(made: Place) -> None:
    assert made.run(voice_id="ben").status == 0
    Path(made.desk.folder, made.before["deliveries"][0]["uri"].removeprefix("file://")).unlink()
    ended = made.desk.call("verify", made.name, "--repair")
    assert (ended.status, "6 files; 5 intact, 1 missing" in ended.out) == (3, True), ended.out
    assert "the service now has another file" in " ".join(ended.out.split())


def test_a_retake_names_the_take_that_the_row_has_and_what_all_of_them_cost(made: Place) -> None:
    assert made.run(voice_id="ben").status == made.run().status == 0
    spent = made.row()["charged"]
    asked = made.desk.call("retake", made.name, "a").out
    assert "credits take credits so far" in " ".join(asked.split())
    assert f"20 1 {spent} " in " ".join(asked.split())


def test_an_edit_that_waits_is_approved_by_what_it_edits(made: Place) -> None:
    assert made.run("--budget", "20", voice_id="ben").status == 4
    asked = made.desk.call("approve", made.name, "--budget", "100")
    assert "edits its voice; not quoted: 20 credits reserved" in asked.out


def test_a_video_with_an_edit_that_nobody_knows_the_outcome_of_is_not_deleted(
    made: Place,
) -> None:
    made.studio.plan_fault(on="voice", nth=1, do="drop-before")
    assert made.run(voice_id="ben", head={"keep_at_service": "1h"}).status == 3
    made.deliver_earlier(take=1)
    done = made.prune()
    assert (done["deleted"], done["kept"]) == (0, 1)
    assert "paid call that changes it is not settled: edit-voice" in done["videos"][0]["kept"]
    assert made.studio.video(made.before["video_id"])


def test_a_lost_ledger_does_not_pay_for_an_edit_again(made: Place) -> None:
    assert made.run(voice_id="ben").status == 0
    made.desk.lose_ledger()
    ended = made.run(voice_id="ben")
    assert (ended.status, made.bought()) == (0, 1), ended.err


@pytest.mark.safeguard(
    "tasks/campaign/recovery.py",
    "(row.digest, made_by(row.operation))",
    "(row.digest, row.operation)",
)
@pytest.mark.parametrize("how", [(), ("--edits", "retake")], ids=["edited", "made anew"])
def test_a_restored_ledger_does_not_pay_again_for_what_was_edited_since(
    made: Place, how: tuple[str, ...]
) -> None:
    home = made.desk.folder / ".callsheet"
    backup = shutil.copytree(home, made.desk.folder / "backup")
    assert made.run(*how, voice_id="ben").status == 0
    row = made.row()
    shutil.rmtree(home)
    shutil.copytree(backup, home)
    ended = made.run(voice_id="ben")
    assert (ended.status, made.bought()) == (0, 1), ended.err
    again = made.row()
    same = ("video_id", "key", "deliveries", "charged")
    assert [again[one] for one in same] == [row[one] for one in same]
    assert made.desk.call("reconcile", made.name, "--json").json["differences"] == []


@pytest.mark.safeguard(
    "tasks/campaign/manifest.py",
    'line=_text_of({"row": line["row"], "operation": line["operation"]}),',
    "line=None,",
)
@pytest.mark.parametrize("lost", ["after the run", "in the middle of it"])
def test_an_edit_under_way_when_the_ledger_is_lost_is_not_paid_again(
    made: Place, lost: str
) -> None:
    made.studio.plan_fault(on="render", nth=1, do="slow", seconds=600)
    if lost == "after the run":
        assert made.run("--max-wait", "3s", voice_id="ben").status == 5
    else:
        made.write(voice_id="ben")
        run = ("run", made.sheet, "--yes", "--without-prefect")
        made.desk.kill(*run, at="service: after the answer (voice)")
    bought = made.bought()
    made.desk.lose_ledger()
    ended = made.run(voice_id="ben")
    assert ended.status == 4, ended.err
    assert "an earlier one may have sent it" in ended.err
    assert "edit-voice takes no key that finds it again" in ended.err
    assert made.bought() == bought
