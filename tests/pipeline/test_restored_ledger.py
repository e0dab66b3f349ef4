"""A ledger restored from a backup, or lost with its store: what is paid for is not paid again.

The service has forgotten all keys: a second create under the same key is a second charge.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import PostgresServer
from tests.programs import Desk, Finished, Sandbox, simple_sheet

pytestmark = pytest.mark.merge

#: A list without keys, and one that also does not say when a video was made.
HIDDEN = ["videos.*.idempotency_key"]
CLIP = "id,operation,image\na,image-to-video,https://img.example/{}.png\n"


class Studio:
    """A folder with a sheet, and a service that forgets every key."""

    def __init__(self, desk: Desk, sandbox: Sandbox, name: str) -> None:
        self.desk = Desk(desk.folder, sandbox.environ)
        self.sandbox, self.name = sandbox, name
        self.sheet = f"{name}.csv"
        (desk.folder / self.sheet).write_text(simple_sheet(2, title=name))
        sandbox.plan_fault(on="create", do="forget-key")

    def run(self, *words: str) -> Finished:
        words = ("run", self.sheet, "--yes", "--json", "--without-prefect", *words)
        return self.desk.call(*words)

    def pass_horizon(self) -> None:
        self.desk.environ["CALLSHEET_HORIZON"] = "1s"
        time.sleep(1)

    def lose(self, *names: str) -> None:
        for name in names:
            shutil.rmtree(self.desk.folder / name)

    def go_back_to(self, backup: str) -> None:
        """Deliver all, delete the videos at the service, and have the ledger of a backup again."""
        assert self.run().status == 0
        self.desk.environ["CALLSHEET_KEEP_AT_SERVICE"] = "1s"
        time.sleep(1)
        assert self.desk.call("prune", self.name, "--yes", "--json").json["deleted"] == 2
        assert self.desk.call("ledger", "restore", backup, "--instead").status == 0

    def charges(self) -> int:
        return sum(
            one["event"] == "charge" and self.name in str(one["title"])
            for one in self.sandbox.charges()
        )

    def history(self, row: str) -> str:
        return self.desk.call("explain", self.name, row, "--json").out


@pytest.fixture
def forgetful(desk: Desk, studio: Sandbox, name: str) -> Iterator[Studio]:
    yield Studio(desk, studio, name)
    studio.clear_faults()


def test_a_restored_backup_pays_for_nothing_twice(forgetful: Studio) -> None:
    desk = forgetful.desk
    assert forgetful.run("--select", "r001").status == 0
    assert desk.call("ledger", "backup", "backup.db").status == 0
    assert forgetful.run().status == 0
    forgetful.pass_horizon()
    assert desk.call("ledger", "restore", "backup.db", "--instead").status == 0

    again = forgetful.run()

    assert again.status == 0, again.err
    assert forgetful.charges() == 2
    assert again.json["credits"]["charged_this_run"] == 0
    assert again.json["rows"] == {"total": 2, "delivered": 2}
    assert "1 video that another ledger paid for was found" in again.err


def test_a_run_on_a_restored_ledger_claims_no_charge_that_the_service_did_not_make(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    desk.environ = dict(studio.environ)
    (desk.folder / f"{name}.csv").write_text(simple_sheet(3, title=name))
    words = ("run", f"{name}.csv", "--yes", "--without-prefect")
    assert desk.call(*words, "--select", "r001").status == 0
    assert desk.call("ledger", "backup", "backup.db").status == 0
    assert desk.call(*words).status == 0
    before = len(studio.charges())
    assert desk.call("ledger", "restore", "backup.db", "--instead").status == 0
    # Nothing says what was paid for since the backup: only the keys do, at the service.
    shutil.rmtree(desk.folder / "deliveries")
    studio.plan_fault(on="list", do="forbidden")
    again = desk.call(*words)
    studio.clear_faults()

    assert again.status == 0, again.err
    assert len(studio.charges()) == before
    said = " ".join(again.out.split())
    words_of_it = "the videos of this run cost 30 credits, less what was paid for them before the"
    assert f"{words_of_it} ledger was restored" in said


def test_what_was_delivered_and_deleted_at_the_service_since_a_backup_is_there(
    forgetful: Studio,
) -> None:
    desk = forgetful.desk
    forgetful.sandbox.plan_fault(on="render", do="slow", seconds=15)
    # A machine that is busy needs more than one go until both are sent.
    goes = (forgetful.run("--max-wait", "2s").json["rows"] for _ in range(9))
    assert {"total": 2, "rendering": 2} in goes
    assert desk.call("ledger", "backup", "backup.db").status == 0
    forgetful.go_back_to("backup.db")

    again = forgetful.run()

    assert (again.status, again.json["rows"]) == (0, {"total": 2, "delivered": 2}), again.err
    assert forgetful.charges() == 2
    assert again.json["credits"]["charged"] == 30
    assert desk.call("verify", forgetful.name).status == 0
    assert desk.call("reconcile", forgetful.name).status == 0


def test_what_was_deleted_at_the_service_since_a_backup_without_its_answer_is_there(
    forgetful: Studio,
) -> None:
    desk = forgetful.desk
    forgetful.sandbox.clear_faults()
    forgetful.sandbox.plan_fault(on="create", do="drop-after")
    parked = desk.leave_under_way(forgetful.sheet)
    assert desk.call("ledger", "backup", "backup.db").status == 0
    forgetful.sandbox.clear_faults()
    forgetful.go_back_to("backup.db")

    again = forgetful.run()

    assert parked.json["rows"] == {"total": 2, "submitting": 2}
    assert (again.status, again.json["rows"]) == (0, {"total": 2, "delivered": 2}), again.err
    assert forgetful.charges() == 2
    assert again.json["credits"]["charged"] == 30


def test_with_ledger_and_store_lost_the_list_finds_all_by_key(forgetful: Studio) -> None:
    first = forgetful.run()
    forgetful.pass_horizon()
    forgetful.lose(".callsheet", "deliveries")

    again = forgetful.run()

    assert again.status == 0, again.err
    assert forgetful.charges() == 2
    assert again.json["rows"] == {"total": 2, "delivered": 2}
    assert again.json["credits"]["charged"] == first.json["credits"]["charged"]
    assert again.json["credits"]["charged_this_run"] == 0


@pytest.mark.parametrize("hidden", [HIDDEN, [*HIDDEN, "videos.*.created_at"]])
def test_a_list_without_keys_is_evidence_that_stands_until_a_person_decides(
    forgetful: Studio, hidden: list[str]
) -> None:
    forgetful.run()
    forgetful.pass_horizon()
    forgetful.lose(".callsheet", "deliveries")
    forgetful.sandbox.plan_fault(on="list", do="rewrite", remove=hidden)

    refused = [forgetful.run() for _ in range(3)]

    assert [one.status for one in refused] == [4, 4, 4]
    assert "may pay a second time (r001: the service lists vid_" in refused[2].err
    assert forgetful.charges() == 2
    # What was seen once holds, whatever can be looked up later.
    forgetful.sandbox.plan_fault(on="list", do="forbidden")
    assert forgetful.run().status == 4
    assert forgetful.run("--pay-again").status == 0
    assert forgetful.charges() == 4
    assert '"pay-again"' in forgetful.history("r001")


def test_a_refusal_holds_after_other_rows_were_found(forgetful: Studio) -> None:
    forgetful.run()
    forgetful.pass_horizon()
    manifest = forgetful.desk.folder / "deliveries" / forgetful.name / "manifest.json"
    # What a run leaves that is killed before the answer to its second create.
    said = manifest.read_text().replace('"video_id":"', '"video_id":null,"was":"', 2)
    first, _, second = said.partition('"video_id":null,"was":"')
    manifest.write_text(f'{first}"video_id":"{second}')
    forgetful.lose(".callsheet")
    forgetful.sandbox.plan_fault(on="list", do="rewrite", remove=[*HIDDEN, "videos.*.title"])
    forgetful.sandbox.plan_fault(on="list", do="rewrite", remove=["videos.*.fields"])

    refused = [forgetful.run() for _ in range(2)]

    assert [one.status for one in refused] == [4, 4], refused[0].err
    assert "r002: it was, or may have been, sent on" in refused[1].err
    assert forgetful.charges() == 2


@pytest.mark.parametrize("horizon", ["24h", "1s"])
def test_a_clip_without_a_key_is_young_at_no_age(forgetful: Studio, horizon: str) -> None:
    desk = forgetful.desk
    (desk.folder / forgetful.sheet).write_text(CLIP.format(forgetful.name))
    forgetful.run()
    calls = forgetful.sandbox.calls()["image-to-video"]
    desk.environ["CALLSHEET_HORIZON"] = horizon
    manifest = desk.folder / "deliveries" / forgetful.name / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"video_id":"', '"was":"'))
    forgetful.lose(".callsheet")
    forgetful.sandbox.plan_fault(on="list", do="forbidden")

    refused = [forgetful.run() for _ in range(2)]

    assert [one.status for one in refused] == [4, 4], refused[0].err
    assert "image-to-video takes no key" in refused[1].err
    assert forgetful.sandbox.calls()["image-to-video"] == calls


@pytest.mark.parametrize(
    "fault", [{"do": "forbidden"}, {"do": "error-before", "status": 404}, {"do": "shapeless"}]
)
def test_a_list_that_cannot_be_read_is_said_and_keys_still_hold(
    forgetful: Studio, fault: dict[str, object]
) -> None:
    forgetful.sandbox.plan_fault(on="list", **fault)

    ended = forgetful.run()

    assert ended.status == 0, ended.err
    assert "remembers keys cannot be found" in ended.err


def test_an_unchanged_sheet_lists_nothing_and_a_new_one_lists_once(forgetful: Studio) -> None:
    calls = forgetful.sandbox.calls().get("list", 0)
    forgetful.sandbox.plan_fault(on="list", do="rewrite", set={"next_cursor": None})
    forgetful.run()
    first = forgetful.sandbox.calls()["list"]
    forgetful.run()

    assert (first - calls, forgetful.sandbox.calls()["list"]) == (1, first)


def test_another_brief_is_another_video(forgetful: Studio, tmp_path: Path) -> None:
    forgetful.run()
    forgetful.pass_horizon()
    forgetful.lose(".callsheet", "deliveries")
    forgetful.sandbox.plan_fault(on="list", do="rewrite", remove=HIDDEN)
    assert forgetful.run().status == 4
    text = simple_sheet(2, title=f"{forgetful.name} anew")
    (forgetful.desk.folder / forgetful.sheet).write_text(text.replace("Kettle", "Pot"))

    assert forgetful.run().status == 0
    assert forgetful.charges() == 4


def test_a_nightly_run_with_a_standing_approval_is_refused_as_well(forgetful: Studio) -> None:
    desk = forgetful.desk
    night = ("nightly", ".", "--approve-up-to", "500", "--json")
    assert desk.call(*night, here=True).status == 0
    forgetful.pass_horizon()
    forgetful.lose(".callsheet", "deliveries")
    forgetful.sandbox.plan_fault(on="list", do="rewrite", remove=HIDDEN)

    refused = [desk.call(*night, here=True) for _ in range(2)]

    assert [one.status for one in refused] == [4, 4], refused[0].err
    assert [one.json["charged"] for one in refused] == [0, 0]
    assert forgetful.charges() == 2


def test_a_retake_that_another_ledger_paid_for_is_found(forgetful: Studio) -> None:
    desk = forgetful.desk
    assert forgetful.run().status == 0
    assert desk.call("ledger", "backup", "backup.db").status == 0
    retake = ("retake", forgetful.name, "r001", "--because", "wording", "--run", "--yes", "--json")
    assert desk.call(*retake, here=True).status == 0
    forgetful.pass_horizon()
    assert desk.call("ledger", "restore", "backup.db", "--instead").status == 0

    again = desk.call(*retake, here=True)

    assert again.status == 0, again.err
    assert "1 video that another ledger paid for was found" in again.err
    assert forgetful.charges() == 3
    takes = [
        row["take"]
        for row in map(json.loads, desk.call("rows", forgetful.name, "--json").out.splitlines())
    ]
    assert takes == [2, 1]


TITLE = {"title": "Summer"}
VOICE = {"voice_id": "ben"}
SCENE = {"script": {"scenes": ["One two three.", "Seven eight."]}}


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_edit_that_the_video_shows_is_not_paid_for_again(
    forgetful: Studio, kind: str, request: pytest.FixtureRequest
) -> None:
    desk, studio = forgetful.desk, forgetful.sandbox
    forgetful.sheet = f"{forgetful.name}.json"
    script = {"scenes": ["One two three.", "Four five six."]}
    base = {"title": "Spring", "duration_seconds": 10, "voice_id": "anna", "script": script}

    def write(**edits: dict[str, object]) -> None:
        rows = [{"id": row, **base, **edits.get(row, {})} for row in "abcd"]
        (desk.folder / forgetful.sheet).write_text(json.dumps({"rows": rows}))

    def restore() -> None:
        if kind == "sqlite":
            # The one before was kept under the second in which it was replaced.
            for kept in (desk.folder / ".callsheet").glob("ledger.db.before-*"):
                kept.unlink()
            assert desk.call("ledger", "restore", "backup.db", "--instead").status == 0
        else:
            server: PostgresServer = request.getfixturevalue("postgres")
            desk.environ["CALLSHEET_LEDGER"] = server.new_database()
            assert desk.call("ledger", "restore", "backup.db").status == 0
        shutil.rmtree(desk.folder / "deliveries", ignore_errors=True)

    write()
    assert forgetful.run().status == 0
    assert desk.call("ledger", "backup", "backup.db").status == 0
    changes = {"a": TITLE, "b": VOICE, "c": SCENE}
    write(**changes)
    assert forgetful.run().status == 0
    bought = len(studio.bought())

    # The service's list shows what a video has cost, and its title, or only one of them.
    for hidden, asked in (([], "abc"), (["videos.*.credits_charged"], "a")):
        restore()
        studio.clear_faults()
        if hidden:
            studio.plan_fault(on="list", do="rewrite", remove=hidden)
        only = ("--select", ",".join(asked))
        refused = [forgetful.run(*only) for _ in range(2)]
        assert [one.status for one in refused] == [4, 4], refused[0].err
        for row in asked:
            assert f"{row}: the service shows vid_" in refused[1].err
        seen = desk.call("reconcile", forgetful.name, "--json").json["differences"]
        assert {one["row"] for one in seen} == set(asked), seen
    # An edit that was never made is paid for without a question.
    write(d=TITLE)
    assert forgetful.run("--select", "d").status == 0
    assert len(studio.bought()) == bought + 1
    write(**changes, d=TITLE)
    assert forgetful.run("--select", "a", "--pay-again").status == 0
    assert len(studio.bought()) == bought + 2
