"""What an audit comes to: its exit status and its counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from callsheet.tasks.aftercare.findings import Finding, Repairs
from tests.campaigns import CAMPAIGN, VIDEO, a_row

ROW = a_row("delivered")
assert ROW.take is not None
FILE = Finding(row=ROW, take=ROW.take, kind="mp4", file=VIDEO, verdict="missing")


def audit(*verdicts, **own) -> Repairs:
    found = [replace(FILE, verdict=verdict, **own) for verdict in verdicts if verdict != "intact"]
    return Repairs(campaign=CAMPAIGN, findings=found, files=len(verdicts))


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ((), 0),
        (("intact", "intact"), 0),
        (("intact", "missing"), 3),
        (("changed",), 3),
        (("unplayable",), 3),
        (("wanting",), 3),
        (("missing", "unknown"), 5),
        (("bare",), 0),
    ],
)
def test_what_could_not_be_looked_at_is_neither_whole_nor_lost(verdicts, status: int) -> None:
    assert audit(*verdicts).exit_status == status


def test_what_was_repaired_is_sound_again_and_still_told() -> None:
    found = audit("missing", "changed", "intact", done="fetched again")
    assert found.exit_status == 0
    assert found.counts() == {"total": 3, "intact": 1, "missing": 1, "changed": 1, "repaired": 2}
    assert [one["repaired"] for one in found.as_files(quick=False)["problems"]] == [
        "fetched again",
        "fetched again",
    ]
