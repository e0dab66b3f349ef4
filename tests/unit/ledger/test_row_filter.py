"""One language says which rows are meant, of a sheet and of the ledger, and both find the same."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import names_shown
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import Stage, brief


def asking(row: str, request: dict[str, Any], **own: Any) -> Brief:
    return Brief(row=row, request=request, **own)


#: Two selections, and the one for what both let through.
BOTH = [
    ("r1,r2", "r2,r3", "r2"),
    ("r1", "r2", '""'),
    ("r*", "r1,R2,x", "r1|R2"),
    ("R1,r2", '"r1"', '"r1"'),
    ('"r1"', "R?", '"r1"'),
    ("r1,tag:a", "r1,!tag:b", "r1,tag:a,!tag:b"),
    ("tag:a", "tag:b", "tag:a,tag:b"),
]


@pytest.mark.parametrize(("one", "other", "both"), BOTH)
def test_two_filters_let_through_what_each_does(one: str, other: str, both: str) -> None:
    found = RowFilter.parse(one) & RowFilter.parse(other)
    assert str(found) == both
    assert RowFilter.parse(str(found)) == found


def test_two_wildcards_for_one_id_are_refused() -> None:
    with pytest.raises(BadInput, match="both choose ids by wildcards"):
        RowFilter.parse("a*") & RowFilter.parse("*b")


ROWS = [
    brief("Draft-7", "Green Tea", tags=("launch", "Wave 2"), cost_center="42"),
    asking("r1", {"topic": "100% Käse", "language": "de", "tool": "explainer"}, tags=("a, b",)),
    asking("r2", {"title": "Über_uns", "language": "pt-BR", "duration_seconds": 30}),
    asking("r3", {"script": 'A "quoted" \\ tag', "voice_id": "v1"}, tags=('the "big" one', "ÄRA")),
    asking("R4", {"topic": "[a]", "duration_seconds": 6, "mode": "fast"}, tags=("a*", "launch-2")),
]
STATES = {"Draft-7": "planned", "r1": "failed", "r2": "delivered", "r3": "held", "R4": "planned"}

#: Selections, and the rows that they choose.
SELECTIONS = {
    "draft-7": "Draft-7",
    "!draft-*": "r1 r2 r3 R4",
    "row:draft-7": "Draft-7",
    '"draft-7"': "",
    '"Draft-7","r4"': "Draft-7",
    "r1,row:r4": "r1 R4",
    "r1,draft-7,tag:launch": "Draft-7",
    "r*,!r1,!r2": "r3 R4",
    "draft-[7]": "",
    "tag:launch": "Draft-7",
    "tag:l*2": "R4",
    "tag:wave*|ära": "Draft-7 r3",
    "tag:wave*|launch-2": "Draft-7 R4",
    "!tag:launch": "r1 r2 r3 R4",
    "!tag:*": "r2",
    'tag:"a, b"': "r1",
    'tag:"a*"': "R4",
    'tag:"the ""big"" one"|x': "r3",
    'tag:the "big" one': "r3",
    "cost_center:4?": "Draft-7",
    "cost_center:": "r1 r2 r3 R4",
    "topic:100%*": "r1",
    "topic:1__*": "",
    "topic:[A]": "R4",
    "title:über?uns": "r2",
    'title:"über_uns"': "",
    "aspect_ratio:1:1|16:9": "",
    "language:": "Draft-7 r3 R4",
    "!language:": "r1 r2",
    "language:de|PT-*": "r1 r2",
    "voice_id:V1": "r3",
    "duration_seconds:6|7": "R4",
    "operation:create,mode:f*": "R4",
    "state:fail*|held": "r1 r3",
    "!state:planned": "r1 r2 r3",
    "!state:planned,!state:failed": "r2 r3",
    " r1 , tag:launch ,, r2": "",
}


def matching(which: RowFilter) -> list[str]:
    return [row.row for row in ROWS if which.matches(row, STATES[row.row])]


@pytest.mark.parametrize("text", SELECTIONS)
def test_a_selection_chooses_rows_of_a_sheet_and_is_a_text_again(text: str) -> None:
    which = RowFilter.parse(text)
    assert matching(which) == SELECTIONS[text].split()
    assert RowFilter.parse(str(which)) == which


async def test_the_ledger_finds_the_rows_that_a_selection_chooses(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *ROWS)
    for row, state in STATES.items():
        await stage.in_state(state, row)  # type: ignore[arg-type]
    number = stage.campaign.id
    for text, rows in SELECTIONS.items():
        which = RowFilter.parse(text)
        assert await ledger.read(names_shown, campaign_id=number, which=which) == rows.split(), text


@pytest.mark.parametrize("text", ["Green", "green t", 'so "gr', "spring", "R1", "ünd"])
async def test_text_is_found_in_ids_titles_and_topics(ledger: Ledger, text: str) -> None:
    found = {"title": "Spring ünd mehr", "topic": 'Green tea, so "green"'}
    stage = await Stage.set(ledger, asking("r1", found), asking("r2", {"title": "x"}))
    which = RowFilter.of(q=text)
    chosen = ["r1"]
    assert await ledger.read(names_shown, campaign_id=stage.campaign.id, which=which) == chosen


def test_terms_of_two_filters_are_conditions() -> None:
    both = RowFilter.parse("r1,state:failed|held") & RowFilter.parse("r1,state:held")
    assert str(both) == "r1,state:held|failed,state:held"
    assert both.states == ["held"]
    assert both.but(state="failed", row=None) == RowFilter.of(state="failed")


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("colour:red", 'does not know "colour"', "aspect_ratio"),
        ("lanuage:de", 'does not know "lanuage"', "did you mean language? select by row, state"),
        ("state:done", 'state "done" is none that there is', "it is one of planned"),
        ("state:fialed", 'state "fialed" is', "did you mean failed? it is one of"),
        ("review:kept", 'review "kept" is none', "keep, reject, none"),
        ("flagged:perhaps", 'flagged "perhaps"', "yes, no"),
        ("takes:0", 'takes "0" is no whole number of 1 or more', ""),
        ("since:nan", 'since "nan" is no moment in Unix seconds', ""),
        ("until:-1", 'until "-1" is no moment', ""),
        (" , ", "--select is empty", "--select r1,r2"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, said: str, remedy: str) -> None:
    with pytest.raises(BadInput) as caught:
        RowFilter.parse(text)
    assert said in str(caught.value)
    assert str(caught.value).endswith("; nothing was spent")
    assert remedy in (caught.value.remedy or "")


def test_nothing_lets_every_row_through() -> None:
    assert RowFilter.parse(None) == RowFilter() == RowFilter.of(tag="", state=())
    assert matching(RowFilter()) == list(STATES)


@pytest.mark.parametrize("text", ["review:keep", "!flagged:yes", "takes:2", "q:tea"])
def test_a_sheet_is_not_selected_by_what_it_cannot_say(text: str) -> None:
    with pytest.raises(BadInput, match="chooses none of a sheet; nothing was spent"):
        matching(RowFilter.parse(text))
