"""The promises hold in every story that Hypothesis can tell in a few seconds.

`python -m tests.torture` tells many more.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.model.machine import CampaignMachine

CampaignMachine.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=60,
    deadline=None,
    # The same stories every time: what fails here fails for everybody.
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestCampaign = CampaignMachine.TestCase
