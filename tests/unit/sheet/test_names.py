"""Every video has a name of its own."""

import pytest

from callsheet.tasks.sheet import template_problem


def test_a_template_with_the_row_in_it_names_every_video():
    assert template_problem("{campaign}/{row}/{row}-take{take}.mp4", rows=1000) is None


def test_a_template_without_the_row_serves_one_row_only():
    assert template_problem("{campaign}-take{take}.mp4", rows=1) is None
    assert template_problem("{campaign}.mp4", rows=2) == (
        "gives 2 rows the same name; put {row} into it"
    )


@pytest.mark.parametrize("template", ["{title}.mp4", "{}.mp4", "{row!r}", "{row:>9}", "{row.real}"])
def test_it_refuses_other_placeholders(template):
    assert template_problem(template, rows=1) == (
        "has a placeholder that is not one of {campaign}, {row}, {take}"
    )


def test_it_refuses_half_a_brace():
    assert template_problem("{row.mp4", rows=1) == "has a brace without its partner"


def test_the_check_is_part_of_reading_a_sheet(refuse):
    assert refuse("id,tool\na,t\nb,t\n", name_template="video.mp4") == [
        'campaign.csv the name template "video.mp4" gives 2 rows the same name; put {row} into it'
    ]
