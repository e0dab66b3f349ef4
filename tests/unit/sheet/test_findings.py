"""What is found in a sheet: all of it at once, and what is of one kind in one sentence."""

from __future__ import annotations

from callsheet.tasks.runtime.errors import Problem, grouped


def test_every_problem_of_a_row_shows_though_its_operation_is_unknown(refuse):
    found = refuse("id,operation,tool,aspect_ratio,language\na,creat,t,4:5,klingon\n")
    columns = {one.partition("column ")[2].partition(":")[0] for one in found}
    assert columns == {"operation", "aspect_ratio", "language"}


def a_problem(line: int, message: str = "is wrong", **place: str) -> Problem:
    return Problem(file="s.csv", message=message, line=line, **place)


def test_findings_of_one_kind_are_told_together():
    priority = {"column": "priority", "cell": "priority (Sheet1!D2)"}
    words = ("High", "Medium", "Low", "High", "low", "l", "m", "n")
    found = [a_problem(n, value=word, **priority) for n, word in enumerate(words, start=2)]
    found += [a_problem(3, "takes 3 seconds", cell="script"), a_problem(4, "has no id")]
    found += [a_problem(n, f"takes {n} seconds", cell="script") for n in (11, 12)]
    found += [a_problem(12, "has no id"), Problem(file="s.csv", message="is empty")]
    assert grouped(found) == [
        "s.csv: priority: High, Medium, Low, low, l and 2 more in 8 cells (lines 2, 3, 4 and 5 "
        "more): is wrong",
        "s.csv: script: 3 rows (lines 3, 11, 12): the first one takes 3 seconds",
        "s.csv:4 has no id",
        "s.csv:12 has no id",
        "s.csv is empty",
    ]
