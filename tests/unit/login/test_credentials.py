"""Where a key is kept: closed to others, whole or not at all, and never used at another address."""

from __future__ import annotations

import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from callsheet.tasks.credentials import (
    Login,
    choose_place,
    file_of,
    fingerprint,
    forget,
    keep,
    key_of,
    profile_name,
    read_register,
)
from callsheet.tasks.runtime.errors import ConfigurationError

KEY = "mav_canary0key0of0the0tests"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOGIN = Login(
    profile="default",
    base_url="https://api.test/api/v1",
    auth_url="https://auth.test",
    mcp_url=None,
    scopes=("read", "write"),
    kept_in="file",
    fingerprint=fingerprint(KEY),
    at=NOW,
    expires_at=NOW + timedelta(days=1),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "config" / "callsheet" / "credentials"


def test_what_is_kept_is_found_again_and_closed_to_others(folder: Path):
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    keep(folder, LOGIN, KEY)
    found = read_register(folder, "default").of("https://api.test/api/v1/")
    assert found == replace(LOGIN, key=KEY)
    assert "canary" not in f"{found!r} {found} {read_register(folder, 'default')!r}"
    assert key_of(found) == KEY
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(folder, "default").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["default.json"]


def test_a_key_is_for_its_own_address_alone(folder: Path):
    keep(folder, LOGIN, KEY)
    register = read_register(folder, "default")
    assert register.of("https://api.test/api/v2") is None
    assert register.of("http://api.test/api/v1") is None
    assert register.of(None) == replace(LOGIN, key=KEY)
    assert read_register(folder, "studio").of(None) is None


def test_logins_at_several_services_stand_beside_each_other(folder: Path):
    other = replace(LOGIN, base_url="http://127.0.0.1:8791/api/v1", at=NOW + timedelta(hours=1))
    keep(folder, LOGIN, KEY)
    keep(folder, other, KEY + "2")
    assert key_of(read_register(folder, "default").of(LOGIN.base_url)) == KEY
    latest = read_register(folder, "default").of(None)
    assert (latest.base_url, key_of(latest)) == (other.base_url, KEY + "2")
    assert forget(folder, latest) is None
    assert read_register(folder, "default").of(None).base_url == LOGIN.base_url
    forget(folder, LOGIN)
    assert not file_of(folder, "default").exists()
    forget(folder, LOGIN)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_a_file_that_others_can_read_is_not_used(folder: Path, mode: int):
    keep(folder, LOGIN, KEY)
    file_of(folder, "default").chmod(mode)
    register = read_register(folder, "default")
    assert register.of(None) is None
    assert register.trouble is not None
    assert "can be read by others" in str(register.trouble)
    assert f"chmod 600 {file_of(folder, 'default')}" in (register.trouble.remedy or "")
    with pytest.raises(ConfigurationError, match="read by others"):
        choose_place(folder, "default", "file")
    with pytest.raises(ConfigurationError, match="read by others"):
        keep(folder, LOGIN, KEY)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"version": 2, "logins": {}}', '{"version": 1, "logins": []}',
     '{"version": 1, "latest": null, "logins": {"https://x": {"key": "mav_x"}}}', "[" * 100_000],
)  # fmt: skip
def test_a_file_that_is_not_ours_is_told_when_a_key_is_needed(folder: Path, text: str):
    keep(folder, LOGIN, KEY)
    file_of(folder, "default").write_text(text)
    register = read_register(folder, "default")
    assert register.of(None) is None
    assert "not what `callsheet login` wrote" in str(register.trouble)


def test_a_write_that_fails_leaves_what_was_there(folder: Path):
    keep(folder, LOGIN, KEY)
    before = file_of(folder, "default").read_bytes()
    with full_disk(), pytest.raises(ConfigurationError, match="cannot be written: File too large"):
        keep(folder, LOGIN, KEY + "2")
    assert file_of(folder, "default").read_bytes() == before
    # What was written so far is deleted: half a key is a secret, too.
    assert [path.name for path in folder.iterdir()] == ["default.json"]


@contextmanager
def full_disk() -> Iterator[None]:
    """Let files of this process grow to ten bytes and no further."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_folder_that_cannot_be_made_is_told_before_anybody_approves(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be used to keep a secret") as caught:
        choose_place(tmp_path / "file" / "credentials", "default", "file")
    assert "XDG_CONFIG_HOME" in (caught.value.remedy or "")


def test_logins_are_kept_under_the_profiles_name_which_a_file_can_have():
    found = [profile_name(one) for one in (None, "studio", "configs/profiles/studio.toml")]
    assert found == ["default", "studio", "studio"]
    for profile in ("", "../x", "a/b", ".hidden", "x" * 65, "é", "a b"):
        with pytest.raises(ConfigurationError, match="no name for a profile"):
            profile_name(profile)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("mav_0123456789abcdef", "mav_…cdef"),
        ("mav_0_2_4_6_8_0_2_4_6", "mav_…_4_6"),
        ("mav_0123456789abcd", "mav_…"),
        ("mav_", "…"),
        ("0123456789abcdef", "…"),
        ("", "…"),
    ],
)
def test_a_fingerprint_shows_little_and_of_a_short_key_less(key, shown):
    assert fingerprint(key) == shown
