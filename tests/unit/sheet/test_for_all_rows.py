"""What is chosen for all rows says its columns and the number of videos that it makes."""

from __future__ import annotations

import pytest

from callsheet.tasks.sheet.all_rows import ForAllRows, parse_languages
from callsheet.tasks.sheet.read import find_sheet_in
from callsheet.tasks.sheet.table import SheetOptions


def test_one_value_is_no_axis():
    asked = ForAllRows(languages=("de",), shapes=("9:16", "1:1"), inputs={"Made by": "x"})
    assert asked.columns == {
        "fields": '{"Made by": "x"}',
        "matrix.aspect_ratio": "9:16|1:1",
        "language": "de",
    }


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (ForAllRows(), "2 rows: 6 videos."),
        (ForAllRows(languages=("de", "en", "es", "it")),
         "4 languages = 4 videos for each row. 2 rows: 8 videos."),
        (ForAllRows(languages=("de",), shapes=("9:16", "1:1")),
         "1 language x 2 shapes = 2 videos for each row. 2 rows: 4 videos."),
        (ForAllRows(shapes=("9:16", "1:1")),
         "2 shapes = 2 videos for each row. 2 rows: 12 videos, with the other values of its "
         "matrix."),
    ],
)  # fmt: skip
def test_the_axes_of_the_sheet_count_unless_they_are_replaced(asked, words):
    text = "id,script,matrix.language,enabled\na,Hi,de|en|fr,yes\nb,Ho,de|en|fr,\nc,Hm,de|en,no\n"
    found = find_sheet_in(text.encode(), name="s.csv", options=SheetOptions())
    assert asked.words(found.sheet, found.rows) == words


def test_languages_are_typed_by_name_or_code():
    assert parse_languages("Polish, pt-BR; Deutsch,pl") == ("pl", "pt-BR", "de")
    with pytest.raises(ValueError, match="Klingon"):
        parse_languages("Polish, Klingon")
