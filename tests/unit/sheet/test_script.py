"""Scripts: text, JSON and files next to the sheet."""

import json

import pytest


def scenes(sheet):
    return [scene["narration"] for scene in sheet.briefs[0].request["script"]["scenes"]]


def csv(script):
    doubled = script.replace('"', '""')
    return f'id,script\nr1,"{doubled}"\n'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("one", ["one"]),
        ("one\ntwo", ["one\ntwo"]),
        ("one\n\ntwo", ["one", "two"]),
        ("\n\none\r\n \t\r\n\r\ntwo\n\n", ["one", "two"]),
        ("one\n\u00a0\ntwo", ["one", "two"]),
        ("[Music] one", ["[Music] one"]),
        ("@@anna says hello", ["@anna says hello"]),
        ("@anna says\nhello", ["@anna says\nhello"]),
    ],
)
def test_a_blank_line_begins_a_scene(read, text, parts):
    assert scenes(read(csv(text))) == parts


def test_text_json_and_yaml_of_one_script_are_one_video_and_json_is_sent_as_it_is(read):
    script = {"scenes": [{"narration": "one", "seconds": 3}], "voice": {"pace": 1.5}}
    assert read(csv(json.dumps(script, indent=1))).briefs[0].request["script"] == script
    text = read(csv("one\n\ntwo"))
    as_json = read(csv('{"scenes":[{"narration":"one"},{"narration":"two"}]}'))
    as_yaml = read(
        "rows:\n- id: r1\n  script:\n    scenes:\n"
        "    - narration: one\n    - narration: |\n        two\n",
        "c.yaml",
    )
    assert text.briefs[0].digest == as_json.briefs[0].digest == as_yaml.briefs[0].digest


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("{one", 'begins like JSON but is none: "one" stands without quotes'),
        ('{"a": 1, "a": 2}', 'has "a" twice'),
        ("{}", "is not an object in JSON"),
    ],
)
def test_it_refuses_bad_json(refuse, script, words):
    (problem,) = refuse(csv(script))
    assert problem.startswith('campaign.csv:2 row "r1", column script: ')
    assert words in problem


def test_it_reads_a_file_beside_the_sheet(read, tmp_path):
    (tmp_path / "scripts").mkdir()
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "scripts" / "intro.txt").write_bytes("Grüße\r\n\r\nzwei".encode(encoding))
        sheet = read(csv("@scripts/intro.txt"), folder=tmp_path)
        assert scenes(sheet) == ["Grüße", "zwei"]
        assert sheet.briefs[0].digest == read(csv("Grüße\n\nzwei")).briefs[0].digest
        assert [*sheet.briefs[0].cells][1] == ("script", "@scripts/intro.txt")


def test_it_does_not_leave_the_sheets_folder(refuse, tmp_path):
    home = tmp_path / "sheets"
    home.mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (home / "link.txt").symlink_to(secret)
    for name in ("../secret.txt", str(secret), "link.txt"):
        (problem,) = refuse(csv(f"@{name}"), folder=home)
        assert problem.endswith("lies outside the sheet's folder; move it there")


def test_it_explains_a_file_that_cannot_be_used(refuse, tmp_path):
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "video.bin").write_bytes(b"\x89PNG\xff")
    (tmp_path / "long.txt").write_text("x" * 100_001)
    for name, words in (
        ("gone.txt", "is not a file beside the sheet"),
        (".", "is not a file beside the sheet"),
        ("empty.txt", "is an empty file"),
        ("video.bin", "is not UTF-8 text"),
        ("long.txt", "100,000 is the limit"),
    ):
        assert words in refuse(csv(f"@{name}"), folder=tmp_path)[0]


def test_a_row_has_a_tool_or_a_script(refuse):
    (problem,) = refuse('[{"script": ["one"]}]', "c.json")
    assert 'is neither text nor an object like {"scenes": [...]}' in problem
    said = [
        'campaign.csv:2 row "r1", column script is empty, and the row has neither a tool nor a',
        'campaign.csv:3 row "r2" has both a tool and a script: give one of them',
        'campaign.csv:4 row "r3", column fields.a: "x" is an input for a tool, but the row has a',
    ]
    problems = refuse("id,tool,script,fields.a\nr1,,,\nr2,t,One,\nr3,,One,x\n")
    for problem, words in zip(problems, said, strict=True):
        assert problem.startswith(words)
