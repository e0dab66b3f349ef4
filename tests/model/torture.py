"""Many more stories than the default suite tells, from chance instead of the same every time."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import CampaignMachine


def run(examples: int) -> dict[str, Any]:
    """Tell `examples` stories; return how many steps they took and every violation found.

    A violation is told as Hypothesis tells it: the error, then the shortest story that leads there.
    """
    before, violations = CampaignMachine.steps, []
    chosen = settings(
        max_examples=examples,
        stateful_step_count=80,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(CampaignMachine, settings=chosen)
    except Exception as found:
        several = found.exceptions if isinstance(found, ExceptionGroup) else (found,)
        violations = [_told(error) for error in several]
    return {"steps": CampaignMachine.steps - before, "violations": violations}


def _told(error: BaseException) -> str:
    return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
