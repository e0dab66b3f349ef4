"""`callsheet doctor`: what is wrong with a place, and what helps."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from callsheet.deployments.findings import ledger, room
from callsheet.tasks.ledger.distributed_runs import begin_worker, claim_rows
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.maintenance import make_ledger
from callsheet.tasks.ledger.migrate import schema_of
from callsheet.tasks.runtime.settings import load_settings
from tests.campaigns import Stage, brief
from tests.databases import postgres_server, take_ledger
from tests.leasing import acquire_lease
from tests.programs import Desk, Sandbox, simple_sheet
from tests.stores import S3Server, moto_s3, rclone_s3
from tests.unit.ledger.test_productions import LAPSED, OWNER, begin
from tests.web import Quiet, serving

Parts = dict[str, list[dict[str, Any]]]
Spoil = Callable[[Desk, Sandbox], object]


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.environ["PREFECT_API_URL"] = ""
    return desk


def found(desk: Desk, status: int) -> Parts:
    """Return what is found of each part; whatever is not well says what helps."""
    done = desk.call("doctor", "--json")
    assert (done.status, done.json["exit"]) == (status, status), done.out
    parts: Parts = {}
    for one in done.json["findings"]:
        assert (one["verdict"] == "ok") == (one["remedy"] is None), one
        parts.setdefault(one["part"], []).append(one)
    return parts


@contextmanager
def service_whose_clock_is(behind: timedelta, *, status: int = 200) -> Iterator[str]:
    """A service that takes every key, and believes that it is another moment."""

    class Handler(Quiet):
        def do_GET(self) -> None:
            self.send_response_only(status)
            self.send_header("Date", format_datetime(datetime.now(UTC) - behind, usegmt=True))
            self.send_header("Content-Length", "11")
            self.end_headers()
            self.wfile.write(b'{"data": []}'[:11])

    with serving(Handler) as url:
        yield f"{url}/api/v1"


def test_a_place_that_is_well_is_said_to_be(desk: Desk) -> None:
    take_ledger(desk.folder)
    parts = found(desk, 0)
    well = ("versions", "files", "service", "clock", "store", "prefect")
    assert {part: {one["verdict"] for one in all_} for part, all_ in parts.items()} == {
        **{part: {"ok"} for part in well},
        # The ledger and the videos are in one folder.
        "disk": {"ok", "note"},
        "ledger": {"note"},
    }
    assert "ok    versions  Python 3." in desk.call("doctor").out
    # Nothing is made to find out whether it can be.
    assert [*desk.folder.iterdir()] == []


def test_settings_that_cannot_be_read_are_a_finding(desk: Desk) -> None:
    desk.environ["CALLSHEET_LEASE"] = "soon"
    parts = found(desk, 2)
    (one,) = parts["settings"]
    assert (one["verdict"], "CALLSHEET_LEASE" in one["words"]) == ("wrong", True)
    assert {"versions", "prefect"} == parts.keys() - {"settings"}


@pytest.mark.parametrize(
    ("behind", "words"),
    [(timedelta(hours=1), "behind this machine's"), (timedelta(hours=-1), "ahead of this")],
)
def test_a_clock_that_goes_wrong_is_said(desk: Desk, behind: timedelta, words: str) -> None:
    with service_whose_clock_is(behind) as address:
        desk.environ["CALLSHEET_BASE_URL"] = address
        (clock,) = found(desk, 2)["clock"]
    assert words in clock["words"]
    assert "NTP" in clock["remedy"]


@pytest.mark.parametrize(
    ("status", "verdict"), [(405, "ok"), (200, "note"), (404, "note"), (502, "note")]
)
def test_a_way_for_webhooks_that_leads_to_no_receiver_is_said(
    desk: Desk, status: int, verdict: str
) -> None:
    with service_whose_clock_is(timedelta(), status=status) as address:
        desk.environ["CALLSHEET_WEBHOOK_URL"] = f"{address}/hooks"
        (way,) = found(desk, 0)["webhooks"]
    assert (way["verdict"], f"({status})" in way["words"]) == (verdict, True)


@pytest.mark.merge
def test_a_ledger_that_does_not_add_up_or_is_everybodys_is_said(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0
    file = desk.folder / ".callsheet" / "ledger.db"
    sound, backup = found(desk, 0)["ledger"]
    assert (sound["verdict"], "it adds up" in sound["words"]) == ("ok", True)
    assert (backup["verdict"], backup["words"]) == ("note", "it was never backed up")
    assert desk.call("ledger", "backup", str(desk.folder)).status == 0
    assert [one["verdict"] for one in found(desk, 0)["ledger"]] == ["ok"]
    file.chmod(0o644)
    tell(file, "UPDATE campaigns SET charged = charged + 1")
    parts = found(desk, 2)
    assert "its account says" in parts["ledger"][0]["words"]
    assert (parts["files"][0]["verdict"], str(file) in parts["files"][0]["words"]) == ("note", True)


def test_a_ledger_of_an_older_schema_is_left_as_it_is(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    make_ledger(address)
    tell(tmp_path / "ledger.db", "UPDATE callsheet_version SET version_num = '0023'")
    (one,) = ledger(address)
    assert (one.verdict, "this ledger has schema 0023, of a" in one.words) == ("wrong", True)
    assert schema_of(address) == "0023"


def a_key_that_may(scope: str) -> Spoil:
    return lambda desk, service: desk.environ.update(CALLSHEET_API_KEY=service.ready["keys"][scope])


def a_setting(name: str, value: str) -> Spoil:
    return lambda desk, _: desk.environ.update({f"CALLSHEET_{name}": value})


def a_store_nobody_writes_to(desk: Desk, _: Sandbox) -> None:
    # Rights keep nobody out who is root; in there no file can be made by anybody.
    folder = Path("/proc") if os.geteuid() == 0 else desk.folder / "closed"
    if os.geteuid():
        folder.mkdir(mode=0o500)
    desk.environ["CALLSHEET_STORE"] = str(folder)


def a_store_below_a_file(desk: Desk, _: Sandbox) -> None:
    (desk.folder / "videos").write_text("")
    desk.environ["CALLSHEET_STORE"] = str(desk.folder / "videos" / "spring")


def a_ledger_that(spoil: Callable[[Path], object]) -> Spoil:
    def make(desk: Desk, _: Sandbox) -> None:
        file = desk.folder / "ledger.db"
        make_ledger(f"sqlite:///{file}")
        spoil(file)
        desk.environ["CALLSHEET_LEDGER"] = f"sqlite:///{file}"

    return make


def tell(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(statement)


def scratch(file: Path) -> None:
    """Have the disk lose what is behind the first pages."""
    data = bytearray(file.read_bytes())
    data[8192:-8192] = b"\xaa" * (len(data) - 16384)
    file.write_bytes(data)


def replace_by_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def a_ledger_that_was(how: Callable[[Path], object]) -> Spoil:
    def make(desk: Desk, _: Sandbox) -> None:
        manifest = desk.folder / "deliveries" / "spring" / "manifest.json"
        manifest.parent.mkdir(parents=True)
        manifest.write_text("{}")
        how(desk.folder / ".callsheet" / "ledger.db")

    return make


def nights_with_a_slip(desk: Desk, _: Sandbox) -> None:
    (desk.folder / "nights.toml").write_text('[inbox.spring]\nplaec = "inbox"\n')


LONG = "n" * 300
BELOW = f"sqlite:///{__file__}/ledger.db"
NEWER = "UPDATE callsheet_version SET version_num = '9999'"
NOWHERE = "http://127.0.0.1:9"
MANIFEST = ("ledger", "wrong", "has the manifest of spring", "callsheet ledger restore FILE")
#: What is broken, how; then which part is found so, with which verdict, words and remedy.
BROKEN: Mapping[str, tuple[Spoil, str, str, str, str]] = {
    "a slip in a name": (a_setting("COLOUR", "red"), "settings", "note", "CALLSHEET_COLOUR", ""),
    "a key of nobody's": (
        a_setting("API_KEY", "mav_nobodys"), "service", "wrong", "does not accept the key",
        "callsheet login",
    ),
    "no key": (a_setting("API_KEY", ""), "service", "wrong", "", "callsheet login"),
    "a service that is away": (
        a_setting("BASE_URL", f"{NOWHERE}/api/v1"), "service", "wrong", "could not be reached", "",
    ),
    "a key that may only read": (
        a_key_that_may("read"), "service", "note", "can neither make nor edit nor cancel", "write",
    ),
    "a key that may not read": (
        a_key_that_may("write"), "service", "wrong", "which may not read", "scope read",
    ),
    "a store that can only be read": (
        a_store_nobody_writes_to, "store", "wrong", "videos cannot be written to", "writable",
    ),
    "a store below a file": (
        a_store_below_a_file, "store", "wrong", "nothing can be made in", "another folder",
    ),
    "a store of too long a name": (
        a_setting("STORE", f"/tmp/{LONG}"), "store", "wrong", "file name too long", "path",
    ),
    "a store that is none": (
        a_setting("STORE", "ftp://videos"), "store", "wrong", "is not a store", "s3://bucket",
    ),
    "a ledger of a kind that is none": (
        a_setting("LEDGER", "mysql://h/d"), "ledger", "wrong", "cannot live in mysql", "",
    ),
    "a ledger of too long a name": (
        a_setting("LEDGER", f"sqlite:////tmp/{LONG}"), "files", "wrong", "file name too long",
        "path",
    ),
    "a ledger below a file": (
        a_setting("LEDGER", BELOW), "ledger", "wrong",
        f"cannot be made: nothing can be written to {__file__}", "may write to",
    ),
    "a ledger that is a folder": (
        a_ledger_that(replace_by_a_folder), "ledger", "wrong", "cannot be opened", "write to",
    ),
    "a ledger that is no database": (
        a_ledger_that(lambda file: file.write_text("what the disk made of it" * 99)),
        "ledger", "wrong", "is damaged or is not a ledger", "restore it from a backup",
    ),
    "a ledger whose pages are lost": (a_ledger_that(scratch), "ledger", "wrong", "", "restore"),
    "a ledger of a newer schema": (
        a_ledger_that(lambda file: tell(file, NEWER)),
        "ledger", "wrong", "which is newer than this Callsheet knows", "install the Callsheet",
    ),
    "a ledger on PostgreSQL that is away": (
        a_setting("LEDGER", "postgresql://nobody@127.0.0.1:9/ledger"),
        "ledger", "wrong", "cannot be used", "its server is up",
    ),
    "an address for webhooks that is none": (
        a_setting("WEBHOOK_URL", "https://nobody.invalid/hooks"),
        "webhooks", "note", "no answer at", "callsheet receive",
    ),
    "a ledger that was lost": (a_ledger_that_was(Path.unlink), *MANIFEST),
    "a ledger that was emptied": (a_ledger_that_was(lambda f: f.write_bytes(b"")), *MANIFEST),
    "a ledger that was made anew": (a_ledger_that_was(lambda _: None), *MANIFEST),
    "a slip in nights.toml": (nights_with_a_slip, "nights", "wrong", "plaec", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_named_and_the_rest_is_looked_at(
    desk: Desk, service: Sandbox, case: str
) -> None:
    spoil, part, verdict, words, remedy = BROKEN[case]
    spoil(desk, service)
    before = contents(desk.folder)
    parts = found(desk, 2 if verdict == "wrong" else 0)
    told = [one for one in parts[part] if one["verdict"] == verdict]
    assert any(words in one["words"] and remedy in one["remedy"] for one in told), parts
    assert {"versions", "disk", "ledger", "service", "store", "prefect"} <= {*parts}
    assert contents(desk.folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, and what is in it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


def work_with_bucket(desk: Desk, server: S3Server, address: str) -> None:
    desk.environ |= {**server.environment(), "CALLSHEET_STORE": address}


@pytest.mark.merge
def test_what_a_bucket_lacks_or_refuses_is_said(desk: Desk, tmp_path: Path) -> None:
    with rclone_s3(tmp_path / "s3") as server:
        work_with_bucket(desk, server, "s3://videos/spring")
        lets_overwrite = found(desk, 0)["store"]
        assert server.keys() == []
        desk.environ["CALLSHEET_STORE"] = "s3://nobodys"
        no_bucket = found(desk, 2)["store"]
        desk.environ["CALLSHEET_STORE"] = "s3://videos"
        desk.environ["AWS_SECRET_ACCESS_KEY"] = "another"
        refused = found(desk, 2)["store"]
    away = found(desk, 2)["store"]
    with moto_s3() as server:
        work_with_bucket(desk, server, "s3://videos")
        conditional = found(desk, 0)["store"]
    assert [one["verdict"] for one in lets_overwrite] == ["ok", "note"]
    assert "s3://videos/spring lets files be overwritten" in lets_overwrite[1]["words"]
    assert "If-None-Match" in lets_overwrite[1]["remedy"]
    assert not any("overwritten" in one["words"] for one in conditional)
    for one in (*no_bucket, *refused, *away):
        assert "videos cannot be written to s3://" in one["words"]


def test_a_disk_that_is_nearly_full_is_said(desk: Desk) -> None:
    settings = load_settings(folder=desk.folder)
    scarce, shared = room(settings, scarce=10**18)
    full, _ = room(settings, scarce=10**18, too_little=10**18)
    assert (shared.verdict, "are on the same disk" in shared.words) == ("note", True)
    assert (scarce.verdict, full.verdict) == ("note", "wrong")
    assert "make room" in f"{scarce.remedy}"
    assert "make room" in f"{full.remedy}"


def test_a_ledger_that_is_huge_is_to_be_made_smaller(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    make_ledger(address)
    assert next(one.verdict for one in ledger(address)) == "ok"
    (word,) = [one for one in ledger(address, huge=1000) if "take their time" in one.words]
    assert (word.verdict, word.remedy) == ("note", "`callsheet ledger vacuum --forget-events 400d`")


async def test_a_ledger_on_postgres_that_is_newer_or_that_workers_have_left() -> None:
    with postgres_server() as server:
        address = server.new_database()
        async with await open_ledger(address) as opened:
            stage = await Stage.set(opened)
            await stage.sync(brief("a"), brief("b"))
            for row in ("a", "b"):
                await stage.rendering(row)
            await stage.write(acquire_lease, stage.campaign, owner=OWNER, seconds=LAPSED)
            production = await begin(stage)
            gone = await stage.write(begin_worker, production=production, seconds=LAPSED)
            await stage.write(claim_rows, production=production, worker=gone, seconds=LAPSED)
            left = [*ledger(address)]
            await opened.write(lambda one: one.exec_driver_sql(NEWER))
        (newer,) = ledger(address)
    (word,) = [one for one in left if one.part == "runs"]
    words = f"{stage.campaign.name}: 2 rows under way, nobody is at work"
    assert (word.verdict, word.words) == ("note", words)
    assert "`callsheet run" in f"{word.remedy}"
    assert (newer.verdict, "9999, which is newer" in newer.words) == ("wrong", True)


@contextmanager
def prefect_that_answers(answers: Mapping[str, Any]) -> Iterator[str]:
    """A server that answers as Prefect's would, started with other settings or given little."""

    class Handler(Quiet):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.removeprefix("/api/")
            body = json.dumps(answers.get(path)).encode()
            self.send_response(200 if path in answers else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

    with serving(Handler) as url:
        yield f"{url}/api"


DEPLOYED = [{"name": "worker", "work_pool_name": "callsheet"}]
UP = {"health": True, "flows/count": 1}
WELL = {**UP, "deployments/filter": DEPLOYED}
RECORDER = {"server": {"services": {"task_run_recorder": {"read_batch_size": 1}}}}
WORKERS = "work_pools/callsheet/workers/filter"
IDLE, AT_WORK = [{"status": "OFFLINE"}], [{"status": "OFFLINE"}, {"status": "ONLINE"}]
NO_WORKER = "no Prefect worker of the work pool callsheet"


@pytest.mark.parametrize(
    ("answers", "verdict", "words", "remedy"),
    [
        (None, "wrong", "does not answer", ""),
        ({**WELL, "admin/settings": RECORDER}, "note", "reads 1 task runs at a time", "toml"),
        ({**WELL, "admin/version": "2.20.9"}, "wrong", "the server is Prefect 2.20.9", "major"),
        ({**UP, "deployments/filter": []}, "note", "starts no nightly runs", "nights install"),
        ({**WELL, WORKERS: IDLE}, "note", NO_WORKER, "prefect_worker"),
        ({**WELL, WORKERS: AT_WORK}, "ok", "has a Prefect worker that is up", ""),
        (WELL, "note", NO_WORKER, "callsheet up"),
        (UP, "note", "could not be read", "prefect deployment ls"),
    ],
)
def test_a_prefect_server_that_will_not_do_is_said(
    desk: Desk, answers: Mapping[str, Any] | None, verdict: str, words: str, remedy: str
) -> None:
    (desk.folder / "inbox").mkdir()
    (desk.folder / "nights.toml").write_text(f'[inbox.spring]\nplace = "{desk.folder}/inbox"\n')
    with prefect_that_answers(answers or {}) as address:
        desk.environ["PREFECT_API_URL"] = address if answers else f"{NOWHERE}/api"
        parts = found(desk, 2 if verdict == "wrong" else 0)
    told = [one for one in parts["prefect"] if one["verdict"] == verdict]
    assert any(words in o["words"] and remedy in (o["remedy"] or "") for o in told), parts
