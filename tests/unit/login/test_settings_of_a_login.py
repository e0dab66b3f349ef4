"""What a login kept is in force where neither environment nor profile says otherwise."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from callsheet.tasks.credentials import Login, file_of, keep
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.settings import credentials_folder, load_settings

KEY = "mav_canary0key0of0the0tests"
BASE, AUTH, MCP = "https://api.test/api/v1", "https://auth.test", "https://mcp.test"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def log_in(environ):
    def act(profile: str = "default", base_url: str = BASE, key: str = KEY) -> None:
        folder = credentials_folder(environ)
        assert folder is not None
        login = Login(
            profile=profile,
            base_url=base_url,
            auth_url=AUTH,
            mcp_url=MCP,
            scopes=("read",),
            kept_in="file",
            fingerprint="mav_…ests",
            at=datetime.now(UTC),
        )
        keep(folder, login, key)

    return act


@pytest.fixture
def load(environ, tmp_path: Path):
    def act(profile: str | None = None, **variables: str):
        named = {f"CALLSHEET_{name.upper()}": value for name, value in variables.items()}
        return load_settings(profile=profile, environ={**environ, **named}, folder=tmp_path)

    return act


def test_addresses_and_key_of_a_login_are_in_force(log_in, load):
    log_in()
    found = load()
    assert (found.base_url, found.auth_url, found.mcp_url) == (BASE, AUTH, MCP)
    assert found.service() == (BASE, KEY)
    assert (found.api_key, found.key_source) == (None, None)
    assert "canary" not in repr(found)


def test_the_environment_wins_over_a_login(log_in, load):
    log_in()
    found = load(api_key="mav_other", auth_url="https://elsewhere.test")
    assert found.service() == (BASE, "mav_other")
    assert (found.auth_url, found.key_source) == ("https://elsewhere.test", "CALLSHEET_API_KEY")


def test_a_profile_wins_over_a_login_and_says_so(log_in, load, tmp_path: Path):
    log_in("studio")
    profiles = tmp_path / "configs" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "studio.toml").write_text('api_key = "mav_profile"\nat_once = 3\n')
    found = load("studio")
    assert (found.service(), found.at_once) == ((BASE, "mav_profile"), 3)
    assert found.key_source == "profile studio"
    assert load("configs/profiles/studio.toml").service() == (BASE, "mav_profile")


def test_a_key_is_not_used_at_another_address_than_its_own(log_in, load):
    log_in()
    found = load(base_url="https://elsewhere.test/api/v1")
    assert (found.login, found.auth_url) == (None, None)
    with pytest.raises(ConfigurationError, match=f"kept one for {BASE}") as caught:
        found.service()
    assert "callsheet login" in (caught.value.remedy or "")


def test_a_profile_needs_no_file_once_somebody_logged_in_under_its_name(log_in, load):
    with pytest.raises(ConfigurationError, match="no profile"):
        load("studio")
    log_in("studio")
    assert load("studio").service() == (BASE, KEY)
    with pytest.raises(ConfigurationError, match="no profile"):
        load("agency")
    with pytest.raises(ConfigurationError, match="no video service"):
        load().service()


def test_what_is_wrong_with_the_file_is_told_only_to_who_needs_the_key(log_in, load, environ):
    log_in()
    path = file_of(credentials_folder(environ), "default")
    path.chmod(0o644)
    found = load(base_url=BASE)
    assert found.base_url == BASE
    with pytest.raises(ConfigurationError, match="can be read by others"):
        found.service()
    with pytest.raises(ConfigurationError, match="can be read by others"):
        load().service()
    assert load(base_url=BASE, api_key="mav_other").service() == (BASE, "mav_other")


def test_where_nobody_is_at_home_there_is_no_login(tmp_path: Path):
    assert credentials_folder({}) is None
    found = load_settings(environ={}, folder=tmp_path)
    assert (found.kept_logins, found.login) == (None, None)
    home = credentials_folder({"HOME": "/home/ada"})
    assert home == Path("/home/ada/.config/callsheet/credentials")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("credentials", "vault", "is not keyring or file"), ("webhook_vendor", "A b", "header")],
)
def test_a_setting_of_the_login_that_cannot_work_is_named(load, name, value, words):
    with pytest.raises(ConfigurationError, match=words):
        load(**{name: value})
