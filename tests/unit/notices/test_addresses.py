"""Addresses are read where they are kept, and are told to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.tasks.notices.send import read_address
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.redact import redact

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


def test_an_address_is_kept_in_a_variable_or_a_file(tmp_path: Path) -> None:
    url = "mailto://mail.example?from=a@x.example&to=ben@x.example"
    (tmp_path / "mail.txt").write_text(f"{url}\n")

    by_name = read_address("env:NIGHT_MAIL", folder=tmp_path, environ={"NIGHT_MAIL": url})
    in_file = read_address("file:mail.txt", folder=tmp_path, environ={})

    assert by_name.shown == "mail to ben@x.example (variable NIGHT_MAIL)"
    assert in_file.shown == "mail to ben@x.example (file mail.txt)"
    assert by_name.mark == in_file.mark == read_address(url, folder=tmp_path, environ={}).mark


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
