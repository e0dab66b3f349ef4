"""Nights as people look after them: listed, paused and resumed, and started without Prefect."""

from __future__ import annotations

import re
import time
import tomllib
from pathlib import Path

import pytest

from callsheet.tasks.ledger.audit_log import acts_of
from callsheet.tasks.ledger.ledger import open_ledger
from tests.programs import Desk, simple_sheet

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


@pytest.fixture
def nights(desk: Desk) -> Desk:
    """A folder with two inboxes, one of which has no schedule yet."""
    for name in ("spring", "autumn"):
        (desk.folder / "sheets" / name).mkdir(parents=True)
    (desk.folder / "nights.toml").write_text(TOML)
    return desk


def test_what_was_typed_is_written_where_everything_goes_by_it(nights: Desk) -> None:
    done = nights.call("nights", "install", "spring", *CRON, "--without-prefect", "--json")

    assert done.status == 0, done.err
    assert (nights.folder / "nights.toml").read_text() == TOML.replace(
        "[inbox.spring]\n", '[inbox.spring]\ncron = "0 2 * * *"\n'
    )
    (night,) = done.json["nights"]
    assert (night["inbox"], night["cron"]) == ("spring", "0 2 * * *")
    assert night["timezone"] == "Pacific/Auckland"
    assert time.time() < night["next_at"] < time.time() + 25 * 3600
    again = nights.call("nights", "install", "autumn", "--cron", "@daily", "--without-prefect")
    assert again.status == 0, again.err
    written = (nights.folder / "nights.toml").read_text()
    assert 'cron = "@daily"' in written
    assert "30 3" not in written
    assert "# dropped by the agency" in written


def test_the_lines_to_paste_go_to_the_folder(nights: Desk) -> None:
    done = nights.call("nights", "install", "spring", *CRON, "--without-prefect", "--json")

    (line,) = done.json["lines"]
    zone, cron = line["cron"]
    assert zone == "CRON_TZ=Pacific/Auckland"
    assert cron.startswith(f"0 2 * * * cd {nights.folder} && CALLSHEET_BASE_URL=")
    log = nights.folder / ".callsheet" / "callsheet-nightly-spring.log"
    assert f" nightly spring >> {log} 2>&1" in cron
    assert "CALLSHEET_API_KEY" not in cron
    assert "CALLSHEET_API_KEY" in done.json["secrets"]
    assert "do not contain CALLSHEET_API_KEY" in done.err


def test_a_digest_of_its_own_hour_is_started_too(nights: Desk) -> None:
    more = 'notify = ["env:NIGHT_MAIL"]\ndigest_at = "08:05"\n'
    nights.environ["NIGHT_MAIL"] = "mailto://somebody@example.test"
    (nights.folder / "nights.toml").write_text(TOML + more)
    named = ("--nights", "nights.toml", "--profile", "studio")
    (nights.folder / "configs" / "profiles").mkdir(parents=True)
    (nights.folder / "configs" / "profiles" / "studio.toml").write_text("")

    done = nights.call("nights", "install", "autumn", "--without-prefect", "--json", *named)

    assert done.status == 0, done.err
    night, digest = done.json["lines"]
    file = nights.folder / "nights.toml"
    assert (night["name"], digest["name"]) == ("nightly-autumn", "digest-autumn")
    assert digest["variables"] == ["NIGHT_MAIL"]
    assert "they do not have NIGHT_MAIL, which the addresses of nights.toml name" in done.err
    assert "5 8 * * * cd" in digest["cron"][1]
    assert f"nights digest autumn --nights {file} --profile studio" in digest["cron"][1]


def test_a_folder_that_nobody_listed_becomes_an_inbox_that_asks(desk: Desk) -> None:
    (desk.folder / "my sheets").mkdir()
    words = ("nights", "install", "my sheets", *CRON, "--timezone", "Europe/Berlin")

    done = desk.call(*words, "--without-prefect", "--json")

    assert done.status == 0, done.err
    assert tomllib.loads((desk.folder / "nights.toml").read_text()) == {
        "inbox": {
            "my-sheets": {"place": "my sheets", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}
        }
    }
    (listed,) = desk.call("nights", "list", "--json").json["inboxes"]
    assert (listed["inbox"], listed["approval"], listed["last"]) == ("my-sheets", "plan-only", None)


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

    assert done.status == 2
    assert said in done.err
    assert (nights.folder / "nights.toml").read_text() == TOML


@pytest.mark.merge
def test_a_paused_inbox_is_not_swept_until_it_is_resumed(nights: Desk) -> None:
    sheet = nights.folder / "sheets" / "spring" / "videos.csv"
    sheet.write_text(simple_sheet(1))
    assert nights.call("nights", "pause", "until", "2099-01-03").status == 0
    assert nights.call("nights", "pause", "spring", "until", "3d").status == 0

    swept = nights.call("nightly", "spring", "--json", here=True)

    assert swept.status == 0, swept.err
    assert swept.json["sheets"] == []
    assert "paused" in swept.json["skipped"]
    spring, autumn = nights.call("nights", "list", "--json").json["inboxes"]
    assert (spring["paused"], autumn["paused"]) == (True, True)
    assert spring["paused_until"] < time.time() + 3.1 * 86400
    # What comes next is the first night after the pause.
    assert re.match(r"2099-01-0\d", time.strftime("%Y-%m-%d", time.gmtime(autumn["next_at"])))
    assert "paused" in spring["last"]["skipped"]

    held = nights.call("nights", "resume", "spring")
    assert (held.status, "all inboxes are paused" in held.err) == (2, True)
    assert "resumed" in nights.call("nights", "resume").out
    assert "nothing was paused" in nights.call("nights", "resume").out
    swept = nights.call("nightly", "spring", "--json", here=True)
    assert [one["outcome"] for one in swept.json["sheets"]] == ["not-approved"]
    spring, _ = nights.call("nights", "list", "--json").json["inboxes"]
    assert (spring["last"]["exit"], spring["last"]["skipped"]) == (4, None)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('cron = "two"', "inbox.spring.cron is not a schedule"),
        ('timezone = "Mars/Olympus"', "inbox.spring.timezone is not a time zone"),
    ],
)
def test_a_schedule_that_is_none_is_named_with_its_file(desk: Desk, line: str, said: str) -> None:
    (desk.folder / "nights.toml").write_text(f'[inbox.spring]\nplace = "sheets"\n{line}\n')

    done = desk.call("nights", "list")

    assert done.status == 2
    assert f"nights.toml: {said}" in done.err


@pytest.mark.merge
def test_an_inbox_that_is_away_keeps_no_other_from_its_night(nights: Desk) -> None:
    (nights.folder / "sheets" / "spring").rmdir()
    sheet = nights.folder / "sheets" / "autumn" / "videos.csv"
    sheet.write_text(simple_sheet(1))

    swept = nights.call("nightly", "nights.toml", "--json", here=True)

    # The worst of both: what is away, and a plan that waits for approval.
    assert (swept.status, swept.json["exit"]) == (2, 2)
    assert [(one["inbox"], one["outcome"]) for one in swept.json["sheets"]] == [
        ("autumn", "not-approved")
    ]
    autumn, spring = swept.json["inboxes"]
    assert (autumn["inbox"], autumn["exit"]) == ("autumn", 4)
    assert (spring["inbox"], spring["exit"]) == ("spring", 2)
    assert "cannot be read" in spring["error"]
    assert "spring: the inbox" in swept.err


async def test_who_paused_is_in_the_activity_log(nights: Desk) -> None:
    # In a thread of its own a command has a loop of its own.
    import asyncio

    await asyncio.to_thread(nights.call, "nights", "pause", "until", "3d")
    await asyncio.to_thread(nights.call, "nights", "resume")
    address = f"sqlite:///{Path(nights.folder) / '.callsheet' / 'ledger.db'}"
    async with await open_ledger(address, create=False) as ledger:
        found = await ledger.read(lambda connection: acts_of(connection, limit=9))
    assert [(one.act, one.words) for one in found] == [
        ("resume nights", "all inboxes"),
        ("pause nights", "all inboxes"),
    ]
