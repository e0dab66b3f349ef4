"""`callsheet init`: what it writes passes `check` and can be run, with or without questions."""

from __future__ import annotations

import os
import pty
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from callsheet.tasks.runtime.home import read_profile
from callsheet.tasks.runtime.known_settings import KNOWN, SECRETS
from tests.launcher import launcher
from tests.programs import Desk, Sandbox

pytestmark = pytest.mark.merge

#: Ends of what is printed where an answer is waited for.
ASKED = (b"]: ", b"[y/N] ", b"not shown): ")


def settings(folder: Path, profile: str) -> dict[str, str]:
    """Return what a profile says, as the program reads it."""
    found = read_profile(profile, folder, known=KNOWN, secrets=SECRETS, needed=True)
    return {name: one.value for name, one in found.items()}


def answer(desk: Desk, words: Sequence[str], keys: Sequence[str]) -> tuple[int, str]:
    """Run `init` at a terminal, type `keys` at its questions; return how it ends and is shown."""
    ours, theirs = pty.openpty()
    process = launcher().start(
        ("init", *words), cwd=desk.folder, env=desk.environment(),
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with open(ours, "r+b", buffering=0) as terminal:
        for key in keys:
            while not shown.endswith(ASKED):
                shown += terminal.read(4096)
            terminal.write(f"{key}\n".encode())
            shown += b"\n"
        try:
            while more := terminal.read(4096):
                shown += more
        except OSError:
            pass  # The terminal is gone with the program.
    return process.wait(), shown.decode()


def test_without_a_terminal_it_asks_nothing_and_the_sample_runs_on_the_sandbox(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    made = desk.call("init", "--json")
    check = desk.call("check", "first-videos.yaml", "--json")
    typed = shlex.split(made.json["next"])[1:]
    run = desk.call(*typed, "--yes", "--without-prefect", "--json")

    assert made.status == 0
    assert typed == ["run", "first-videos.yaml", "--sandbox", "--profile", "main"]
    assert settings(tmp_path, "main") == {"store": "deliveries/"}
    assert (check.json["problems"], check.json["advice"]) == ([], [])
    assert (run.status, run.json["rows"]) == (0, {"total": 1, "delivered": 1})
    assert run.json["credits"]["budget"] == 100


@pytest.mark.always
@pytest.mark.parametrize("sheet", ["first-videos.yaml", "spring.csv"])
def test_with_a_key_it_asks_the_service_itself(desk: Desk, service: Sandbox, sheet: str) -> None:
    before = service.calls()
    made = desk.call("init", sheet, "--profile", "team", "--json")
    check = desk.call("check", sheet, "--json", "--profile", "team")
    plan = desk.call("plan", *shlex.split(made.json["next"])[2:], "--json")

    assert (made.status, check.json["advice"], plan.status) == (0, [], 0)
    assert "--sandbox" not in made.json["next"]
    assert settings(desk.folder, "team")["base_url"] == service.environ["CALLSHEET_BASE_URL"]
    assert service.calls().get("tools", 0) > before.get("tools", 0)
    assert plan.json["credits"]["budget"] == 100


def test_a_folder_that_cannot_be_made_is_named(desk: Desk) -> None:
    (desk.folder / "configs").write_text("")

    made = desk.call("init", "--yes")

    assert (made.status, made.err.partition(":")[2].partition(":")[0]) == (
        2, " the folder configs/profiles cannot be made",
    )  # fmt: skip


@pytest.mark.always
def test_no_file_is_replaced_without_asking(desk: Desk) -> None:
    (desk.folder / "configs" / "profiles").mkdir(parents=True)
    profile, sheet = desk.folder / "configs/profiles/main.toml", desk.folder / "first-videos.yaml"
    profile.write_text('store = "mine/"\n')
    sheet.write_text("rows: []\n")

    made = desk.call("init", "--yes")

    assert made.status == 0
    assert made.err.count("exists and stays as it is") == 2
    assert (profile.read_text(), sheet.read_text()) == ('store = "mine/"\n', "rows: []\n")


def test_the_answers_are_in_the_files(desk: Desk, service: Sandbox) -> None:
    (desk.folder / "mine.yaml").write_text("mine")
    keys = ["mav_1", "", "ftp://x", "s3://videos/spring", "99", "2", "German, Klingonisch",
            "German, fr", "lots", "250", "n"]  # fmt: skip

    status, shown = answer(desk, ["mine.yaml"], keys)
    kept = (desk.folder / "mine.yaml").read_text()
    keys = ["sandbox", "", "", "", "explainer", "German, fr", "250", "y"]
    status_2, shown_2 = answer(desk, ["mine.yaml"], [*keys[:2], "n", *keys[4:]])
    check = desk.call("check", "mine.yaml", "--profile", "main", "--json")

    assert (status, status_2, kept, check.status) == (0, 0, "mine", 0), shown + shown_2
    for words in ("that is a key", "is not a store", "is not a tool of the list",
                  "is not a language Callsheet knows", '"lots" is not an amount'):  # fmt: skip
        assert words in shown
    assert settings(desk.folder, "main") == {
        "base_url": service.environ["CALLSHEET_BASE_URL"],
        "store": "s3://videos/spring",
    }
    text = (desk.folder / "mine.yaml").read_text()
    assert 'budget: 250\nmatrix:\n  axes:\n    language: ["de", "fr"]\n' in text
    assert 'tool: "explainer"' in text
    assert check.json["rows"] == 2
    assert "next, type: callsheet run mine.yaml --sandbox --profile main" in shown_2


@pytest.mark.always
def test_a_key_is_stored_with_the_login_and_never_in_the_profile(
    desk: Desk, service: Sandbox
) -> None:
    address, key = (desk.environ.pop(f"CALLSHEET_{name}") for name in ("BASE_URL", "API_KEY"))

    later = answer(desk, ["later.yaml"], [address, "", "", "", "", ""])
    status, shown = answer(desk, ["now.yaml"], ["", "", "n", key, "", "", ""])

    assert (later[0], status) == (0, 0), later[1] + shown
    assert "next, type: callsheet login --with-token --profile main" in later[1]
    assert "next, type: callsheet run now.yaml --profile main" in shown
    profile = (desk.folder / "configs" / "profiles" / "main.toml").read_text()
    assert f'base_url = "{address}"' in profile
    assert key not in shown + profile
