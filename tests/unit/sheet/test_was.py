"""A row whose `was` names its id before: which ids it may name, and what a matrix makes of it."""

from __future__ import annotations

import pytest

HEADER = ["id", "was", "title", "script"]


def test_a_row_keeps_what_it_asks_for(table, read):
    rows = [["new", "old", "A", "Buy"], ["b", "", "B", "Buy"], ["c", "older", "C", "Buy"]]
    content, name, _ = table([HEADER, *rows])

    moved, *others = read(content, name).briefs

    assert [(one.row, one.was) for one in (moved, *others)] == [
        ("new", "old"), ("b", None), ("c", "older"),
    ]  # fmt: skip
    plain, name, _ = table([["id", "title", "script"], ["old", "A", "Buy"]])
    assert read(plain, name).briefs[0].digest == moved.digest


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([["a", "a"], ["b", ""]], '"a" is the id that the row has now'),
        ([["a", "b"], ["b", ""]], '"b" is still the id of {} 3'),
        ([["a", "x"], ["b", "x"]], '"x" is what {} 2 was too'),
        ([["a", "a b"], ["b", ""]], '"a b" '),
    ],
)
def test_an_id_that_cannot_be_meant_is_refused_with_its_cell(rows, problem, table, refuse):
    lines = [[*ids, f"T{n}", "Buy"] for n, ids in enumerate(rows)]
    content, name, _ = table([HEADER, *lines])

    (said,) = refuse(content, name)

    assert problem.format("line") in said
    assert "column was" in said


def test_a_matrix_renames_its_variants_and_no_row_takes_it_from_another(read, refuse):
    text = """
matrix: {axes: {language: [en, de]}, id: "{language}-{id}"}
rows:
  - {id: new, was: old, script: Buy}
  - {id: b, uses: new, title: B}
"""

    assert [(one.row, one.was) for one in read(text, "c.yaml").briefs] == [
        ("en-new", "en-old"), ("de-new", "de-old"), ("en-b", None), ("de-b", None)
    ]  # fmt: skip
    (said,) = refuse("defaults: {was: x}\nrows: [{id: a, script: Buy}]\n", "c.yaml")
    assert "cannot be a default" in said
