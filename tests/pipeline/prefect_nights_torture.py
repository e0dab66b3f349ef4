"""Nights on a real Prefect server that were missed, paused, cancelled. Slow: not collected.

python -m pytest tests/pipeline/prefect_nights_torture.py
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter

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


def states(nights: Nights) -> dict[str, int]:
    """Return how many rows of its campaign are in which state."""
    told = nights.desk.call("rows", nights.name, "--json")
    found = [json.loads(line)["state"] for line in told.out.splitlines()] if not told.status else []
    return dict(Counter(found))


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


def test_a_night_cancelled_on_prefects_page_ends_in_order_and_the_next_goes_on(
    nights: Nights, service: Sandbox
) -> None:
    (nights.inbox / f"{nights.name}.csv").write_text(simple_sheet(2))
    nights.install()
    nights.schedule(days=1)
    service.plan_fault(on="render", do="slow", seconds=40)
    worker = threading.Thread(target=nights.carry)
    worker.start()
    until = time.monotonic() + 120
    while states(nights).get("rendering") != 2:
        assert time.monotonic() < until, nights.runs()
        time.sleep(0.5)
    (run,) = nights.runs()
    state = {"state": {"type": "CANCELLING"}}
    nights.client.post(f"/flow_runs/{run['id']}/set_state", json=state).raise_for_status()
    worker.join(120)

    (run,) = nights.runs()
    assert (run["state_name"], run["state_type"]) == ("Cancelled", "CANCELLED")
    # Nobody's campaign was cancelled with it.
    assert states(nights) == {"rendering": 2}
    service.clear_faults()
    night = nights.desk.call("nightly", nights.name, "--json")
    assert [one["outcome"] for one in night.json["sheets"]] == ["delivered"]
    assert states(nights) == {"delivered": 2}
