"""The JSON Schema and the reader accept and refuse the same YAML and JSON sheets."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from callsheet.deployments.cli import execute
from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet import parse_sheet
from callsheet.tasks.sheet.json_schema import sheet_schema
from callsheet.tasks.sheet.text import plain
from tests.repository import files_in
from tests.unit.sheet.spellings import READ
from tests.unit.sheet.spellings import REFUSED as REFUSALS

SAMPLES = Path(__file__).parents[3] / "configs" / "campaigns"
SCHEMA = Draft202012Validator(sheet_schema())
#: What only the reader can know.
THE_READERS = re.compile(
    "of line|same video|begins like JSON|names a file|same column|is also in|"
    "id of a row|comes back|no column is called|closing brace|id that the row has now"
)


def problems_of(document):
    try:
        parse_sheet(json.dumps(document).encode(), name="c.json")
    except SheetError as error:
        return [str(problem) for problem in error.problems]
    return []


def tool(**columns):
    return {"id": "a", "tool": "t", **columns}


def animated(**columns):
    return {"id": "a", "operation": "image-to-video", "image": "i", **columns}


def swapped(**columns):
    return {"operation": "Character Swap", "clip": "c", **columns}


ACCEPTED = [
    [tool()],
    {"rows": [tool(), None, {}]},
    {"rows": [tool()], "campaign": "spring-26", "budget": 12.5, "defaults": None},
    {"rows": [tool()], "campaign": 26, "budget": "1200"},
    {"$schema": "callsheet.schema.json", "rows": [tool()]},
    [tool(id=7, duration_seconds=8.0, character_id="12", priority="-5", max_credits=0)],
    [tool(enabled="No", mode="Talking Head", style="CINEMATIC", aspect_ratio="portrait")],
    [tool(enabled=1, aspect_ratio="16x9", language="no", tags=["a", 5], notes=True)],
    [tool(captions="srt+vtt", fields={"a": {"b": [1]}}, **{"fields.c": 5, "x_mine": [1]})],
    [tool(captions=["VTT", "srt"], tags="a, b", title=None, topic="  ", script="")],
    [tool(aspect_ratio="09:16:00", operation="create", cs_state="delivered")],
    [{"script": "One.\n\nTwo."}, {"script": {"scenes": [{"narration": "n"}]}, "fields": {}}],
    [animated(duration_seconds="10", narration="Hello", **{"body.seed": 5})],
    [{"operation": "image to video", "body.image_url": "i"}],
    [swapped(photos=["p", "q"], duration_seconds=60), swapped(character_id=4)],
    {"defaults": {"tool": "t", "fields": {"a": "b"}}, "rows": [{"id": "a"}, {"script": "Hello"}]},
    {"defaults": {"script": "Hello"}, "rows": [{"id": "a"}, {"tool": "t"}]},
    {"defaults": {"tool": "t"}, "rows": [animated(), {"operation": "create", "script": "Hi"}]},
    {"defaults": {"operation": "talking-avatar", "clip": "c"}, "rows": [{"script": "Hi"}]},
    {"defaults": {"operation": "image-to-video", "tool": "t"}, "rows": [{"image": "i"}]},
    {"defaults": {"image": "i"}, "rows": [{"operation": "create", "tool": "t"}]},
]  # fmt: skip
REFUSED = [
    [], {}, {"rows": []}, {"rows": [{}]}, {"rows": 5}, {"rows": {"id": "a"}}, [5], [["a"]],
    {"rows": [tool()], "budgte": 3}, {"rows": [tool()], "budget": -1},
    {"rows": [tool()], "budget": "1,200"}, {"rows": [tool()], "campaign": "Spring 26"},
    {"rows": [tool()], "campaign": "con"}, {"rows": [tool()], "defaults": 3},
    {"rows": [tool()], "defaults": {"id": "a"}}, {"rows": [tool()], "defaults": {"mode": "loud"}},
    {"rows": [tool()], "defaults": {"image": "i"}},
    [tool(titel="a")], [tool(id="a b")], [tool(id="../a")], [tool(id="NUL.txt")],
    [tool(id="1e5")], [tool(id=-1)], [tool(id=10**16)], [tool(id=["a"])], [tool(id="ends.")],
    [tool(mode="loud")], [tool(mode=5)], [tool(style="hybrid")], [tool(aspect_ratio="4:5")],
    [tool(duration_seconds=0)], [tool(duration_seconds=8.5)], [tool(duration_seconds="8x")],
    [tool(character_id=True)], [tool(priority="quick")], [tool(max_credits="12 kg")],
    [tool(enabled="maybe")], [tool(enabled=2)], [tool(captions="ass")],
    [tool(captions=["srt", "none"])], [tool(captions="both srt")], [tool(title=["a"])],
    [tool(title={"a": 1})], [tool(tags=[["a"]])], [tool(operation="animate")],
    [tool(script="Hello")], [tool(image="i")], [tool(**{"body.x": 1})],
    [tool(**{"body.idempotency_key": "k"})], [tool(idempotency_key="k")],
    [{"id": "a"}], [{"script": 5}], [{"script": "Hello", "fields": {"a": 1}}],
    [{"script": "Hello", "fields.a": 1}], [{"fields": {"a": 1}}],
    [animated(duration_seconds=7)], [animated(tool="t")], [animated(fields={"a": 1})],
    [animated(**{"fields.a": 1})], [animated(script="Hello")], [animated(image=None)],
    [{"operation": "talking-avatar", "clip": "c"}], [swapped()],
    [swapped(photos=["p"], character_id=4)], [swapped(character_id=4, duration_seconds=61)],
    {"defaults": {"tool": "t", "script": "Hello"}, "rows": [{"id": "a"}]},
    {"defaults": {"script": "Hello"}, "rows": [{"id": "a", "fields": {"a": 1}}]},
    {"defaults": {"script": "Hello", "fields": {"a": 1}}, "rows": [{"id": "a"}]},
    {"defaults": {"operation": "create", "clip": "c", "tool": "t"}, "rows": [{"id": "a"}]},
    {"defaults": {"operation": "image-to-video"}, "rows": [tool()]},
    {"defaults": {"photos": ["p"]}, "rows": [swapped(character_id=4)]},
    {"defaults": {"duration_seconds": 7}, "rows": [animated()]},
]  # fmt: skip


@pytest.mark.parametrize("document", ACCEPTED, ids=json.dumps)
def test_both_accept_it(document):
    assert problems_of(document) == []
    SCHEMA.validate(document)


@pytest.mark.parametrize("document", REFUSED, ids=json.dumps)
def test_both_refuse_it(document):
    assert problems_of(document)
    assert not SCHEMA.is_valid(document)


@pytest.mark.parametrize("column", READ)
def test_both_understand_a_value_as_people_type_it(column):
    for value, _ in READ[column]:
        assert problems_of([{**tool(), column: value}]) == []
        assert SCHEMA.is_valid([{**tool(), column: value}]) or is_the_readers(column, value), value


@pytest.mark.parametrize("column", REFUSALS)
def test_both_refuse_a_value_that_nobody_can_know(column):
    for value, _ in REFUSALS[column]:
        assert problems_of([{**tool(), column: value}])
        assert not SCHEMA.is_valid([{**tool(), column: value}]), value


def is_the_readers(column, value):
    """Say whether a value needs what no pattern can do: look through what nobody sees."""
    return not plain(value).isascii() or column == "id" or "\u200b" in value


@pytest.mark.parametrize(
    "path", files_in("configs/campaigns", of="*.yaml"), ids=lambda path: path.name
)
def test_both_accept_every_sample(path):
    SCHEMA.validate(YAML(typ="safe", pure=True).load(path.read_text()))
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text())
    assert named, "its first line names the schema"
    assert (path.parent / named[1]).is_file()


def test_the_schema_beside_the_samples_is_the_one_that_is_printed():
    kept = json.loads((SAMPLES / "callsheet.schema.json").read_text())
    assert kept == sheet_schema(), "callsheet schema -o configs/campaigns/callsheet.schema.json"


def test_the_command_prints_it_or_writes_it(tmp_path, capsys):
    wanted = tmp_path / "callsheet.schema.json"
    assert execute(["schema", "-o", str(wanted)]) == 0
    assert str(wanted) in capsys.readouterr().out.replace("\n", "")
    assert execute(["schema"]) == 0
    assert capsys.readouterr().out == wanted.read_text()
    assert json.loads(wanted.read_text()) == sheet_schema()


def test_every_column_says_what_it_is():
    Draft202012Validator.check_schema(SCHEMA.schema)
    columns = SCHEMA.schema["$defs"]["columns"]
    for name, form in {**columns["properties"], **columns["patternProperties"]}.items():
        assert form["description"].endswith("."), name


VALUES = st.sampled_from(
    [None, "", " ", [], {}, 0, 1, 5, 8.0, 60, 61, -3, True, "a", "r1", "no", "both", "srt vtt",
     ["srt"], "create", "image-to-video", "talking-avatar", "character-swap", "9:16", "hybrid",
     "Talking Head", "8", "12.5", ["a", "b"], {"a": 1}, {"a": ""}, "t", "Hello"]
)  # fmt: skip
COLUMNS = st.sampled_from(
    [*SCHEMA.schema["$defs"]["columns"]["properties"], "fields.a", "body.x", "x_mine", "titel"]
)
CHANGES = st.lists(st.tuples(st.integers(0, 3), COLUMNS, VALUES), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ACCEPTED), CHANGES)
def test_both_say_the_same_of_a_changed_sheet(document, changes):
    changed = copy.deepcopy(document if isinstance(document, dict) else {"rows": document})
    for place, column, value in changes:
        shared = changed.setdefault("defaults", {}) if place == 0 else changed["rows"][0]
        if not isinstance(shared, dict):
            changed["defaults"] = shared = {}
        if place == 3:
            shared.pop(column, None)
        else:
            shared[column] = value
    problems = problems_of(changed)
    assume(not any(THE_READERS.search(problem) for problem in problems))
    errors = [error.json_path for error in SCHEMA.iter_errors(changed)]
    assert bool(problems) == bool(errors), (changed, problems, errors)
