"""Whether what answers is as its OpenAPI document says, by requests that are made up from that.

Imports schemathesis only when asked: every process that collects the tests would import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemathesis.engine.events import ScenarioFinished
    from schemathesis.schemas import BaseSchema


def hold_to(schema: BaseSchema, *, operations: int) -> None:
    """Try every operation; fail naming what is answered otherwise, or where there are too few."""
    from schemathesis.engine import from_schema
    from schemathesis.engine.events import NonFatalError, ScenarioFinished

    troubles, tried = [], set()
    for event in from_schema(schema).execute():
        if isinstance(event, NonFatalError):
            troubles.append(f"{event.label}: {event.info.message}")
        if isinstance(event, ScenarioFinished):
            tried.add(event.recorder.label)
            troubles += _failures(event)
    assert not troubles, "\n\n".join(troubles)
    described = [one.ok().label for one in schema.get_all_operations()]
    assert len(described) > operations
    assert tried >= set(described)


def _failures(event: ScenarioFinished) -> Iterator[str]:
    for checks in event.recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{failure.operation}: {failure.title}\n{failure.message}"
