"""Addresses are told to nobody; whatever watches over nights is called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices import ping
from callsheet.tasks.notices.send import read_address
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.redact import redact
from tests.web import Watcher

#: An address -> how it is shown, and what of it may never be said.
SHOWN = [
    ("mailto://ann:hunter2pw@mail.example?to=ben@x.example", "mail to ben@x.example", "hunter2pw"),
    ("mailtos://ann:hunter2pw@gmail.com", "mail to ann@gmail.com", "hunter2pw"),
    (
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        "slack://***",
        "TIiajkdnlazkcOXrIdevi7FQ",
    ),
    ("jsons://hooks.example/a1b2c3d4e5f6/x", "jsons://hooks.example/***", "a1b2c3d4e5f6"),
    ("tgram://123456789:AAFabcdefghijkl/12315544/", "tgram://***", "123456789:AAFabcdefghijkl"),
]


@pytest.mark.parametrize(("url", "shown", "secret"), SHOWN)
def test_an_address_is_a_secret(url: str, shown: str, secret: str, tmp_path: Path) -> None:
    found = read_address(url, folder=tmp_path, environ={})

    assert found.shown == shown
    assert secret not in found.shown + repr(found) + found.mark
    assert secret not in redact(f"could not reach {url}, that is {secret}")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("env:NOT_THERE", "NOT_THERE is not set"),
        ("file:not-there.txt", "cannot be read"),
        ("ann@hunter2.example", "begins with 'ann@'"),
    ],
)
def test_what_is_no_address_is_said_without_it(written: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=words) as told:
        read_address(written, folder=tmp_path, environ={})

    assert "hunter2" not in str(told.value)


def test_a_ping_is_called_by_https_or_http(tmp_path: Path) -> None:
    environ = {"PING": "https://hc.example/8d1f0c2a-77aa-4d5e"}

    found = read_address("env:PING", folder=tmp_path, environ=environ, is_ping=True)

    assert found.shown == "hc.example (variable PING)"
    with pytest.raises(ConfigurationError):
        read_address("ftp://hc.example/8d1f", folder=tmp_path, environ=environ, is_ping=True)


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
async def test_start_success_and_failure_are_told(address: str, paths, inbox: Inbox, web: Watcher):
    told = pinged(inbox, web, address)

    heard = [
        await ping(told, "start"),
        await ping(told, "success", "2 of 2 videos ready"),
        await ping(told, "failure", "Bearer abcdefgh12345678"),
    ]

    assert heard == [True] * 3
    assert [call.path for call in web.calls] == paths
    assert [call.body for call in web.calls] == ["", "2 of 2 videos ready", "Bearer ***"]


@pytest.mark.parametrize("status", [404, 500])
async def test_a_refusal_is_no_failure(status, inbox, web, caplog):
    web.status = status

    assert not await ping(pinged(inbox, web, "/ping/abcd1234"), "start")
    # What may pass is tried again, what was refused is not.
    assert len(web.calls) == (1 if status == 404 else 3)
    assert "abcd1234" not in caplog.text


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/ping/abcd1234", "env:NOT_THERE"])
async def test_who_is_not_there_fails_no_night(address, inbox, tmp_path, caplog):
    assert not await ping(inbox, "failure"), "it has none"
    assert not await ping(replace(inbox, ping=address), "failure")
    assert "abcd1234" not in caplog.text
    assert caplog.text
