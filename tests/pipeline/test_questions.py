"""Questions at a real pseudo-terminal: before credits are spent or work is thrown away, and `init`.

What `init` writes passes `check` and can be run, with or without questions.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.runtime.home import read_profile
from callsheet.tasks.runtime.known_settings import KNOWN, SECRETS
from tests.pipeline.terminals import Terminal
from tests.programs import Desk, Sandbox, simple_sheet

pytestmark = pytest.mark.merge

#: What may be typed.
NO, YES, CTRL_C = "n", "yes", None
Answer = tuple[int, dict[str, Any], str]


def ask(
    desk: Desk, words: tuple[str, ...], *keys: str | None, meanwhile: Callable[[], object] = bool
) -> Answer:
    """Run a command at a terminal, type `keys` at its questions; `meanwhile` one is open.

    Returns the exit status, the document on stdout and what the terminal showed.
    """
    at = Terminal(desk, *words, "--json", piped=True)
    for key in keys:
        at.answer(key, meanwhile)
    status, shown = at.end()
    return status, json.loads(at.out) if at.out else {}, shown


@pytest.mark.always
def test_a_video_made_by_hand(desk: Desk, service: Sandbox, name: str) -> None:
    wanted = ("video", "create", "--tool", "product-launch", "--duration", "20", "--title", name)
    no, left = ask(desk, wanted, NO), ask(desk, wanted, CTRL_C)
    created = service.creates()
    yes = ask(desk, wanted, YES)
    assert (no[0], left[0], yes[0]) == (4, 4, 0)
    assert "Spend 45 credits? [y/N]" in yes[2]
    assert "nothing was spent" in left[1]["error"]
    assert service.creates() == created + 1


@pytest.mark.parametrize(
    "how", [("--without-prefect",), pytest.param((), marks=pytest.mark.prefect)], ids=str
)
def test_a_run(desk: Desk, service: Sandbox, name: str, how: tuple[str, ...]) -> None:
    wanted = ("run", desk.sheet(f"{name}.csv", simple_sheet(1)), *how)
    before = service.creates()
    left = ask(desk, wanted, CTRL_C)
    no = ask(desk, wanted, NO) if how else left
    assert (left[0], no[0], service.creates()) == (4, 4, before)
    assert "Spend 15 credits? [y/N]" in left[2]
    assert "nothing was spent" in left[1]["error"]
    if how:
        assert ask(desk, wanted, YES)[0] == 0


@pytest.mark.parametrize(
    ("text", "why", "ends"),
    [
        (simple_sheet(1).replace("Kettle", "Teapot"), "was changed", 4),
        (simple_sheet(1), None, 0),
        (None, "is not there any more", 4),
    ],
)
def test_a_sheet_that_is_saved_while_the_question_is_open(
    desk: Desk, service: Sandbox, name: str, text: str | None, why: str | None, ends: int
) -> None:
    sheet = desk.folder / desk.sheet(f"{name}.csv", simple_sheet(1))
    before = service.creates()
    save = sheet.unlink if text is None else partial(sheet.write_text, text)
    ended = ask(desk, ("run", str(sheet), "--without-prefect"), YES, meanwhile=save)
    assert ended[0] == ends
    if why is not None:
        words = f"{why} since its plan was made; nothing was approved, nothing was spent"
        assert ended[1]["error"].endswith(words)
    assert service.creates() == before + (ends == 0)
    assert desk.rows(name)["r001"]["state"] == ("quoted" if ends else "delivered")


def test_another_take_and_an_end(desk: Desk, service: Sandbox, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0
    before = service.creates()
    for words in (("retake", name, "r001"), ("cancel", name, "r001")):
        for keys in (CTRL_C, NO):
            status, said, _ = ask(desk, words, keys)
            assert (status, "nothing was done" in said["error"]) == (4, True)
        if words[0] == "retake":
            assert ask(desk, words, YES)[0] == 0
    assert service.creates() == before
    assert desk.rows(name)["r001"]["state"] == "approved"


def test_rows_that_left_the_sheet_in_numbers(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(5))).status == 0
    text = simple_sheet(1) + "new,product-launch,Lamp,Lamp,5,9:16\n"
    wanted = ("run", desk.sheet(f"{name}.csv", text), "--without-prefect", "--yes")
    no = ask(desk, wanted, NO)
    before = [*desk.states(name).values()]
    yes = ask(desk, wanted, YES)
    assert "Spend 15 credits, and retire 4 of 5 rows that left the sheet? [y/N]" in no[2]
    assert (no[0], yes[0], before.count("delivered")) == (4, 0, 5)
    assert yes[1]["rows"] == {"total": 6, "delivered": 2, "retired": 4}


def test_what_else_a_run_changes_is_said_above_the_question(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(2))).status == 0
    tree = f"campaign: {name}\nbudget: 90\nkeep_at_service: 30d\nrows:\n"
    tree += "- {id: new, tool: product-launch, title: Lamp, topic: Lamp, duration_seconds: 5}\n"
    sheet = desk.sheet(f"{name}.yaml", tree)
    saved = desk.call("plan", sheet, "--same-campaign", "-o", "plan.html")
    no = ask(desk, ("run", sheet, "--without-prefect", "--same-campaign"), NO)
    shown, asked, _ = no[2].partition("[y/N]")
    assert (no[0], bool(asked), saved.status) == (4, True, 0)
    page = (desk.folder / "plan.html").read_text()
    for words in (
        "2 rows left the sheet and are retired (r001, r002)",
        "delivered videos are deleted at the service after 30d",
        "the budget of the campaign becomes 90 credits (so far: none)",
    ):
        assert words in " ".join(shown.split())
        assert words in page


def test_a_sheet_that_is_read_in_another_way(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, columns=",Claim", cells=",Boils"))
    assert desk.run(sheet, "--map", "Claim=x_claim").status == 0
    other = ("run", sheet, "--without-prefect", "--map", "title=x_title", "--map", "Claim=title")
    no, again = ask(desk, other, NO), ask(desk, (*other, "--yes"), NO)
    yes = ask(desk, other, YES, YES)
    read = '"Video 1" of row r001 was title and is x_title now. Read it this way from now on?'
    assert read in no[2]
    assert (no[0], again[0], yes[0]) == (4, 4, 0)


def test_hidden_rows_of_a_workbook(desk: Desk, name: str) -> None:
    sheet = desk.workbook(f"{name}.xlsx", simple_sheet(3), hidden=(3,))
    wanted = ("run", sheet, "--without-prefect")
    left, no = ask(desk, wanted, CTRL_C), ask(desk, wanted, NO, YES)
    after_no = set(desk.rows(name))
    yes = ask(desk, wanted, YES, YES)
    assert (left[0], no[0], yes[0]) == (4, 0, 0)
    assert "1 row is hidden (r002). Make a video of it too? [y/N]" in left[2]
    assert "nothing was spent" in left[1]["error"]
    assert after_no == {"r001", "r003"}
    assert desk.rows(name)["r002"]["state"] == "delivered"


def settings(folder: Path, profile: str) -> dict[str, str]:
    """Return what a profile says, as the program reads it."""
    found = read_profile(profile, folder, known=KNOWN, secrets=SECRETS, needed=True)
    return {name: one.value for name, one in found.items()}


def test_init_without_a_terminal_asks_nothing_and_the_sample_runs_on_the_sandbox(
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
def test_init_with_a_key_asks_the_service_itself(desk: Desk, service: Sandbox, sheet: str) -> None:
    before = service.calls().get("tools", 0)
    made = desk.call("init", sheet, "--profile", "team", "--json")
    check = desk.call("check", sheet, "--json", "--profile", "team")
    plan = desk.call("plan", *shlex.split(made.json["next"])[2:], "--json")
    assert (made.status, check.json["advice"], plan.status) == (0, [], 0)
    assert "--sandbox" not in made.json["next"]
    assert settings(desk.folder, "team")["base_url"] == service.environ["CALLSHEET_BASE_URL"]
    assert service.calls()["tools"] > before
    assert plan.json["credits"]["budget"] == 100


@pytest.mark.always
def test_init_replaces_no_file_without_asking(desk: Desk) -> None:
    (desk.folder / "configs").write_text("")
    blocked = desk.call("init", "--yes")
    assert (blocked.status, "the folder configs/profiles cannot be made" in blocked.err) == (
        2,
        True,
    )
    (desk.folder / "configs").unlink()
    (desk.folder / "configs" / "profiles").mkdir(parents=True)
    texts = {"configs/profiles/main.toml": 'store = "mine/"\n', "first-videos.yaml": "rows: []\n"}
    for file, text in texts.items():
        desk.sheet(file, text)
    made = desk.call("init", "--yes")
    assert (made.status, made.err.count("exists and stays as it is")) == (0, 2)
    assert {file: (desk.folder / file).read_text() for file in texts} == texts


def test_what_init_is_answered_is_in_the_files(desk: Desk, service: Sandbox) -> None:
    desk.sheet("mine.yaml", "mine")
    keys = ["mav_1", "", "ftp://x", "s3://videos/spring", "99", "2", "German, Klingonisch",
            "German, fr", "lots", "250", "n"]  # fmt: skip
    status, shown = Terminal.run(desk, "init", "mine.yaml", keys=keys)
    kept = (desk.folder / "mine.yaml").read_text()
    keys = ["sandbox", "", "n", "explainer", "German, fr", "250", "y"]
    status_2, shown_2 = Terminal.run(desk, "init", "mine.yaml", keys=keys)
    check = desk.call("check", "mine.yaml", "--profile", "main", "--json")
    assert (status, status_2, kept, check.status) == (0, 0, "mine", 0), shown + shown_2
    for words in ("that is a key", "is not a store", "is not a tool of the list",
                  "is not a language Callsheet knows", '"lots" is not an amount'):  # fmt: skip
        assert words in shown
    profile = {"base_url": service.environ["CALLSHEET_BASE_URL"], "store": "s3://videos/spring"}
    assert settings(desk.folder, "main") == profile
    text = (desk.folder / "mine.yaml").read_text()
    assert 'budget: 250\nmatrix:\n  axes:\n    language: ["de", "fr"]\n' in text
    assert 'tool: "explainer"' in text
    assert check.json["rows"] == 2
    assert "next, type: callsheet run mine.yaml --sandbox --profile main" in shown_2


@pytest.mark.always
def test_a_key_is_stored_with_the_login_and_never_in_the_profile(desk: Desk) -> None:
    address, key = (desk.environ.pop(f"CALLSHEET_{name}") for name in ("BASE_URL", "API_KEY"))
    keys = [address, "", "", "", "", ""]
    later, shown_later = Terminal.run(desk, "init", "later.yaml", keys=keys)
    keys = ["", "", "n", key, "", "", ""]
    now, shown = Terminal.run(desk, "init", "now.yaml", keys=keys)
    assert (later, now) == (0, 0), shown_later + shown
    assert "next, type: callsheet login --with-token --profile main" in shown_later
    assert "next, type: callsheet run now.yaml --profile main" in shown
    profile = (desk.folder / "configs" / "profiles" / "main.toml").read_text()
    assert f'base_url = "{address}"' in profile
    assert key not in shown + profile
