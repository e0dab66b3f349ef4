"""The promises again, but the first story that breaks one is enough: for `tests.guards.mutations`.

Not collected by itself: name this file to run it.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

from tests.model.machine import CampaignMachine


class FirstStory(CampaignMachine):
    """The same machine, whose stories are not made short."""


FirstStory.TestCase.settings = settings(
    max_examples=150,
    stateful_step_count=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
TestFirstStory = FirstStory.TestCase
