"""What a YAML or JSON sheet says of its first videos, and which of it and the command line wins."""

from __future__ import annotations

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import plan_sheet
from callsheet.tasks.campaign.waits import waiting_lines
from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet.read import parse_sheet

ROWS = "rows:\n  - {id: a, script: Buy}\n  - {id: b, script: Kauf, language: de}\n"


@pytest.mark.parametrize(
    ("said", "read"),
    [("yes", "yes"), ("true", "yes"), ("no", "no"), ("false", "no"), ("auto", "auto"),
     ("AUTO", "auto"), ('"yes"', "yes"), ("", None)],
)  # fmt: skip
def test_it_is_read_as_people_write_it(said: str, read: str | None) -> None:
    assert parse_sheet(f"canary: {said}\n{ROWS}".encode(), name="c.yaml").canary == read


def test_what_cannot_be_meant_is_named_with_its_line() -> None:
    with pytest.raises(SheetError) as caught:
        parse_sheet(f"campaign: c\ncanary: maybe\n{ROWS}".encode(), name="c.yaml")
    (one,) = caught.value.problems
    assert (one.line, one.cell, one.value) == (2, "canary", "maybe")
    assert one.message == "is none of yes, no and auto"


@pytest.mark.parametrize(
    ("said", "typed", "mode"),
    [("yes", None, "yes"), ("yes", "no", "no"), ("no", "auto", "auto"), ("auto", None, "auto")],
)
async def test_the_command_line_wins(said: str, typed: str | None, mode: str) -> None:
    sheet = parse_sheet(f"canary: {said}\n{ROWS}".encode(), name="c.yaml")
    plan = await plan_sheet(None, sheet, RunOptions.of({"canary": typed}))
    assert plan.canary == mode
    assert waiting_lines(plan) == []
