"""`deliver_after` and `deliver_by`: how dates are read, and which rows wait for theirs."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from callsheet.tasks.sheet import SheetOptions
from callsheet.tasks.sheet.read import parse_sheet
from callsheet.tasks.values.amounts import parse_moment, say_date

#: 2026-12-01 00:00 UTC.
DAY = 1_796_083_200.0
READ = [
    ("2026-12-01", DAY, DAY + 86_399, "2026-12-01"),
    ("2026-12-01T09:30", DAY + 34_200, DAY + 34_200, "2026-12-01 09:30 UTC"),
    ("2026-12-01 9:30", DAY + 34_200, DAY + 34_200, "2026-12-01 09:30 UTC"),
    ("2026-12-01T09:30:00Z", DAY + 34_200, DAY + 34_200, "2026-12-01 09:30 UTC"),
    ("2026-12-01T10:30:00+01:00", DAY + 34_200, DAY + 34_200, "2026-12-01 09:30 UTC"),
]
WRONG = ["01.12.2026", "2026-13-01", "2026-02-30", "2026-12", "20261201", "2026-12-01T25:00"]


@pytest.mark.parametrize(("text", "begin", "end", "said"), READ)
def test_a_moment_is_read_and_said_again(text, begin, end, said):
    assert (parse_moment(text), parse_moment(text, end=True)) == (begin, end)
    assert say_date(begin) == said
    assert say_date(end) == said


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_date_is_named_with_its_cell(refuse, text):
    (problem,) = refuse(f"id,script,deliver_by\na,Buy,{text}\n")
    assert problem.startswith(f'campaign.csv:2 row "a", column deliver_by: "{text}" ')
    assert "write it like 2026-12-01" in problem


def test_a_row_cannot_wait_for_longer_than_it_may_take(refuse):
    rows = "a,Buy,2026-12-02,2026-12-01\nb,Buy,2026-12-01,2026-12-01\n"
    (problem,) = refuse(f"id,script,deliver_after,deliver_by\n{rows}")
    assert problem.startswith('campaign.csv:2 row "a", column deliver_after')
    assert problem.endswith("is later than its deliver_by, 2026-12-01")


def test_dates_of_a_sheet_count_where_a_row_has_none():
    text = (
        "deliver_by: 2026-12-05\ndeliver_after: 2026-12-01\nrows:\n  - {id: a, script: Buy}\n"
        "  - {id: b, script: Buy, deliver_by: 2026-12-02}\n"
    )
    sheet = parse_sheet(text.encode(), name="d.yaml", options=SheetOptions(now=DAY - 1))
    found = [(b.deliver_after, b.deliver_by, b.waits) for b in sheet.briefs]
    assert found == [(DAY, DAY + 5 * 86_400 - 1, True), (DAY, DAY + 2 * 86_400 - 1, True)]


def test_dates_of_a_workbook_are_dates(read, workbook):
    row = ["a", "Buy", date(2026, 12, 1), datetime.fromisoformat("2026-12-02T09:30")]
    content = workbook([["id", "script", "deliver_after", "deliver_by"], row])
    (brief,) = read(content, "d.xlsx").briefs
    assert (brief.deliver_after, brief.deliver_by) == (DAY, DAY + 86_400 + 34_200)


def test_dates_are_no_part_of_what_is_asked_for_and_a_past_one_is_advice():
    plain = parse_sheet(b"id,script\na,Buy\n", name="d.csv").briefs[0]
    text = b"id,script,deliver_by\na,Buy,2026-12-01\n"
    sheet = parse_sheet(text, name="d.csv", options=SheetOptions(now=DAY + 10**6))
    assert sheet.briefs[0].digest == plain.digest
    assert sheet.briefs[0].wishes != plain.wishes
    (advice,) = sheet.advice
    assert "1 row whose deliver_by has passed (a)" in advice.message
