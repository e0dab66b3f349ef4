"""Prefect's own lines in its log: an end that a person asked for is no error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from logging.handlers import BufferingHandler

import pytest
from prefect.states import Cancelled, Crashed, Failed, Paused, Scheduled, Suspended

from callsheet.flows.flow_runs import set_up_prefect_logs


@pytest.fixture
def lines() -> Iterator[list[logging.LogRecord]]:
    """What a handler of Prefect's task runs is given, set up as often as flows begin."""
    handler, logger = BufferingHandler(100), logging.getLogger("prefect.task_runs")
    logger.addHandler(handler)
    try:
        for _ in range(2):
            set_up_prefect_logs()
        yield handler.buffer
    finally:
        logger.removeHandler(handler)


@pytest.mark.parametrize(
    ("state", "level"),
    [
        (Cancelled(message="2 rows\nnot begun"), logging.INFO),
        (Cancelled(name="Parked", message="it's late"), logging.INFO),
        (Suspended(), logging.INFO),
        (Paused(), logging.INFO),
        (Scheduled(name="Parked", message="until 12:00"), logging.INFO),
        (Failed(message="the last one ended in Cancelled(type=CANCELLED)"), logging.ERROR),
        (Failed(name="NeedsPerson", message="1 cancelled, 1 failed"), logging.ERROR),
        (Crashed(message="its process died"), logging.ERROR),
    ],
)
def test_only_a_failure_is_logged_as_an_error(lines, state, level):
    logging.getLogger("prefect.task_runs").error(f"Finished in state {state}")

    assert [(one.levelno, one.levelname) for one in lines] == [(level, logging.getLevelName(level))]
    assert str(state.message or "")[:4] in lines[0].getMessage()
