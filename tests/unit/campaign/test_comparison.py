"""A sheet compared with what the service offers, as people see it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from callsheet.tasks.campaign.comparison import compare
from callsheet.tasks.sheet import parse_sheet
from callsheet.tasks.sheet.table import Findings
from callsheet.tasks.values.catalog import Catalogue

LAUNCH = {"id": "product-launch", "fields": [{"name": "product"}, {"name": "audience"}]}
QUIZ = {
    "id": "quiz",
    "fields": [
        {"name": "subject", "required": True},
        {"name": "rounds", "min": 1, "max": 9},
        {"name": "CTA"},
    ],
}
OFFERED = {"tools": [LAUNCH, QUIZ, {"id": "riddle"}], "characters": [{"id": 1, "name": "Ada"}]}


def found(
    text: str,
    name: str = "s.csv",
    offered: Any = OFFERED,
    rows: Collection[str] | None = None,
    refuse: bool = True,
) -> tuple[list[str], list[str]]:
    """Return the problems and the advice of a sheet, as people see them."""
    sheet = parse_sheet(text.encode(), name=name)
    told = Catalogue(base_url="https://s.test", told_at=0.0, body=offered)
    wanted = {brief.row for brief in sheet.briefs} if rows is None else rows
    findings = Findings(name)
    compare(sheet, wanted, told).tell(findings, refuse=refuse)
    return [str(one) for one in findings.problems], [str(one) for one in findings.advice]


TEA = "id,tool,fields.product,fields.zzz\na,product-launch,Tea,"
#: A sheet, and its one problem: what is not listed, and what helps.
PROBLEMS = [
    (
        "id,tool,fields.product\na,product-lunch,Tea",
        'column tool: "product-lunch" is not a tool that',
        "did you mean product-launch?",
    ),
    ("id,tool\na,Product-Launch", '"Product-Launch" is not a tool', "did you mean product-launch?"),
    ("id,tool\na,zzz", '"zzz" is not a tool', "it has product-launch, quiz, riddle"),
    (
        "id,tool,fields.product,fields.prodct\na,product-launch,Tea,\nb,product-launch,,Tea",
        's.csv:3 row "b", column fields.prodct is not a field of product-launch',
        "did you mean fields.product?",
    ),
    (f"{TEA}Tea", "column fields.zzz is not", "it takes fields.product, fields.audience"),
    (
        'id,tool,fields\na,product-launch,"{""prodct"": ""Tea""}"',
        "column fields.prodct is not a field of product-launch",
        "did you mean fields.product?",
    ),
    (
        "id,tool,fields.subject,fields.CTA\na,quiz,Tea,Buy",
        'column fields.CTA is not a field of quiz; did you mean "CTA"?',
        'Write it in the column fields, as {"CTA": "..."}',
    ),
]


@pytest.mark.parametrize(("text", "problem", "help"), PROBLEMS)
def test_what_the_service_does_not_list_is_a_problem(text: str, problem: str, help: str) -> None:
    (said,), advice = found(text)
    assert problem in said
    assert said.endswith(help)
    assert advice == []
    assert found(text, refuse=False) == ([], [said])


NINE = '"9" is not a character that the service lists; it has 1 (Ada)'
ADVICE = [
    (
        "id,tool,title\na,product-launch,Tea",
        '"product-launch" has none of its fields set in this row: fields.product, fields.audience',
    ),
    ("id,tool,fields.rounds\na,quiz,3", '"quiz" asks for fields.subject, which the row lacks'),
    (
        "id,tool,fields.subject,fields.rounds\na,quiz,Tea,12",
        'column fields.rounds: "12" is more than 9, the most that it takes: quiz may refuse or',
    ),
    ("id,tool,character_id\na,riddle,9", NINE),
    ("id,operation,clip,character_id\na,character-swap,https://c.test/a.mp4,9", NINE),
]


@pytest.mark.parametrize(("text", "advice"), ADVICE)
def test_what_the_service_may_ignore_is_advice(text: str, advice: str) -> None:
    problems, (said,) = found(text)
    assert problems == []
    assert advice in said


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("id,tool,fields.product\na,product-launch,Tea", OFFERED),
        ("id,tool,fields.anything\na,riddle,Tea", OFFERED),
        ("id,script\na,Tea hums.", OFFERED),
        ("id,tool,character_id\na,riddle,1", OFFERED),
        ('id,tool,fields\na,quiz,"{""subject"": ""Tea"", ""CTA"": ""Buy""}"', OFFERED),
        ("id,tool,fields.prodct,character_id\na,product-lunch,Tea,9", {}),
        ("id,tool,fields.prodct\na,product-lunch,Tea", {"tools": [{"name": None}]}),
    ],
)
def test_what_is_offered_or_not_known_is_nothing_to_speak_of(text: str, offered: Any) -> None:
    assert found(text, offered=offered) == ([], [])


def test_what_is_alike_is_said_once_with_the_lines_of_the_others() -> None:
    rows = "".join(f"r{n},product-launch,Tea\n" for n in range(1, 9))
    problems, advice = found(f"id,tool,fields.prodct\n{rows}x,product-lunch,Tea")

    assert advice == []
    first, last = problems
    assert first.startswith('s.csv:2 row "r1", column fields.prodct is not a field')
    assert first.endswith("did you mean fields.product? (so, too, in line 3, 4, 5 and 4 more)")
    assert last.startswith('s.csv:10 row "x", column tool: "product-lunch" is not a tool')


def test_a_default_is_named_where_it_stands_and_once_and_what_is_not_paid_for_left_alone() -> None:
    text = "defaults:\n  tool: quizz\nrows:\n- id: a\n- id: b\n  tool: riddle\n- id: c\n"
    (problem,), _ = found(text, "s.yaml")
    assert problem.startswith('s.yaml:2 column tool (defaults): "quizz" is not a tool')
    (problem,), _ = found("id,tool\na,quizz\nb,riddel", rows={"b"})
    assert problem.startswith('s.csv:3 row "b", column tool: "riddel" is')
