"""What befalls a flow run from outside, told by the state that Prefect has it in."""

from __future__ import annotations

import pytest
from prefect.states import Paused, Running, Suspended

from callsheet.flows.watch import is_question


@pytest.mark.parametrize(
    ("state", "own"),
    [
        (None, False),
        (Running(), False),
        # From its page, or by another program.
        (Suspended(), False),
        (Suspended(pause_key="0f3c"), False),
        # The run's own question: were it left now, its form might be missing for ever.
        (Suspended(pause_key="plan-5a0d"), True),
        (Paused(pause_key="plan-5a0d"), True),
    ],
)
def test_a_run_is_told_from_one_that_somebody_suspended(state, own):
    assert is_question(state) is own
