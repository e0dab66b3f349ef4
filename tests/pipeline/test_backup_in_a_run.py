"""A backup made within a run, after its manifest and before its first request was recorded."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time

import pytest

from callsheet.tasks.values.briefs import frozen_body, idempotency_key
from tests.programs import Desk, Sandbox, simple_sheet
from tests.torture.hook import Hook

INTENT = "ledger: before the commit (submit._opened)"


@pytest.fixture
def desk(desk: Desk, studio: Sandbox) -> Desk:
    desk.environ.update(studio.environ)
    # A run that was killed has its campaign no longer than this.
    desk.environ["CALLSHEET_LEASE"] = "1s"
    return desk


def test_what_the_run_sent_after_the_backup_is_not_paid_again(
    desk: Desk, studio: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))
    desk.run(sheet, "--select", "r001")
    # Killed here, so that a backup is made at this moment.
    hook = Hook(trace=desk.folder / "trace", point=INTENT).as_json()
    desk.call("run", sheet, "--yes", "--json", "--without-prefect", hook=hook)
    assert desk.call("ledger", "backup", "backup.db").status == 0
    key = send_as_the_run_would(desk, studio, name)
    time.sleep(1)
    assert desk.call("ledger", "restore", "backup.db", "--instead").status == 0
    studio.plan_fault(on="create", do="forget-key")
    studio.plan_fault(on="list", do="forbidden")
    desk.environ["CALLSHEET_HORIZON"] = "1s"
    time.sleep(1)

    again = desk.run(sheet)
    studio.clear_faults()

    assert (again.status, studio.charged([key])) == (4, {key: 1}), again.err


def send_as_the_run_would(desk: Desk, studio: Sandbox, name: str) -> str:
    """Send the second row's request, and return its key."""
    query = "SELECT state, request, digest, operation FROM rows WHERE row = 'r002'"
    file = desk.folder / ".callsheet" / "ledger.db"
    with contextlib.closing(sqlite3.connect(file)) as ledger:
        state, request, digest, operation = ledger.execute(query).fetchone()
    assert state == "approved"
    key = idempotency_key(campaign=name, row="r002", operation=operation, digest=digest, nth=1)
    body = frozen_body(json.loads(request), key=key, operation=operation)
    studio.post("videos", json.loads(body))
    return key
