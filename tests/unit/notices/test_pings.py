"""Whatever watches over nights is called at their start, success and failure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices import ping
from tests.web import Watcher


def pinged(inbox: Inbox, web: Watcher, address: str) -> Inbox:
    """Return an inbox that calls an address of a watcher."""
    return replace(inbox, ping=f"{web.url}{address}")


#: An address -> what is called at start, success and failure.
CALLED = [
    ("/ping/abcd1234", ["/ping/abcd1234/start", "/ping/abcd1234", "/ping/abcd1234/fail"]),
    ("/push?status={status}", ["/push?status=start", "/push?status=success",
                               "/push?status=failure"]),
    ("/p/?rid=1", ["/p/start?rid=1", "/p?rid=1", "/p/fail?rid=1"]),
]  # fmt: skip


@pytest.mark.parametrize(("address", "paths"), CALLED)
async def test_start_success_and_failure_are_told(
    address: str, paths: list[str], inbox: Inbox, web: Watcher
) -> None:
    told = pinged(inbox, web, address)

    heard = [
        await ping(told, "start"),
        await ping(told, "success", "2 of 2 videos ready"),
        await ping(told, "failure", "Bearer abcdefgh12345678"),
    ]

    assert heard == [True] * 3
    assert [call.path for call in web.calls] == paths
    assert [call.body for call in web.calls] == ["", "2 of 2 videos ready", "Bearer ***"]


async def test_without_an_address_nobody_is_called(inbox: Inbox, web: Watcher) -> None:
    assert not await ping(inbox, "start")
    assert web.calls == []


@pytest.mark.parametrize("status", [404, 500])
async def test_a_refusal_is_no_failure(
    status: int, inbox: Inbox, web: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    web.status = status

    assert not await ping(pinged(inbox, web, "/ping/abcd1234"), "start")
    # What may pass is tried again, what was refused is not.
    assert len(web.calls) == (1 if status == 404 else 3)
    assert "abcd1234" not in caplog.text


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/ping/abcd1234", "env:NOT_THERE"])
async def test_who_is_not_there_fails_no_night(
    address: str, inbox: Inbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert not await ping(replace(inbox, ping=address), "failure")
    assert "abcd1234" not in caplog.text
    assert caplog.text
