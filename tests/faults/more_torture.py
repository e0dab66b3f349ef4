"""More of the same: other ways in which a create or a download is struck, and two at once.

python -m pytest tests/faults/more_torture.py
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.faults.production import Production
from tests.programs import Desk, sandbox, simple_sheet

#: What strikes the first call of a kind, the second too where there are two.
STRUCK: dict[str, list[dict[str, Any]]] = {
    "create": [
        {"do": "truncated"},
        {"do": "shapeless"},
        {"do": "html"},
        {"do": "gzip"},
        {"do": "limited", "retry_after": "soon"},
        {"do": "reset-after"},
        {"do": "error-after", "status": 504, "html": True},
        {"do": "rewrite", "remove": ["id"]},
    ],
    "get": [
        {"do": "html"},
        {"do": "rewrite", "set": {"status": "failed"}},
        {"do": "rewrite", "remove": ["status"]},
    ],
    "file": [
        {"do": "cut-body", "framing": "chunked"},
        {"do": "cut-body", "then": "range-shifted"},
        {"do": "cut-body", "then": "range-ignored"},
        {"do": "cut-body", "then": "expired"},
        {"do": "truncated", "framing": "close"},
        {"do": "gzip-lie"},
        {"do": "xml"},
        {"do": "empty"},
    ],
}
CASES = [(on, fault) for on, faults in STRUCK.items() for fault in faults]


@pytest.mark.parametrize(("on", "fault"), CASES, ids=json.dumps)
def test_a_struck_call_ends_in_one_video(
    production: Production, on: str, fault: dict[str, Any]
) -> None:
    production.asks_for(1)
    first = dict(fault)
    if then := first.pop("then", None):
        production.service.plan_fault(on=on, nth=2, do=then)
    production.service.plan_fault(on=on, nth=1, **first)
    assert production.run(CALLSHEET_DEADLINE="2s").status == 0
    production.ends_well()


@pytest.mark.parametrize("answers", ["bare", "renamed"])
def test_an_id_under_another_name_is_found(tmp_path: Path, answers: str) -> None:
    with sandbox(tmp_path / "odd", "--answers", answers) as odd:
        production = Production(Desk(tmp_path, odd.environ), odd, f"c-{answers}").asks_for(1)
        odd.plan_fault(on="create", nth=1, do="drop-after")
        assert production.run().status == 0
        assert production.states() == {"delivered": 1}
        assert production.paid_once()


def test_a_run_ended_by_a_signal_with_calls_under_way_loses_none(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", do="slow", seconds=1)
    process = production.start()
    production.waits_for(lambda: production.count("reserve") == 2)
    process.send_signal(signal.SIGTERM)

    _, err = process.communicate(timeout=60)

    assert process.returncode == 5
    assert "run the same command again" in err
    production.ends_well()


def test_a_campaign_from_two_folders_is_paid_once(production: Production, tmp_path: Path) -> None:
    # Two people with a ledger each: neither knows of the other, the keys are the same.
    production.asks_for(3)
    desks = [Desk(tmp_path / name, production.desk.environ) for name in ("ada", "ben")]
    for desk in desks:
        desk.folder.mkdir()
        desk.sheet(production.sheet, simple_sheet(3, title=production.name))

    words = ("run", production.sheet, "--yes", "--without-prefect")
    for process in [desk.start(*words) for desk in desks]:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err

    for desk in desks:
        production.desk = desk
        production.ends_well()
