"""What the README says is so."""

from __future__ import annotations

import argparse
import re
import tomllib
from dataclasses import fields
from pathlib import Path

from callsheet.deployments.commands.help import WORDS
from callsheet.deployments.parser import build_parser
from callsheet.deployments.sandbox.faults import kinds
from callsheet.tasks.ledger.schema import rows
from callsheet.tasks.ledger.values import STATES, TRANSITIONS, CampaignRow
from callsheet.tasks.metrics import METRICS
from callsheet.tasks.runtime import errors
from callsheet.tasks.runtime.known_settings import KNOWN, ON_BOARD
from callsheet.tasks.sheet.columns import OWN
from callsheet.tasks.sheet.json_schema import sheet_schema
from callsheet.tasks.values.briefs import WISHES
from tests.reference import pages
from tests.repository import files_in

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
STATES_PAGE = (ROOT / "docs" / "states.md").read_text()


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command."""
    (choices,) = [
        action.choices
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return dict(choices)


def test_the_words_of_help_are_those_of_the_pages() -> None:
    own = tomllib.loads(WORDS.read_text())
    page = (ROOT / "docs" / "words.md").read_text()
    glossary = dict(re.findall(r"^\| (?!word )([^|]*\w[^|]*?) \| ([^|]+) \|$", page, re.MULTILINE))
    unlinked = re.sub(r"\[(\w+)\]\([^)]*\)", r"\1", STATES_PAGE)
    states = re.findall(r"^\| (\w+) \| ([^|]+) \| [\w, ]+ \|$", unlinked, re.MULTILINE)

    assert own["glossary"] == glossary
    assert own["states"] == {state: means for state, means in states if state in STATES}


def test_the_states_table_is_the_states() -> None:
    table = re.findall(r"^\| (\w+) \| [^|]+ \| ([\w, ]+) \|$", STATES_PAGE, re.MULTILINE)
    told = {state: set(moves.split(", ")) for state, moves in table if state in STATES}

    assert told == {state: set(moves) for state, moves in TRANSITIONS.items()}


def test_the_states_picture_shows_only_moves_there_are() -> None:
    edges = re.findall(
        r"^    (\w+) --> (\w+)$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )

    assert len(edges) > 10
    assert all(new in TRANSITIONS[old] for old, new in edges)
    assert {state for edge in edges for state in edge} >= set(STATES) - {"retired"}


def test_the_pages_made_from_code_are_as_the_code_is() -> None:
    for name, text in pages().items():
        assert (ROOT / "docs" / f"{name}.md").read_text() == text, "python -m tests.reference"
    assert "docs/commands.md" in README


def test_every_option_the_readme_names_exists() -> None:
    known = {
        option
        for parser in commands().values()
        for action in parser._actions
        for option in action.option_strings
    }
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", README):
        assert option in known, option


def test_every_fault_of_the_sandbox_is_documented() -> None:
    text = (ROOT / "docs" / "sandbox.md").read_text()
    anywhere, _, single = text.partition("| the sandbox | `do` |")[2].partition("On one kind only")
    told = {("*", name) for name in re.findall(r"`([a-z-]+)`(?=,| \|$)", anywhere, re.MULTILINE)}
    explained = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| `(\w+)` \|$", single, re.MULTILINE)
    known = kinds.listed_kinds()

    assert told == {(kind["on"], kind["do"]) for kind in known if kind["on"] == "*"}
    assert sorted((on, do, about) for do, about, on in explained) == sorted(
        (kind["on"], kind["do"], kind["about"]) for kind in known if kind["on"] != "*"
    )


def test_every_option_of_the_sandbox_is_documented() -> None:
    text = (ROOT / "docs" / "sandbox.md").read_text()
    known = {o for a in commands()["sandbox"]._actions for o in a.option_strings if o[:2] == "--"}
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--sandbox"}

    assert told == known - {"--help", "--profile", "--verbose"}


def test_every_verb_of_the_direct_commands_is_documented() -> None:
    text = (ROOT / "docs" / "service.md").read_text()
    for command in ("video", "webhooks"):
        (verbs,) = [a for a in commands()[command]._actions if a.dest == "verb"]
        assert {verb for verb in verbs.choices or () if f"`{verb}`" not in text} == set()


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    told = re.findall(r"^\| `(\w+)` \| (?:`([^`]*)`)? ?\| (.+) \|$", text, re.MULTILINE)

    assert {name: (default or None, words) for name, default, words in told} == KNOWN


def test_what_the_board_sets_is_documented() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    told = text.partition("An admin can set ")[2].partition(" [on the board]")[0]

    assert re.findall(r"`(\w+)`", told) == [*ON_BOARD]


def test_every_metric_is_documented() -> None:
    text = (ROOT / "docs" / "observability.md").read_text()
    told = re.findall(
        r"^\| `(callsheet_\w+)` \| (\w+) \| ([\w, ]*) \| (.+) \|$", text, re.MULTILINE
    )

    assert told == [(m.name, m.kind, ", ".join(m.labels), m.words) for m in METRICS]


def test_every_column_of_a_sheet_is_documented() -> None:
    columns = sheet_schema()["$defs"]["columns"]["properties"]
    text = (ROOT / "docs" / "sheets.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE))

    assert {name: told.get(name) for name in columns} == {
        name: column["description"] for name, column in columns.items()
    }


def test_every_error_is_drawn_in_the_tree() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.CallsheetError)
    }
    assert errors.__doc__ is not None
    assert {name for name in classes if name not in errors.__doc__} == set()
    assert all(vars(errors)[name].__doc__ for name in classes)


def test_the_readme_is_short_and_has_no_gaps() -> None:
    words = re.sub(r"```.*?```", "", README, flags=re.DOTALL).split()
    assert len(words) <= 900
    assert "FIGURES" not in README


def test_the_readme_shows_a_small_picture_of_the_board() -> None:
    (name,) = re.findall(r"!\[[^]]+\]\(([^)]+\.png)\)", README)

    assert (ROOT / name).stat().st_size < 200_000


def test_every_command_answers_for_itself() -> None:
    for parser in commands().values():
        assert {"--json", "--profile", "--verbose"} <= {
            option for action in parser._actions for option in action.option_strings
        }


def test_every_state_of_flow_runs_and_every_automation_is_in_its_page() -> None:
    page = (ROOT / "docs" / "prefect.md").read_text()
    states = {row.split(" | ")[0].strip("| ") for row in page.splitlines() if " | " in row}
    automations = {path.stem for path in files_in("deployments/automations", of="*.yaml")}

    assert {f"`{name}`" for name in automations} <= states
    endings = (ROOT / "flows" / "endings.py").read_text()
    names = re.findall(r'[3245]: "(\w+)"|NOT_APPROVED, ATTENDED = "(\w+)", "(\w+)"', endings)
    assert {name for found in names for name in found if name} <= states


def test_the_walk_of_one_row_names_files_that_exist_and_not_many() -> None:
    page = (ROOT / "docs" / "one-row.md").read_text()
    files = set(re.findall(r"`((?:tasks|flows|deployments)/[\w/]+\.py)`", page))

    assert 40 < len(files) <= 60
    assert [path for path in files if not (ROOT / path).is_file()] == []


def test_every_recipe_names_files_that_have_its_example() -> None:
    recipes = re.split(r"^### ", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)[1:]

    assert len(recipes) == 9
    for recipe in recipes:
        (example,) = re.findall(r"^Example: `(.+)`\.$", recipe, re.MULTILINE)
        paths = re.findall(r"^- `(.+?)`", recipe, re.MULTILINE)
        assert paths
        for path in paths:
            assert example in (ROOT / path).read_text(), (example, path)


def test_a_column_of_callsheets_own_is_forgotten_nowhere() -> None:
    # Those that say which row it is, and what it asks for, are not kept as they are written.
    kept = {*OWN} - {"id", "uses", "was", "operation", "video_id"}

    assert kept <= {*WISHES}, "a field of Brief in tasks/values/briefs.py"
    assert kept <= {*rows.c.keys()}, "a column of rows in tasks/ledger/schema.py"
    assert kept <= {one.name for one in fields(CampaignRow)}, "tasks/ledger/values.py"
