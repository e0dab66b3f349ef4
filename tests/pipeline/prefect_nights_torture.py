"""Nights on a real Prefect server that were missed, paused, cancelled. Slow: not collected.

python -m pytest tests/pipeline/prefect_nights_torture.py
"""

from __future__ import annotations

import time

from tests.pipeline.test_prefect_nights import Nights
from tests.pipeline.test_prefect_nights import nights as nights
from tests.programs import Sandbox, simple_sheet


def carried(nights: Nights) -> dict[str, str]:
    """Have workers carry all that is due; return the state of each run, by its date (UTC)."""
    until = time.monotonic() + 400
    while True:
        nights.carry()
        found = nights.runs()
        if all(run["state_type"] in ("COMPLETED", "FAILED", "CANCELLED") for run in found):
            return {run["expected_start_time"][:10]: run["state_name"] for run in found}
        assert time.monotonic() < until, [run["state_name"] for run in found]


def test_of_the_nights_that_were_missed_one_sweeps(nights: Nights, service: Sandbox) -> None:
    (nights.inbox / f"{nights.name}.csv").write_text(simple_sheet(2))
    nights.install()
    nights.schedule(days=3)
    before = service.calls().get("create", 0)

    ended = carried(nights)

    assert len(ended) == 3
    newest = max(ended)
    # Prefect starts them in no order: whichever comes later finds that the newest has swept.
    assert ended.pop(newest) == "Completed"
    assert set(ended.values()) == {"Superseded"}
    assert service.calls()["create"] == before + 2
    listed = nights.desk.call("nights", "list", "--json").json["inboxes"]
    assert listed[0]["last"]["night"] == newest


def test_a_pause_outlives_a_deployment_and_so_does_one_of_prefects(
    nights: Nights, service: Sandbox
) -> None:
    (nights.inbox / f"{nights.name}.csv").write_text(simple_sheet(1))
    nights.install()
    assert nights.desk.call("nights", "pause", "until", "2099-01-01").status == 0
    (schedule,) = nights.deployment["schedules"]
    place = f"/deployments/{nights.deployment['id']}/schedules/{schedule['id']}"
    nights.client.patch(place, json={"active": False}).raise_for_status()

    nights.install()
    run = nights.client.post(f"/deployments/{nights.deployment['id']}/create_flow_run", json={})
    run.raise_for_status()

    assert set(carried(nights).values()) == {"Skipped"}
    assert not (nights.inbox / f"{nights.name}.csv.callsheet.json").exists()
    (after,) = nights.deployment["schedules"]
    assert after["active"] is False
