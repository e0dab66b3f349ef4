"""What is heard of a night: pings, a digest of what it made, and nothing where nothing was."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

import pytest

from tests.programs import Desk, simple_sheet
from tests.web import Watcher, watcher

TOML = """\
[inbox.{name}]
place = "sheets"
approval = "auto"
per_night = 100
notify = ["env:NIGHT_HOOK"]
ping = "env:NIGHT_PING"
"""


@pytest.fixture
def listener(desk: Desk, name: str) -> Iterator[Watcher]:
    """A server that people's addresses lead to."""
    (desk.folder / "sheets").mkdir()
    (desk.folder / "nights.toml").write_text(TOML.format(name=name))
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


def drop(desk: Desk, name: str) -> None:
    """Put a sheet into the inbox, as of a minute ago: it is whole at the first look."""
    sheet = desk.folder / "sheets" / f"{name}.csv"
    sheet.write_text(simple_sheet(1))
    os.utime(sheet, (time.time() - 60,) * 2)


def test_a_night_is_told_once_and_one_without_anything_new_not_at_all(
    desk: Desk, listener: Watcher, name: str
) -> None:
    drop(desk, name)

    assert desk.call("nightly", name, here=True).status == 0

    start, (place, subject), end = take(listener)
    assert (start[0], end[0]) == ("/ping/start", "/ping")
    assert (place, subject) == ("/hook", f"{name}: 1 of 1 video ready, 15 credits")
    again = desk.call("nightly", name, "--json", here=True)
    assert (again.status, again.json["charged"]) == (0, 0)
    assert [path for path, _ in take(listener)] == ["/ping/start", "/ping"]
    due = desk.call("nights", "digest", "--json")
    assert (due.status, due.json) == (0, {"sent": []})
    assert take(listener) == []


def test_a_night_that_fails_as_a_whole_is_an_alarm(
    desk: Desk, listener: Watcher, name: str
) -> None:
    drop(desk, name)
    (desk.folder / "no-folder").write_text("a file")
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
    ((place, _),) = take(listener)
    assert place == "/hook"
    desk.environ["NIGHT_HOOK"] = "json://127.0.0.1:9/hook"
    failed = desk.call("nights", "test", "--json")
    assert (failed.status, failed.json["sent"][0]["sent"]) == (1, False)
