"""`--select` takes ids and terms on every command, and a selection of nothing is a mistake."""

from __future__ import annotations

import pytest

from tests.programs import Desk, simple_sheet

#: Commands that take `--select`, without it; of a sheet, or of a campaign.
OF_A_SHEET = (("plan",), ("run", "--yes", "--without-prefect"))
OF_A_CAMPAIGN = (
    ("rows",),
    ("retake", "--yes"),
    ("cancel", "--yes"),
    ("verify",),
    ("contact-sheet", "-o", "videos.html"),
)
MISTAKES = {
    "r001,r01": "did you mean r001? rows that exist: r001, r002, r003",
    "tag:lauch": "did you mean launch? tags that exist: launch, other",
    "!r9": 'names "r9", and there is no such row',
    "": "--select",
}


@pytest.mark.merge
def test_ids_are_alternatives_and_a_mistake_touches_nothing(desk: Desk, name: str) -> None:
    sheet = f"{name}.csv"
    text = simple_sheet(3, columns=",tags", cells=",launch")
    text = text.replace("Video 3,5,9:16,launch", "Video 3,5,9:16,other")
    (desk.folder / sheet).write_text(text)
    run = ("run", sheet, "--yes", "--json", "--without-prefect", "--select")
    assert desk.call(*run, "r001,r9").status == 2
    made = desk.call(*run, "r001,r003").json
    assert made["rows"] == {"total": 3, "planned": 1, "delivered": 2}

    again = desk.call(*run, "r001,r003")
    assert (again.status, again.json["credits"]["charged_this_run"]) == (0, 0)
    listed = desk.call("rows", name, "--select", "r001,r002,tag:launch", "--json").lines
    assert [line["row"] for line in listed] == ["r001", "r002"]
    assert desk.call("rows", name, "--select", "state:failed", "--json").lines == []
    before = desk.call("rows", name, "--json").out

    commands = [(*words, sheet) for words in OF_A_SHEET]
    commands += [(*words, name) for words in OF_A_CAMPAIGN]
    commands.append(("review", name, "keep"))
    for words in commands:
        for select, told in MISTAKES.items():
            ended = desk.call(*words, "--select", select)
            assert (ended.status, told in ended.err) == (2, True), (words, select, ended.err)
    assert desk.call("rows", name, "--json").out == before


def test_the_help_shows_three_examples(desk: Desk) -> None:
    for command in ("plan", "run", "rows", "retake", "cancel", "review", "verify"):
        told = " ".join(desk.call(command, "--help").out.split())
        for example in ("r1,r2", "tag:launch,language:en|de", "'draft-*,!draft-7'"):
            assert example in told, (command, told)
