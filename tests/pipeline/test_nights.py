"""Nights as people look after them: installed, listed, paused and heard of."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import subprocess
import time
import tomllib
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from PIL import Image

from callsheet.tasks.ledger.audit_log import acts_of
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.notices import digest
from tests.hearing_of_nights import mailbox
from tests.launcher import IMPORTS
from tests.pipeline.nights import BROKEN, Nights
from tests.pipeline.terminals import Terminal
from tests.programs import Desk, Sandbox, simple_sheet
from tests.web import Watcher, watcher

TOML = """\
# Ours; mind the remarks.
[inbox.spring]
place = "sheets/spring"   # dropped by the agency
timezone = "Pacific/Auckland"
approval = "plan-only"

[inbox.autumn]
place = "sheets/autumn"
cron = "30 3 * * MON"
timezone = "Europe/Berlin"
"""
CRON = ("--cron", "0 2 * * *")
BY_HAND = ("--without-prefect", "--json")


@pytest.fixture
def nights(desk: Desk) -> Desk:
    """A folder with two inboxes, one of which has no schedule yet."""
    for name in ("spring", "autumn"):
        (desk.folder / "sheets" / name).mkdir(parents=True)
    desk.sheet("nights.toml", TOML)
    return desk


def listed(desk: Desk) -> list[dict]:
    return list(desk.call("nights", "list", "--json").json["inboxes"])


def test_what_was_typed_is_written_and_its_lines_go_to_the_folder(nights: Desk) -> None:
    done = nights.call("nights", "install", "spring", *CRON, *BY_HAND)
    assert done.status == 0, done.err
    assert (nights.folder / "nights.toml").read_text() == TOML.replace(
        "[inbox.spring]\n", '[inbox.spring]\ncron = "0 2 * * *"\n'
    )
    (night,) = done.json["nights"]
    assert (night["inbox"], night["cron"]) == ("spring", "0 2 * * *")
    assert night["timezone"] == "Pacific/Auckland"
    assert time.time() < night["next_at"] < time.time() + 25 * 3600
    (line,) = done.json["lines"]
    zone, cron = line["cron"]
    assert zone == "CRON_TZ=Pacific/Auckland"
    assert cron.startswith(f"0 2 * * * cd {nights.folder} && CALLSHEET_BASE_URL=")
    log = nights.folder / ".callsheet" / "callsheet-nightly-spring.log"
    assert f" nightly spring >> {log} 2>&1" in cron
    assert "CALLSHEET_API_KEY" not in cron
    assert "CALLSHEET_API_KEY" in done.json["secrets"]
    assert "do not contain CALLSHEET_API_KEY" in done.err
    again = nights.call("nights", "install", "autumn", "--cron", "@daily", "--without-prefect")
    assert again.status == 0, again.err
    written = (nights.folder / "nights.toml").read_text()
    assert 'cron = "@daily"' in written
    assert "30 3" not in written
    assert "# dropped by the agency" in written


def test_a_digest_of_its_own_hour_is_started_too(nights: Desk) -> None:
    more = 'notify = ["env:NIGHT_MAIL"]\ndigest_at = "08:05"\n'
    nights.environ["NIGHT_MAIL"] = "mailto://somebody@example.test"
    nights.sheet("nights.toml", TOML + more)
    (nights.folder / "configs" / "profiles").mkdir(parents=True)
    nights.sheet("configs/profiles/studio.toml", "")
    named = ("--nights", "nights.toml", "--profile", "studio")
    done = nights.call("nights", "install", "autumn", *BY_HAND, *named)
    assert done.status == 0, done.err
    night, digest = done.json["lines"]
    assert (night["name"], digest["name"]) == ("nightly-autumn", "digest-autumn")
    assert digest["variables"] == ["NIGHT_MAIL"]
    assert "they do not have NIGHT_MAIL, which the addresses of nights.toml name" in done.err
    assert "5 8 * * * cd" in digest["cron"][1]
    file = nights.folder / "nights.toml"
    assert f"nights digest autumn --nights {file} --profile studio" in digest["cron"][1]


def test_a_folder_that_nobody_listed_becomes_an_inbox_that_asks(desk: Desk) -> None:
    (desk.folder / "my sheets").mkdir()
    words = ("nights", "install", "my sheets", *CRON, "--timezone", "Europe/Berlin")
    assert desk.call(*words, *BY_HAND).status == 0
    inbox = {"place": "my sheets", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}
    written = tomllib.loads((desk.folder / "nights.toml").read_text())
    assert written == {"inbox": {"my-sheets": inbox}}
    (one,) = listed(desk)
    assert (one["inbox"], one["approval"], one["last"]) == ("my-sheets", "plan-only", None)


@pytest.mark.parametrize(
    "text",
    [
        '[inbox]\nspring = {place = "sheets", cron = "0 2 * * *"}\n',
        '[inbox.spring]\nplace = "sheets"\ncron = """\n0 2 * * *"""\n',
    ],
)
def test_a_form_that_cannot_be_edited_is_left_as_it_is(desk: Desk, text: str) -> None:
    (desk.folder / "sheets").mkdir()
    desk.sheet("nights.toml", text)
    refused = desk.call("nights", "install", "spring", "--cron", "0 5 * * *", *BY_HAND)
    assert (refused.status, (desk.folder / "nights.toml").read_text()) == (2, text)
    assert 'add it to the file yourself: cron = "0 5 * * *"' in refused.err


@pytest.mark.parametrize("listed_as", ["sheets", "a b"])
def test_two_folders_of_one_name_do_not_share_a_schedule(desk: Desk, listed_as: str) -> None:
    for place in ("ann/sheets", "bob/sheets", "bob/a-b"):
        (desk.folder / place).mkdir(parents=True)
    desk.sheet("nights.toml", f'[inbox."{listed_as}"]\nplace = "ann/sheets"\ncron = "0 2 * * *"\n')
    before = listed(desk)
    other = desk.folder / "bob" / listed_as.replace(" ", "-")
    refused = desk.call("nights", "install", str(other), "--cron", "0 5 * * *", *BY_HAND)
    assert refused.status == 2
    assert f"{other} would have the schedule of {desk.folder / 'ann/sheets'}" in refused.err
    assert [one["cron"] for one in listed(desk)] == [one["cron"] for one in before]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("install", "spring"), "spring has no schedule; nothing was installed"),
        (("install", "--cron", "two o'clock"), "is not a schedule"),
        (("install", "--cron", "0 2 31 2 *"), "is not a schedule"),
        (("install", *CRON, "--timezone", "Mars/Olympus"), "there is no time zone"),
        (("install", "winter", *CRON), "winter is not an inbox"),
        (("pause", "until"), "until when?"),
        (("pause", "until", "2020-01-01"), "2020-01-01 has passed"),
        (("pause", "until", "soon"), "neither a date nor a duration"),
        (("pause", "winter"), "winter is not an inbox"),
        (("test",), "there is no one to notify"),
        (("list", "--nights", "gone.toml"), "gone.toml cannot be read"),
    ],
)
def test_what_cannot_be_meant_changes_nothing(
    nights: Desk, words: tuple[str, ...], said: str
) -> None:
    done = nights.call("nights", *words)
    assert (done.status, said in done.err) == (2, True), done.err
    assert (nights.folder / "nights.toml").read_text() == TOML


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('cron = "two"', "inbox.spring.cron is not a schedule"),
        ('timezone = "Mars/Olympus"', "inbox.spring.timezone is not a time zone"),
    ],
)
def test_a_schedule_that_is_none_is_named_with_its_file(desk: Desk, line: str, said: str) -> None:
    desk.sheet("nights.toml", f'[inbox.spring]\nplace = "sheets"\n{line}\n')
    done = desk.call("nights", "list")
    assert (done.status, f"nights.toml: {said}" in done.err) == (2, True)


@pytest.mark.merge
def test_a_paused_inbox_is_not_swept_until_it_is_resumed(nights: Desk) -> None:
    nights.sheet("sheets/spring/videos.csv", simple_sheet(1))
    for words in (("until", "2099-01-03"), ("spring", "until", "3d")):
        assert nights.call("nights", "pause", *words).status == 0
    swept = nights.call("nightly", "spring", "--json", here=True)
    assert (swept.status, swept.json["sheets"]) == (0, []), swept.err
    assert "paused" in swept.json["skipped"]
    spring, autumn = listed(nights)
    assert (spring["paused"], autumn["paused"]) == (True, True)
    assert spring["paused_until"] == autumn["paused_until"]
    # What comes next is the first night after the pause.
    assert re.match(r"2099-01-0\d", time.strftime("%Y-%m-%d", time.gmtime(autumn["next_at"])))
    assert "paused" in spring["last"]["skipped"]
    held = nights.call("nights", "resume", "spring")
    assert (held.status, "all inboxes are paused" in held.err) == (2, True)
    assert "resumed" in nights.call("nights", "resume").out
    assert "nothing was paused" in nights.call("nights", "resume").out
    swept = nights.call("nightly", "spring", "--json", here=True)
    assert [one["outcome"] for one in swept.json["sheets"]] == ["not-approved"]
    spring, _ = listed(nights)
    assert (spring["last"]["exit"], spring["last"]["skipped"]) == (4, None)


@pytest.mark.merge
def test_an_inbox_that_is_away_keeps_no_other_from_its_night(nights: Desk) -> None:
    (nights.folder / "sheets" / "spring").rmdir()
    nights.sheet("sheets/autumn/videos.csv", simple_sheet(1))
    swept = nights.call("nightly", "nights.toml", "--json", here=True)
    # The worst of both: what is away, and a plan that waits for approval.
    assert (swept.status, swept.json["exit"]) == (2, 2)
    (sheet,) = swept.json["sheets"]
    assert (sheet["inbox"], sheet["outcome"]) == ("autumn", "not-approved")
    autumn, spring = swept.json["inboxes"]
    assert (autumn["inbox"], autumn["exit"]) == ("autumn", 4)
    assert (spring["inbox"], spring["exit"]) == ("spring", 2)
    assert "cannot be read" in spring["error"]
    assert "spring: the inbox" in swept.err


def test_of_two_pauses_the_longer_one_is_told(nights: Desk) -> None:
    for words in (("until", "5d"), ("spring", "until", "2d")):
        assert nights.call("nights", "pause", *words).status == 0
    spring, autumn = listed(nights)
    assert spring["paused_until"] == autumn["paused_until"] > time.time() + 4 * 86400
    assert nights.call("nights", "pause", "spring").status == 0
    assert listed(nights)[0]["paused_until"] is None


async def test_who_paused_is_in_the_activity_log(nights: Desk) -> None:
    # In a thread of its own a command has a loop of its own.
    for words in (("pause", "until", "3d"), ("resume",)):
        await asyncio.to_thread(nights.call, "nights", *words)
    address = f"sqlite:///{nights.folder}/.callsheet/ledger.db"
    async with await open_ledger(address, create=False) as ledger:
        found = await ledger.read(acts_of, limit=9)
    acts = [(one.act, one.words) for one in found]
    assert acts == [("resume nights", "all inboxes"), ("pause nights", "all inboxes")]


@pytest.fixture
def listener(desk: Desk, name: str) -> Iterator[Watcher]:
    """A server that people's addresses lead to, and a sheet that is whole at the first look."""
    (desk.folder / "sheets").mkdir()
    told = 'notify = ["env:NIGHT_HOOK"]\nping = "env:NIGHT_PING"\n'
    terms = 'place = "sheets"\napproval = "auto"\nper_night = 100\n'
    desk.sheet("nights.toml", f"[inbox.{name}]\n{terms}{told}")
    sheet = desk.folder / desk.sheet(f"sheets/{name}.csv", simple_sheet(1))
    os.utime(sheet, (time.time() - 60,) * 2)
    with watcher() as found:
        desk.environ["NIGHT_HOOK"] = f"json://127.0.0.1:{found.port}/hook"
        desk.environ["NIGHT_PING"] = f"{found.url}/ping"
        yield found


def take(listener: Watcher) -> list[tuple[str, str]]:
    """Return what was heard since it was asked last: where, and the title or the text."""
    found = [
        (call.path, json.loads(call.body)["title"] if call.path == "/hook" else call.body)
        for call in listener.calls
    ]
    listener.calls.clear()
    return found


def test_a_night_is_told_once_and_one_without_anything_new_not_at_all(
    desk: Desk, listener: Watcher, name: str
) -> None:
    assert desk.call("nightly", name, here=True).status == 0
    start, (place, subject), end = take(listener)
    assert (start[0], place, end[0]) == ("/ping/start", "/hook", "/ping")
    assert subject == f"{name}: 1 of 1 video ready, 15 credits"
    again = desk.call("nightly", name, "--json", here=True)
    assert (again.status, again.json["charged"]) == (0, 0)
    assert [path for path, _ in take(listener)] == ["/ping/start", "/ping"]
    due = desk.call("nights", "digest", "--json")
    assert (due.status, due.json, take(listener)) == (0, {"sent": []}, [])


def test_a_night_that_fails_as_a_whole_is_an_alarm(
    desk: Desk, listener: Watcher, name: str
) -> None:
    desk.sheet("no-folder", "a file")
    desk.environ["CALLSHEET_STORE"] = str(desk.folder / "no-folder" / "videos")
    assert desk.call("nightly", name, here=True).status == 2
    found = take(listener)
    assert [path for path, _ in found] == ["/ping/start", "/ping/fail", "/hook"]
    assert found[-1][1].startswith(f"{name}: the nightly run failed")


def test_a_sample_goes_to_every_address_and_shows_none(desk: Desk, listener: Watcher) -> None:
    done = desk.call("nights", "test", "--json")
    (sent,) = done.json["sent"]
    assert (done.status, sent["sent"], sent["kind"]) == (0, True, "sample")
    assert f":{listener.port}" not in done.out + done.err
    assert [place for place, _ in take(listener)] == ["/hook"]
    desk.environ["NIGHT_HOOK"] = "json://127.0.0.1:9/hook"
    failed = desk.call("nights", "test", "--json")
    assert (failed.status, failed.json["sent"][0]["sent"]) == (1, False)


def pictures(mail: EmailMessage) -> list[tuple[int, int]]:
    """Return the sizes of the pictures in a mail."""
    found = [part for part in mail.walk() if part.get_content_maintype() == "image"]
    return [Image.open(io.BytesIO(part.get_payload(decode=True))).size for part in found]  # type: ignore[arg-type]


async def test_a_night_is_read_in_the_morning_and_the_next_one_is_silent(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    inbox = Nights(tmp_path, service, name)
    inbox.put("made", simple_sheet(2, title=f"{name} made"))
    inbox.put("dear", simple_sheet(9, title=f"{name} dear"))
    inbox.put("broken", BROKEN)
    with mailbox() as post:
        inbox.terms = {
            "per_sheet": 45,
            "notify": (post.address(),),
            "board": "https://board.example",
        }
        charged = []
        for night in ("2026-11-20", "2026-11-21"):
            report = await inbox.sweep(night, sleep=asyncio.sleep)
            charged.append(report.charged)
            async with await open_ledger(inbox.settings.ledger) as ledger:
                about = {"report": report, "clock": time.time}
                await digest(ledger, inbox.settings, [inbox.inbox()], **about)
        (mail,) = post.letters
    said, shown = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))
    assert charged == [30, 0]
    assert mail["Subject"] == (
        "3 campaigns: 2 of 11 videos ready, 1 approval to give, 1 sheet to fix, "
        "30 credits in this run"
    )
    assert "9 videos for 135 credits wait for your approval" in said
    assert "https://board.example/plans/" in said
    assert f"{name}-broken.csv.report.csv" in said
    assert len(pictures(mail)) == 2
    assert len(set(pictures(mail))) == 1
    for number in range(2):
        assert f'src="cid:video{number}"' in shown
    assert f"https://board.example/c/{name}-made/videos" in shown


@pytest.fixture
def office(desk: Desk, name: str) -> Desk:
    """A folder below the ledger's with an inbox; the settings are variables of the shell."""
    folder = desk.folder / "50% off" / "this spring"
    (folder / "sheets").mkdir(parents=True)
    terms = 'place = "sheets"\ncron = "0 2 * * *"\ntimezone = "Europe/Berlin"\napproval = "auto"\n'
    more = 'per_night = 100\nnotify = ["file:address"]\ndigest_at = "08:00"\n'
    (folder / "nights.toml").write_text(f'[inbox."{name}"]\n{terms}{more}')
    (folder / "address").write_text("json://127.0.0.1:9/")
    (folder / "key").write_text(desk.environ.pop("CALLSHEET_API_KEY"))
    settings = {"CALLSHEET_API_KEY_FILE": "key", "CALLSHEET_STORE": "the store/"}
    return Desk(folder, {**desk.environ, **settings, "HOME": str(desk.folder)})


def test_each_line_starts_what_it_says_in_an_empty_environment(office: Desk, name: str) -> None:
    """As printed at a terminal, in cron's environment; only the tests' own packages are extra."""
    status, shown = Terminal.run(office, "nights", "install", "--without-prefect", COLUMNS="80")
    assert status == 0, shown
    home = office.folder.parent.parent / ".callsheet"
    sheet = office.folder / office.sheet(f"sheets/{name}.csv", simple_sheet(1))
    os.utime(sheet, (time.time() - 1000,) * 2)
    own = {name: office.environment()[name] for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    own |= {"HOME": office.environ["HOME"], "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"}
    for line in (line for line in shown.splitlines() if " * * * cd " in line):
        # What cron makes of it: five fields, then a command, its percent signs escaped.
        command = line.strip().split(maxsplit=5)[5].replace("\\%", "%")
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=home, env={**own, "PYTHONPATH": IMPORTS},
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.stderr == ""
    assert "1 sheet, charged 15 credits" in (home / f"callsheet-nightly-{name}.log").read_text()
    assert (home / f"callsheet-digest-{name}.log").exists()
    assert len(list((office.folder / "the store").rglob("*.mp4"))) == 1
    # The one ledger is that of the folder above.
    assert not (office.folder / ".callsheet").exists()


def test_a_ledger_with_a_password_is_not_left_out_of_the_lines(office: Desk) -> None:
    secret = "postgresql://studio:hunter2@127.0.0.1:9/studio"
    office.sheet("ledger", secret)
    before = (office.folder / "nights.toml").read_text()
    office.environ["CALLSHEET_LEDGER"] = secret
    refused = office.call("nights", "install", "--without-prefect", "--cron", "5 5 * * *")
    del office.environ["CALLSHEET_LEDGER"]
    office.environ["CALLSHEET_LEDGER_FILE"] = "ledger"
    done = office.call("nights", "install", *BY_HAND)
    assert refused.status == 2
    assert "begin a new ledger; nothing was installed" in refused.err
    assert "CALLSHEET_LEDGER_FILE" in refused.err
    assert (office.folder / "nights.toml").read_text() == before
    assert done.status == 0, done.err
    assert "CALLSHEET_LEDGER_FILE=ledger" in done.json["lines"][0]["cron"][1]
    assert "hunter2" not in refused.out + refused.err + done.out + done.err
