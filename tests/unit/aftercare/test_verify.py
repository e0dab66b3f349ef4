"""What an audit comes to: its exit status and its counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from callsheet.tasks.aftercare.verify import Audit, AuditedFile, audit_document
from tests.campaigns import VIDEO, a_row

ROW = a_row("delivered")
assert ROW.take is not None
FILE = AuditedFile(row=ROW, take=ROW.take, kind="mp4", file=VIDEO, verdict="intact")


def audit(*verdicts, **own) -> Audit:
    files = [replace(FILE, verdict=verdict, **own) for verdict in verdicts]
    return Audit(campaign="spring", files=files)


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
    ],
)
def test_what_could_not_be_looked_at_is_neither_whole_nor_lost(verdicts, status: int) -> None:
    assert audit(*verdicts).exit_status == status


def test_what_was_repaired_is_sound_again_and_still_told() -> None:
    found = audit("missing", "changed", repaired="fetched again")
    assert found.exit_status == 0
    assert found.counts() == {"total": 2, "missing": 1, "changed": 1, "repaired": 2}
    assert [one["repaired"] for one in audit_document(found, quick=False)["problems"]] == [
        "fetched again",
        "fetched again",
    ]
