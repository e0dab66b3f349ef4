"""What a YAML or JSON sheet says of its first videos, and which of it and the command line wins."""

from __future__ import annotations

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import plan_sheet
from callsheet.tasks.campaign.waits import waiting_lines

ROWS = "rows:\n  - {id: a, script: Buy}\n  - {id: b, script: Kauf, language: de}\n"


@pytest.mark.parametrize(
    ("said", "typed", "mode"),
    [("yes", None, "yes"), ("true", "no", "no"), ("false", "auto", "auto"), ("AUTO", None, "auto"),
     ('"no"', None, "no")],
)  # fmt: skip
async def test_the_command_line_wins_over_what_is_written(read, said, typed, mode):
    sheet = read(f"canary: {said}\n{ROWS}", "c.yaml")
    plan = await plan_sheet(None, sheet, RunOptions.of({"canary": typed}))
    assert plan.canary == mode
    assert waiting_lines(plan) == []


def test_nothing_is_nothing_and_what_cannot_be_meant_is_named_with_its_line(read, refuse):
    assert read(f"canary: \n{ROWS}", "c.yaml").canary is None
    (problem,) = refuse(f"campaign: c\ncanary: maybe\n{ROWS}", "c.yaml")
    assert problem == 'c.yaml:2 canary "maybe" is none of yes, no and auto'
