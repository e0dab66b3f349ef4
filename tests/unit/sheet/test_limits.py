"""Huge and hostile sheets end in a sentence."""

import pytest

from callsheet.tasks.sheet import text as limits


def test_it_refuses_too_many_bytes(refuse):
    (problem,) = refuse(b"x" * (limits.MAX_BYTES + 1))
    assert problem == "campaign.csv has 20 MiB; a sheet may have 20 MiB: split it"


@pytest.mark.merge
def test_it_refuses_too_many_rows(refuse):
    text = "id,tool\n" + "".join(f"r{n},t\n" for n in range(limits.MAX_ROWS + 1))
    assert refuse(text) == ["campaign.csv has more than 100,000 rows; split it"]


def test_it_refuses_too_many_lines(refuse):
    assert refuse("id,tool\n" + "\n" * limits.MAX_LINES + "r1,t\n") == [
        "campaign.csv has more than 1,048,576 lines: split it, or delete the blank ones"
    ]


def test_it_refuses_too_many_columns(refuse):
    text = ",".join(["id", "tool", *(f"x_{n}" for n in range(limits.MAX_COLUMNS))]) + "\n"
    assert refuse(text) == ["campaign.csv has 202 columns; 200 is the limit"]


def test_it_refuses_a_long_cell(refuse):
    (problem,) = refuse(f"id,script\nr1,{'x' * 100_001}\n")
    assert problem.startswith('campaign.csv:2 row "r1", column script: "xxx')
    assert problem.endswith("has 100,001 characters; 100,000 is the limit")


def test_it_suspects_a_missing_quote_behind_a_cell_without_end(refuse):
    text = 'id,script\nr1,"' + "one two\n" * 20_000
    assert refuse(text) == [
        "campaign.csv:2 begins a cell of more than 131,072 characters: "
        'is a closing quote (") missing?'
    ]


@pytest.mark.merge
def test_it_reads_a_large_sheet_in_seconds(read):
    text = "id,tool,title,fields.a\n" + "".join(f"r{n},t,Video {n},x\n" for n in range(20_000))
    assert len(read(text).briefs) == 20_000


def test_it_refuses_a_web_page(refuse):
    (problem,) = refuse("\n<!DOCTYPE html><html><body>Sign in</body></html>", "pub")
    assert "is a web page, not a sheet" in problem
