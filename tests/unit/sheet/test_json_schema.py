"""The JSON Schema of sheets tells an editor names, types, choices and descriptions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from callsheet.deployments.cli import execute
from callsheet.tasks.sheet.json_schema import sheet_schema
from tests.repository import files_in

SAMPLES = Path(__file__).parents[3] / "configs" / "campaigns"
SCHEMA = Draft202012Validator(sheet_schema())
ROW = {"id": "a", "tool": "t"}


@pytest.mark.parametrize(
    "document",
    [
        [ROW],
        {"rows": [ROW], "budget": 12.5, "defaults": {"mode": "hybrid", "tag: a": {"title": "T"}}},
        [{**ROW, "title": None, "fields": {"a": 1}, "fields.b": "c", "title.de": "T", "x_a": [1]}],
        [{"operation": "image-to-video", "image": "i", "body.seed": 5, "captions": ["srt"]}],
    ],
    ids=json.dumps,
)
def test_it_accepts_a_sheet(document):
    SCHEMA.validate(document)


@pytest.mark.parametrize(
    "document",
    [
        {"rows": [ROW], "budgte": 3}, {"budget": 3}, {"rows": 5}, ["a"],
        [{**ROW, "titel": "a"}], [{**ROW, "mode": "loud"}], [{**ROW, "title": {"a": 1}}],
        {"rows": [ROW], "defaults": {"id": "a"}},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_it_marks_an_unknown_name_a_wrong_type_and_a_wrong_choice(document):
    assert not SCHEMA.is_valid(document)


@pytest.mark.parametrize(
    "path", files_in("configs/campaigns", of="*.yaml"), ids=lambda path: path.name
)
def test_it_accepts_every_sample(path):
    SCHEMA.validate(YAML(typ="safe", pure=True).load(path.read_text()))
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text())
    assert named, "its first line names the schema"
    assert (path.parent / named[1]).is_file()


def test_the_command_prints_it_or_writes_it_as_it_lies_beside_the_samples(tmp_path, capsys):
    wanted = tmp_path / "callsheet.schema.json"
    assert execute(["schema", "-o", str(wanted)]) == 0
    assert str(wanted) in capsys.readouterr().out.replace("\n", "")
    assert execute(["schema"]) == 0
    assert capsys.readouterr().out == wanted.read_text()
    kept = json.loads((SAMPLES / "callsheet.schema.json").read_text())
    assert kept == json.loads(wanted.read_text()) == sheet_schema(), (
        "callsheet schema -o configs/campaigns/callsheet.schema.json"
    )


def test_every_column_says_what_it_is():
    Draft202012Validator.check_schema(SCHEMA.schema)
    columns = SCHEMA.schema["$defs"]["columns"]
    for name, form in {**columns["properties"], **columns["patternProperties"]}.items():
        assert form["description"].endswith("."), name
