"""Settings: from where they come, which wins, and how a wrong one is named."""

from __future__ import annotations

import copy
import stat
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.home import find_home, make_home
from callsheet.tasks.runtime.known_settings import KNOWN, Settings
from callsheet.tasks.runtime.settings import load_settings


def load(folder: Path, profile: str | None = None, /, overrides=None, **environ: str) -> Settings:
    named = {name if "_" in name and name.isupper() else f"CALLSHEET_{name.upper()}": value
             for name, value in environ.items()}  # fmt: skip
    return load_settings(profile=profile, environ=named, folder=folder, overrides=overrides)


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    folder = tmp_path / "configs" / "profiles"
    folder.mkdir(parents=True)
    return folder


def test_without_anything_the_defaults_hold(tmp_path):
    found = load(tmp_path)
    assert found.ledger == f"sqlite:///{tmp_path}/.callsheet/ledger.db"
    assert (found.store, found.receiver) == ("deliveries/", "127.0.0.1:8790")
    assert (found.horizon, found.deadline) == (86400, 10800)
    assert (found.base_url, found.api_key) == (None, None)
    assert found.spool == tmp_path / ".callsheet" / "spool"
    # An empty variable is none at all.
    assert load(tmp_path, store="").store == "deliveries/"
    assert set(KNOWN) <= set(Settings.model_fields)


def test_the_environment_wins_over_the_profile_and_that_over_the_default(tmp_path, profiles):
    (profiles / "studio.toml").write_text('store = "s3://videos"\nat_once = 3\nlease = "5s"\n')
    found = load(tmp_path, "studio", at_once="4")
    assert (found.store, found.at_once, found.lease, found.horizon) == ("s3://videos", 4, 5, 86400)
    found = load(tmp_path, "studio", {"at_once": "9"}, at_once="4")
    assert found.at_once == 9


def test_a_profile_is_found_by_path_or_by_name_upward(tmp_path, profiles):
    (profiles / "studio.toml").write_text("at_once = 3\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert load(below, "studio").at_once == 3
    assert load(tmp_path, "configs/profiles/studio.toml").at_once == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour = 'red'", "unknown setting colour"),
        ("[service]\nbase_url = 'x'", "unknown setting service"),
        ("at_once = 1.5", "at_once is not a text or a whole number"),
        ("at_once = true", "not a whole number"),
        ("at_once = ", "cannot be read"),
        ("# Ours.\n\nat_once = 0", r"studio\.toml, line 3: at_once \"0\" is not a whole number"),
        ("[cost_center_budgets]\nsales = 'x'", 'line 1: cost_center_budgets "sales=x" is not an'),
    ],
)
def test_a_profile_with_something_wrong_is_refused(tmp_path, profiles, text, words):
    (profiles / "studio.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        load(tmp_path, "studio")


def test_a_profile_that_is_not_there_is_named(tmp_path):
    for name in ("nowhere", "nowhere.toml"):
        with pytest.raises(ConfigurationError, match="nowhere"):
            load(tmp_path, name)


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"horizon": "a day"}, 'CALLSHEET_HORIZON: "a day" is not a duration'),
        ({"deadline": "10"}, "CALLSHEET_DEADLINE"),
        ({"at_once": "0"}, "from 1 to 512"),
        ({"at_once": "many"}, 'CALLSHEET_AT_ONCE "many"'),
        ({"at_once": "513"}, "from 1 to 512"),
        ({"base_url": "api.test/api/v1"}, "is not an http"),
        ({"base_url": "http://"}, "is not an http"),
        ({"base_url": "http://[::1"}, "is not an http"),
        ({"webhook_url": "ftp://h/"}, "CALLSHEET_WEBHOOK_URL"),
        ({"clip_keys": "true"}, 'CALLSHEET_CLIP_KEYS "true" is neither yes nor no'),
        ({"day_budget": "lots"}, 'CALLSHEET_DAY_BUDGET "lots" is not an amount of credits'),
        ({"cost_center_column": "client"}, "no column of your own; write it like x_client"),
        ({"cost_center_budgets": "a=1,a=2"}, 'CALLSHEET_COST_CENTER_BUDGETS "a=2"'),
        ({"quote_tolerance": "0.1"}, "write it like 10%"),
        ({"lease": "0s"}, "1s is the least"),
        ({"at_onc": "3"}, "CALLSHEET_AT_ONC is no setting"),
    ],
)
def test_a_setting_that_cannot_work_is_named(tmp_path, environ, words):
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, **environ)
    assert words in str(caught.value)
    assert caught.value.exit_status == 2


def test_a_secret_may_come_from_a_file_which_wins_or_from_one_beside_its_profile(
    tmp_path, profiles
):
    (tmp_path / "key").write_text("mav_file\n")
    found = load(tmp_path, api_key="mav_plain", api_key_file=str(tmp_path / "key"))
    assert found.api_key.get_secret_value() == "mav_file"
    (profiles / "studio.toml").write_text('api_key_file = "studio.key"\n')
    (profiles / "studio.key").write_text("mav_beside\n")
    (profiles / "studio.key").chmod(0o604)
    found = load(tmp_path, "studio")
    assert found.api_key.get_secret_value() == "mav_beside"
    # Everybody can read it, which is pointed out.
    (remark,) = found.remarks
    assert "line 1: api_key_file names" in remark


@pytest.mark.parametrize(("text", "words"), [(None, "cannot be read"), (" \n", "empty")])
def test_a_secret_file_without_a_secret_is_refused(tmp_path, text, words):
    if text is not None:
        (tmp_path / "key").write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        load(tmp_path, api_key_file=str(tmp_path / "key"))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("day_buget", "DAY_BUDGET"), ("api_key_fil", "API_KEY_FILE"), ("ledgr", "LEDGER"),
        ("webhook_secrets", "WEBHOOK_SECRET"), ("names_file", "NAMES"),
    ],
)  # fmt: skip
def test_a_slip_in_a_name_is_told_with_what_was_meant(tmp_path, name, meant):
    with pytest.raises(ConfigurationError, match=f"CALLSHEET_{name.upper()} is no") as told:
        load(tmp_path, **{name: "7"})
    assert told.value.remedy == f"did you mean CALLSHEET_{meant}?"


@pytest.mark.parametrize(
    "name",
    ["service_host", "service_port", "board_service_port_http", "port", "board_port",
     "port_8788_tcp", "port_8788_tcp_addr"],
)  # fmt: skip
def test_what_an_orchestrator_names_after_a_service_is_left_alone(tmp_path, name):
    assert load(tmp_path, **{name: "tcp://10.0.0.7:8788"}).remarks == ()


@pytest.mark.parametrize("name", ["home", "colour", "board_port"])
def test_a_variable_that_is_nobodys_setting_is_pointed_out(tmp_path, name):
    (remark,) = load(tmp_path, **{name: "8788"}).remarks
    assert remark == f"CALLSHEET_{name.upper()} is no setting, and nothing is made of it"
    assert load(tmp_path, **{name: " "}).remarks == ()


@pytest.mark.parametrize(("mode", "word"), [(0o644, "read"), (0o646, "change")])
def test_a_secret_that_everybody_can_read_is_pointed_out(tmp_path, mode, word):
    (tmp_path / "key").write_text("mav_file\n")
    (tmp_path / "key").chmod(mode)
    (remark,) = load(tmp_path, api_key_file=str(tmp_path / "key")).remarks
    assert remark.startswith(f"CALLSHEET_API_KEY_FILE names {tmp_path}/key, which everybody")
    assert f"can {word}" in remark
    assert remark.endswith(f"chmod 600 {tmp_path}/key")


def test_a_secret_of_its_owner_or_of_a_container_is_nothing_to_speak_of(tmp_path):
    (tmp_path / "key").write_text("mav_file\n")
    (tmp_path / "key").chmod(0o640)
    assert load(tmp_path, api_key_file=str(tmp_path / "key")).remarks == ()
    # So Kubernetes mounts them: a link to a folder that it changes as a whole.
    (tmp_path / "..2026").mkdir()
    (tmp_path / "..2026" / "key").write_text("mav_mounted\n")
    (tmp_path / "mounted").symlink_to(tmp_path / "..2026" / "key")
    assert load(tmp_path, api_key_file=str(tmp_path / "mounted")).remarks == ()


def test_the_ledgers_address_may_come_from_a_file_and_no_plain_setting(tmp_path):
    (tmp_path / "address").write_text("postgresql://u:hush@h/d\n")
    (tmp_path / "address").chmod(0o600)
    found = load(tmp_path, ledger_file=str(tmp_path / "address"))
    assert (found.ledger, found.ledger_is_named) == ("postgresql://u:hush@h/d", True)
    assert found.remarks == ()
    (tmp_path / "store").write_text("s3://other")
    with pytest.raises(ConfigurationError, match="CALLSHEET_STORE_FILE is no setting"):
        load(tmp_path, store_file=str(tmp_path / "store"))


def test_a_secret_does_not_show_itself_but_where_it_is_needed(tmp_path):
    settings = load(tmp_path, api_key=" mav_canary ", base_url="https://h/api/v1/")
    assert settings.service() == ("https://h/api/v1", "mav_canary")
    key = settings.api_key
    shown = [repr(key), str(key), f"{key}", f"{key!r:>20}", "%s %r" % (key, key), "{}".format(key)]  # noqa: UP031, UP032
    shown += [repr(settings), str(settings), repr([key]), repr({"key": key})]
    assert not [text for text in shown if "canary" in text]
    assert copy.deepcopy(settings) == settings


@pytest.mark.parametrize(
    ("environ", "words"), [({}, "no video service"), ({"base_url": "https://h/api/v1"}, "no key")]
)
def test_a_service_that_is_not_configured_says_what_to_set(tmp_path, environ, words):
    with pytest.raises(ConfigurationError, match=words) as caught:
        load(tmp_path, **environ).service()
    assert "CALLSHEET_API_KEY" in (caught.value.remedy or "")


def test_the_home_is_looked_for_upward_as_git_does(tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_home(below) == below / ".callsheet"
    (tmp_path / ".callsheet").mkdir()
    assert find_home(below) == tmp_path / ".callsheet"
    (tmp_path / "a" / ".callsheet").write_text("a file is no home")
    assert find_home(below) == tmp_path / ".callsheet"


def test_the_home_is_made_once_and_closed_to_others(tmp_path):
    home = tmp_path / ".callsheet"
    assert make_home(home)
    assert not make_home(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert (home / ".gitignore").read_text() == "*\n"
