"""Waits that take minutes by the clock. Slow: not collected by default.

python -m pytest tests/faults/slow_torture.py
"""

from __future__ import annotations

import signal
import time

from tests.faults.production import Production


def test_an_answer_that_never_comes_is_asked_for_again(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", nth=1, do="hang")
    assert production.run(timeout=600).status == 0
    production.ends_well()


def test_a_service_in_trouble_for_minutes_parks_the_run(production: Production) -> None:
    production.asks_for(1)
    for read in ("get", "list", "templates"):
        production.service.plan_fault(on=read, do="error-before", status=503)

    parked = production.run(timeout=600)

    assert parked.status == 5
    assert "the service has not answered for 120 s" in parked.err
    assert production.states() == {"rendering": 1}
    production.ends_well()


def test_a_run_frozen_longer_than_its_lease_pays_for_nothing_twice(production: Production) -> None:
    production.asks_for(3)
    production.service.plan_fault(on="create", nth=2, do="slow", seconds=5)
    production.service.plan_fault(on="render", do="slow", seconds=5)
    frozen = production.start()
    production.waits_for(lambda: production.count("reserve") > 0)
    frozen.send_signal(signal.SIGSTOP)
    time.sleep(65)
    # The lease has lapsed: another run takes over, and the first one wakes up beside it.
    other = production.start()
    time.sleep(2)
    frozen.send_signal(signal.SIGCONT)

    for process in (frozen, other):
        _, err = process.communicate(timeout=300)
        assert process.returncode in (0, 5), err
        assert "Traceback" not in err
    production.ends_well()
