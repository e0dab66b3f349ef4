"""A ledger that is lost or restored: what is paid for is not paid for again, and is found free.

A request is safe to send again only under the key that was sent, and as long as the service knows
it: a second create under a key that it has forgotten is a second charge.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest

from callsheet.tasks.values.briefs import frozen_body, idempotency_key
from tests.pipeline.conftest import begin_on_postgres
from tests.programs import Desk, Finished, Sandbox, simple_sheet, wait_until

pytestmark = pytest.mark.merge

KEYS, MOMENTS = "videos.*.idempotency_key", "videos.*.created_at"
CLIP = "id,operation,image,max_credits\na,image-to-video,https://img.example/{}.png,50\n"
SCRIPT = {"scenes": ["One two three.", "Four five six."]}
BASE = {"title": "Spring", "duration_seconds": 10, "voice_id": "anna", "script": SCRIPT}
TITLE, VOICE = {"title": "Summer"}, {"voice_id": "ben"}
SCENE = {"script": {"scenes": ["One two three.", "Seven eight."]}}


class Place:
    """A folder with a sheet, whose ledger and store get lost."""

    def __init__(self, desk: Desk, sandbox: Sandbox, name: str) -> None:
        self.desk, self.sandbox, self.name = desk, sandbox, name
        self.sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))
        self._before = len(sandbox.bought())

    def write(self, *rows: dict[str, Any], **head: Any) -> None:
        """Write another sheet; its rows have the same long script."""
        said = {"campaign": self.name, **head, "rows": [{**BASE, **row} for row in rows]}
        self.sheet = self.desk.sheet(f"{self.name}.json", json.dumps(said))

    def run(self, *words: str) -> Finished:
        return self.desk.run(self.sheet, *words)

    def make(self, *rows: dict[str, Any], **head: Any) -> None:
        """Write a sheet and make its videos."""
        self.write(*rows, **head)
        assert self.run().status == 0

    def is_asked(self, *words: str) -> str:
        """Run twice: a person is asked, and asked again; return what is said then."""
        asked = [self.run(*words) for _ in range(2)]
        assert [one.status for one in asked] == [4, 4], asked[0].err
        return asked[1].err

    def back_up(self) -> None:
        assert self.desk.call("ledger", "backup", "backup.db").status == 0

    def restore(self) -> None:
        assert self.desk.call("ledger", "restore", "backup.db", "--instead").status == 0

    def pass_horizon(self) -> None:
        self.desk.environ["CALLSHEET_HORIZON"] = "1s"
        time.sleep(1.1)

    def lose(self, *names: str) -> None:
        for name in names or (".callsheet", "deliveries"):
            shutil.rmtree(self.desk.folder / name, ignore_errors=True)

    def forget_videos(self, sign: str = '"video_id":"') -> None:
        """Have the manifest say what a run leaves that is killed before an answer."""
        manifest = self.desk.folder / "deliveries" / self.name / "manifest.json"
        manifest.write_text(manifest.read_text().replace(sign, '"was":"'))

    def hide(self, *members: str) -> None:
        """Have the service's list not show some members."""
        self.sandbox.plan_fault(on="list", do="rewrite", remove=list(members))

    def bought(self) -> int:
        return len(self.sandbox.bought()) - self._before


@pytest.fixture
def stage(desk: Desk, studio: Sandbox, name: str) -> Place:
    return Place(desk, studio, name)


@pytest.fixture
def forgetful(stage: Place) -> Place:
    """The same, where the service forgets every key."""
    stage.sandbox.plan_fault(on="create", do="forget-key")
    return stage


def test_what_was_delivered_is_found_in_the_store_and_nobody_is_asked(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    desk.run(sheet, "--budget", "500")
    desk.call("review", name, "r001", "keep", "--by", "Ann")
    desk.call("review", name, "r002", "reject", "--because", "voice", "--note", "too deep")
    # Whatever a run finds to be new comes into the manifest.
    first = desk.run(sheet, "--budget", "500")
    before, creates = desk.rows(name), studio.creates()
    desk.lose_ledger()
    # A video that is not in the store is fetched again, free.
    lost = desk.folder / "deliveries" / name / "r003" / "r003-take1.mp4"
    lost.unlink()
    again = desk.run(sheet, "--budget", "500")
    assert (first.status, again.status) == (0, 0), again.err
    assert (studio.creates(), lost.exists()) == (creates, True)
    assert again.json["credits"]["charged"] == first.json["credits"]["charged"]
    assert desk.rows(name) == before
    assert [row["review"] for row in before.values()] == ["keep", "reject", None]
    assert all(row["checks"] for row in before.values())


@pytest.mark.safeguard(
    "tasks/ledger/earlier_takes.py",
    '("planned", "quoted", "approved", "held")',
    '("planned", "quoted", "approved")',
)
def test_a_row_that_was_on_hold_in_the_ledger_is_found_in_the_store(stage: Place) -> None:
    words = ("--at-limit", "fit", "--select", "r001", "--budget")
    assert stage.run(*words, "10").json["rows"]["held"] == 1
    stage.back_up()
    assert stage.run(*words, "100").status == 0
    stage.restore()
    assert stage.desk.rows(stage.name)["r001"]["state"] == "held"
    again = stage.run(*words, "100")
    assert (again.status, again.json["rows"]["delivered"]) == (0, 1), again.err
    assert (stage.bought(), again.json["credits"]["charged"]) == (1, 15)


@pytest.mark.always
def test_a_clip_that_was_delivered_is_not_made_twice(stage: Place) -> None:
    stage.sheet = stage.desk.sheet(f"{stage.name}.csv", CLIP.format(stage.name))
    stage.run()
    stage.desk.lose_ledger()
    assert stage.run().json["rows"] == {"total": 1, "delivered": 1}
    assert stage.bought() == 1


def test_requests_older_than_the_horizon_are_not_sent_again_unasked(stage: Place) -> None:
    desk, words = stage.desk, ("run", stage.sheet, "--yes", "--without-prefect")
    # Killed as it sends the first: the manifest says what was about to be sent.
    desk.kill(*words, at="service: before the request (create)")
    desk.lose_ledger()
    # Nor does the service's list of videos tell what was made.
    stage.sandbox.plan_fault(on="list", do="forbidden")
    stage.pass_horizon()
    stopped = stage.run()
    assert stopped.status == 4
    for said in ("may pay a second time", "--pay-again", "restore the old ledger"):
        assert said in stopped.err
    assert {row["video_id"] for row in desk.rows(stage.name).values()} == {None}
    assert stage.run("--pay-again").json["rows"] == {"total": 2, "delivered": 2}
    assert desk.paid_once(stage.name, stage.sandbox)


@pytest.mark.parametrize("spoilt", ["", '{"campaign": "other", "rows": [{"row": "r001"}]}'])
def test_a_manifest_that_says_nothing_is_passed_over(desk: Desk, name: str, spoilt: str) -> None:
    folder = desk.folder / "deliveries" / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(spoilt)
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(1)))
    assert ended.json["rows"] == {"total": 1, "delivered": 1}
    assert json.loads((folder / "manifest.json").read_text())["campaign"] == name


@pytest.mark.safeguard("tasks/ledger/earlier_takes.py", "if past.is_whole:", "if False:")
@pytest.mark.safeguard(
    "tasks/campaign/recovery.py",
    "if found:\n        await at.ledger.write(count_told",
    "if not found:\n        await at.ledger.write(count_told",
)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_rows_cost_that_left_or_changed_counts(
    desk: Desk, studio: Sandbox, name: str, kind: str, request: pytest.FixtureRequest
) -> None:
    def begin_a_ledger() -> None:
        if kind == "postgres":
            begin_on_postgres(desk, request)
        desk.lose_ledger()

    def cost() -> list[float]:
        status = desk.call("status", name, "--json").json["credits"]["charged"]
        rows = sum(row["charged"] or 0 for row in desk.rows(name).values())
        return [status, rows, desk.call("costs", "--json").json["total"]["charged"]]

    begin_a_ledger()
    head, *lines = simple_sheet(4, title=name).splitlines()
    sheet = desk.sheet(f"{name}.csv", "\n".join([head, *lines[:3]]))
    assert desk.run(sheet, "--budget", "45").status == 0
    assert desk.run(desk.sheet(sheet, "\n".join([head, *lines[:2]]))).status == 0
    edited = lines[1].replace("Kettle", "Pot")
    studio.plan_fault(on="list", do="forbidden")
    for _ in range(2):
        # The second time what is known is only in the manifest that the new ledger wrote.
        begin_a_ledger()
        desk.sheet(sheet, "\n".join([head, lines[0], edited, lines[3]]))
        refused = desk.run(sheet, "--budget", "74")
        assert (refused.status, "1 too many" in refused.err) == (4, True), refused.err
        assert "another ledger paid 30 credits for rows" in refused.err
        assert desk.run(sheet, "--budget", "45", "--select", "r001").status == 0
        assert cost() == [45, 45, 45]
        assert desk.call("ledger", "check").status == 0
    assert desk.run(sheet, "--budget", "75").json["credits"]["charged_this_run"] == 30
    desk.sheet(sheet, "\n".join([head, lines[0], edited, *lines[2:]]))
    back = desk.run(sheet, "--budget", "75")
    assert (back.status, back.json["rows"]) == (0, {"total": 4, "delivered": 4}), back.err
    assert cost() == [75, 75, 75]
    assert desk.call("ledger", "check").status == 0


@pytest.mark.safeguard(
    "tasks/ledger/figures.py", "return self.charged - self.found", "return self.charged"
)
@pytest.mark.safeguard(
    "tasks/campaign/lease.py",
    "await recover(\n        run.at,",
    "type('None', (), dict(restored=0, refused=0, unknown=None, told=0)) or await recover(\n"
    "        run.at,",
)
def test_a_restored_backup_pays_for_nothing_twice(forgetful: Place) -> None:
    desk = forgetful.desk
    assert forgetful.run("--select", "r001").status == 0
    forgetful.back_up()
    assert forgetful.run().status == 0
    forgetful.pass_horizon()
    refused = desk.call("ledger", "restore", "backup.db")
    restored = desk.call("ledger", "restore", "backup.db", "--instead", "--json")
    again = forgetful.run()
    assert (refused.status, "--instead" in refused.err) == (2, True)
    assert "run each sheet again" in restored.err
    assert (desk.folder / restored.json["before"]).is_file()
    assert (again.status, again.json["rows"]) == (0, {"total": 2, "delivered": 2}), again.err
    assert (forgetful.bought(), again.json["credits"]["charged_this_run"]) == (2, 0)
    assert "1 video that another ledger paid for was found" in again.err
    assert desk.call("ledger", "check", "--json").json["problems"] == []


def test_a_run_on_a_restored_ledger_claims_no_charge_that_the_service_did_not_make(
    stage: Place,
) -> None:
    words = ("run", stage.sheet, "--yes", "--without-prefect")
    assert stage.run("--select", "r001").status == 0
    stage.back_up()
    assert stage.run().status == 0
    stage.restore()
    # Nothing says what was paid for since the backup: only the keys do, at the service.
    stage.lose("deliveries")
    stage.sandbox.plan_fault(on="list", do="forbidden")
    again = stage.desk.call(*words)
    assert (again.status, stage.bought()) == (0, 2), again.err
    said = "the videos of this run cost 15 credits, less what was paid for them before the ledger"
    assert said in " ".join(again.out.split())


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ("rendering", {"on": "render", "do": "slow", "seconds": 15}),
        ("submitting", {"on": "create", "do": "drop-after"}),
    ],
)
def test_what_was_delivered_and_deleted_at_the_service_since_a_backup_is_there(
    stage: Place, state: str, fault: dict[str, Any]
) -> None:
    desk, sandbox = stage.desk, stage.sandbox
    sandbox.plan_fault(**fault)
    # A machine that is busy needs more than one go until both are sent.
    wait_until(lambda: stage.run("--max-wait", "2s").json["rows"] == {"total": 2, state: 2})
    stage.back_up()
    sandbox.clear_faults()
    assert stage.run().status == 0
    desk.environ["CALLSHEET_KEEP_AT_SERVICE"] = "1s"
    time.sleep(1)
    assert desk.call("prune", stage.name, "--yes", "--json").json["deleted"] == 2
    sandbox.plan_fault(on="create", do="forget-key")
    stage.restore()
    again = stage.run()
    assert (again.status, again.json["rows"]) == (0, {"total": 2, "delivered": 2}), again.err
    assert (stage.bought(), again.json["credits"]["charged"]) == (2, 30)
    for command in ("verify", "reconcile"):
        assert desk.call(command, stage.name).status == 0


def test_with_ledger_and_store_lost_the_list_finds_all_by_key(forgetful: Place) -> None:
    first = forgetful.run()
    forgetful.pass_horizon()
    forgetful.lose()
    again = forgetful.run()
    assert (again.status, again.json["rows"]) == (0, {"total": 2, "delivered": 2}), again.err
    assert (forgetful.bought(), again.json["credits"]["charged_this_run"]) == (2, 0)
    assert again.json["credits"]["charged"] == first.json["credits"]["charged"]


@pytest.mark.safeguard(
    "tasks/ledger/earlier_takes.py",
    "_REFUSED = and_(earlier_takes.c.refused_at.is_not(None),",
    "_REFUSED = and_(earlier_takes.c.refused_at.is_(None),",
)
@pytest.mark.parametrize("hidden", [[KEYS], [KEYS, MOMENTS]])
def test_a_list_without_keys_is_evidence_that_stands_until_a_person_decides(
    forgetful: Place, hidden: list[str]
) -> None:
    forgetful.run()
    forgetful.pass_horizon()
    forgetful.lose()
    forgetful.hide(*hidden)
    assert "may pay a second time (r001: the service lists vid_" in forgetful.is_asked()
    assert forgetful.bought() == 2
    # What was seen once holds, whatever can be looked up later.
    forgetful.sandbox.plan_fault(on="list", do="forbidden")
    assert forgetful.run().status == 4
    told = forgetful.desk.call("explain", forgetful.name, "r001", "--json").json["next_run"]
    assert (told["action"], told["lane"]) == ("person", None)
    assert "--pay-again" in told["why"]
    assert forgetful.run("--pay-again").status == 0
    assert forgetful.bought() == 4
    history = forgetful.desk.call("explain", forgetful.name, "r001", "--json").out
    assert '"pay-again"' in history


def test_a_refusal_holds_after_other_rows_were_found(forgetful: Place) -> None:
    forgetful.run()
    forgetful.pass_horizon()
    video = forgetful.desk.rows(forgetful.name)["r002"]["video_id"]
    forgetful.forget_videos(f'"video_id":"{video}')
    forgetful.lose(".callsheet")
    forgetful.hide(KEYS, "videos.*.title")
    forgetful.hide("videos.*.fields")
    assert "r002: it was, or may have been, sent on" in forgetful.is_asked()
    assert forgetful.bought() == 2


@pytest.mark.safeguard(
    "tasks/campaign/recovery.py", "return operation != CREATE or not -SKEW", "return not -SKEW"
)
@pytest.mark.parametrize("horizon", ["24h", "1s"])
def test_a_clip_without_a_key_is_young_at_no_age(forgetful: Place, horizon: str) -> None:
    desk = forgetful.desk
    desk.sheet(forgetful.sheet, CLIP.format(forgetful.name))
    forgetful.run()
    desk.environ["CALLSHEET_HORIZON"] = horizon
    forgetful.forget_videos()
    forgetful.lose(".callsheet")
    forgetful.sandbox.plan_fault(on="list", do="forbidden")
    assert "image-to-video takes no key" in forgetful.is_asked()
    assert forgetful.bought() == 1


@pytest.mark.parametrize(
    "fault", [{"do": "forbidden"}, {"do": "error-before", "status": 404}, {"do": "shapeless"}]
)
def test_a_list_that_cannot_be_read_is_said_and_keys_still_hold(
    forgetful: Place, fault: dict[str, object]
) -> None:
    forgetful.sandbox.plan_fault(on="list", **fault)
    ended = forgetful.run()
    assert ended.status == 0, ended.err
    assert "remembers keys cannot be found" in ended.err


def test_an_unchanged_sheet_lists_nothing_and_a_new_one_lists_once(forgetful: Place) -> None:
    calls = forgetful.sandbox.calls().get("list", 0)
    forgetful.sandbox.plan_fault(on="list", do="rewrite", set={"next_cursor": None})
    for _ in range(2):
        forgetful.run()
        assert forgetful.sandbox.calls()["list"] == calls + 1


def test_a_nightly_run_with_a_standing_approval_is_refused_as_well(forgetful: Place) -> None:
    night = ("nightly", ".", "--approve-up-to", "500", "--json")
    assert forgetful.desk.call(*night, here=True).status == 0
    forgetful.pass_horizon()
    forgetful.lose()
    forgetful.hide(KEYS)
    refused = [forgetful.desk.call(*night, here=True) for _ in range(2)]
    assert [(one.status, one.json["charged"]) for one in refused] == [(4, 0)] * 2, refused[0].err
    assert forgetful.bought() == 2


def test_a_retake_that_another_ledger_paid_for_is_found(forgetful: Place) -> None:
    desk = forgetful.desk
    assert forgetful.run().status == 0
    forgetful.back_up()
    retake = ("retake", forgetful.name, "r001", "--because", "wording", "--run", "--yes", "--json")
    assert desk.call(*retake, here=True).status == 0
    forgetful.pass_horizon()
    forgetful.restore()
    again = desk.call(*retake, here=True)
    assert again.status == 0, again.err
    assert "1 video that another ledger paid for was found" in again.err
    assert forgetful.bought() == 3
    assert [row["take"] for row in desk.rows(forgetful.name).values()] == [2, 1]


@pytest.mark.safeguard(
    "tasks/campaign/service_list.py",
    "known is not None and charged > known:",
    "known is not None and False:",
)
@pytest.mark.safeguard(
    "tasks/campaign/service_list.py",
    "edited[edit.row.row] = _in_doubt(edit.row, one, words)",
    "pass",
)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_edit_that_the_video_shows_is_not_paid_for_again(
    forgetful: Place, kind: str, request: pytest.FixtureRequest
) -> None:
    desk = forgetful.desk

    def write(**edits: dict[str, Any]) -> None:
        forgetful.write(*({"id": row, **edits.get(row, {})} for row in "abcd"))

    def restore() -> None:
        if kind == "sqlite":
            # The one before was kept under the second in which it was replaced.
            for kept in (desk.folder / ".callsheet").glob("ledger.db.before-*"):
                kept.unlink()
            forgetful.restore()
        else:
            desk.environ["CALLSHEET_LEDGER"] = request.getfixturevalue("postgres").new_database()
            assert desk.call("ledger", "restore", "backup.db").status == 0
        forgetful.lose("deliveries")

    write()
    assert forgetful.run().status == 0
    forgetful.back_up()
    changes = {"a": TITLE, "b": VOICE, "c": SCENE}
    write(**changes)
    assert forgetful.run().status == 0
    bought = forgetful.bought()
    # The service's list shows what a video has cost, and its title, or only one of them.
    for hidden, asked in (([], "abc"), (["videos.*.credits_charged"], "a")):
        restore()
        forgetful.sandbox.clear_faults()
        if hidden:
            forgetful.hide(*hidden)
        said = forgetful.is_asked("--select", ",".join(asked))
        for row in asked:
            assert f"{row}: the service shows vid_" in said
        seen = desk.call("reconcile", forgetful.name, "--json").json["differences"]
        assert {one["row"] for one in seen} == set(asked), seen
    # An edit that was never made is paid for without a question.
    write(d=TITLE)
    assert forgetful.run("--select", "d").status == 0
    assert forgetful.bought() == bought + 1
    write(**changes, d=TITLE)
    assert forgetful.run("--select", "a", "--pay-again").status == 0
    assert forgetful.bought() == bought + 2


def rename_twice(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.make({"id": "b", "was": "a"})
    stage.write({"id": "c", "was": "b"})


def make_a_variant(stage: Place) -> None:
    stage.make({"id": "a", "language": "en"})
    stage.write({"id": "a"}, matrix={"axes": {"language": ["en"]}})


def edit(**change: Any) -> Callable[[Place], None]:
    def make(stage: Place) -> None:
        stage.make({"id": "a"})
        stage.make({"id": "a", **change})

    return make


def change_title_unmade(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.write({"id": "a", **TITLE})


CHANGES = [edit(**TITLE), edit(**VOICE), edit(**SCENE), change_title_unmade]


@pytest.mark.safeguard(
    "tasks/campaign/service_list.py", "return young and row.row in sent", "return young"
)
@pytest.mark.safeguard(
    "tasks/campaign/service_list.py", "is_other = bool(key) and (", "is_other = bool(key) or ("
)
@pytest.mark.parametrize("change", [*CHANGES, make_a_variant, rename_twice])
def test_a_video_under_another_key_that_may_be_the_rows_asks_a_person(
    stage: Place, change: Callable[[Place], None]
) -> None:
    change(stage)
    before = stage.bought()
    for hidden in ([KEYS, MOMENTS], [KEYS], []):
        stage.lose()
        stage.sandbox.clear_faults()
        if hidden:
            stage.hide(*hidden)
        said = stage.is_asked()
        assert "may pay a second time" in said
        assert "the service lists vid_" in said
    assert stage.bought() == before
    # What was seen once holds, whatever can be looked up later.
    stage.sandbox.plan_fault(on="list", do="forbidden")
    assert stage.run().status == 4
    # Only a person lets it be paid for again.
    assert stage.run("--pay-again").status == 0
    assert stage.bought() == before + 1


@pytest.mark.safeguard("tasks/campaign/service_list.py", "name not in _EDITED}", "True}")
def test_a_video_that_shows_neither_of_its_edits_asks_a_person(stage: Place) -> None:
    """No one edit leads from what the service shows to what the row asks for."""
    stage.make({"id": "a", "caption_style": "bold"})
    stage.make({"id": "a", "caption_style": "bold", **VOICE})
    stage.make({"id": "a", "caption_style": "thin", **VOICE})
    before = stage.bought()
    stage.lose()
    shown = {**stage.sandbox.list_videos()[0], "caption_style": "bold", "voice_id": "anna"}
    stage.sandbox.plan_fault(on="list", do="rewrite", set={"videos": [shown]})
    assert "the service lists vid_" in stage.is_asked()
    assert stage.bought() == before


def test_nobody_is_asked_where_nothing_suggests_it(stage: Place) -> None:
    """Videos of other rows, of other programs, and of other texts are no row's."""
    one, two = {"id": "a"}, {"id": "b", "title": "Autumn"}
    other = {"id": "c", "script": {"scenes": ["Nine ten.", "Eleven."]}}
    stage.make(one)
    before = stage.bought()
    script = {"scenes": ["Ten and ten.", "Are twenty."]}
    by_hand = {"duration_seconds": 10, "script": script, "title": "Winter"}
    for key in ({}, {"idempotency_key": "another-program"}):
        stage.sandbox.post("videos", {**by_hand, **key, "start_generation": True})
    stage.lose()
    # Its own key finds the first; of the second the same script is no evidence: it is the first's.
    stage.write(one, two, other, {"id": "d", **by_hand})
    ended = stage.run()
    assert (ended.status, ended.json["rows"]) == (0, {"total": 4, "delivered": 4}), ended.err
    assert stage.bought() - before == 2 + 3


def test_a_person_who_says_new_campaign_is_not_asked_again(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.lose()
    stage.name += "-again"
    stage.write({"id": "a"})
    ended = stage.run("--new-campaign")
    assert (ended.status, ended.json["rows"]) == (0, {"total": 1, "delivered": 1}), ended.err


def test_a_key_that_was_sent_is_safe_while_it_is_known(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.forget_videos()
    stage.lose(".callsheet")
    stage.hide(KEYS)
    ended = stage.run()
    assert (ended.status, ended.json["rows"]) == (0, {"total": 1, "delivered": 1}), ended.err
    assert stage.bought() == 1


@pytest.mark.safeguard(
    "tasks/campaign/manifest.py",
    "if last is None or made_at is None or restored_since(connection, made_at):",
    "if last is None or made_at is None:",
)
@pytest.mark.safeguard(
    "tasks/campaign/manifest.py",
    "if there is None or there.sha256 == ours:",
    "if there is None or there.sha256:",
)
@pytest.mark.always
def test_what_the_run_sent_after_the_backup_is_not_paid_again(stage: Place) -> None:
    """The backup is of a run: after its manifest, before its request was recorded."""
    desk, studio = stage.desk, stage.sandbox
    desk.environ["CALLSHEET_LEASE"] = "1s"
    stage.run("--select", "r001")
    words = ("run", stage.sheet, "--yes", "--json", "--without-prefect")
    desk.kill(*words, at="ledger: before the commit (submit._opened)")
    stage.back_up()
    key = _send_as_the_run_would(stage)
    time.sleep(1)
    stage.restore()
    studio.plan_fault(on="create", do="forget-key")
    studio.plan_fault(on="list", do="forbidden")
    stage.pass_horizon()
    again = stage.run()
    assert (again.status, studio.charged([key])) == (4, {key: 1}), again.err


def _send_as_the_run_would(stage: Place) -> str:
    """Send the second row's request, and return its key."""
    query = "SELECT state, request, digest, operation FROM rows WHERE row = 'r002'"
    file = stage.desk.folder / ".callsheet" / "ledger.db"
    with contextlib.closing(sqlite3.connect(file)) as ledger:
        state, request, digest, operation = ledger.execute(query).fetchone()
    assert state == "approved"
    about = {"campaign": stage.name, "row": "r002", "operation": operation}
    key = idempotency_key(**about, digest=digest, nth=1)
    body = frozen_body(json.loads(request), key=key, operation=operation)
    stage.sandbox.post("videos", json.loads(body))
    return key
