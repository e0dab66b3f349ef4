"""The promises again, but the first story that breaks one is enough: for `tests.guards.mutations`.

Not collected by itself: name this file to run it.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.model.machine import CampaignMachine

pytestmark = [
    pytest.mark.safeguard(
        "tasks/engine/submit.py",
        "take, closed_until = await at.ledger.write(",
        "take, closed_until = await at.ledger.read(",
    ),
    pytest.mark.safeguard(
        "tasks/engine/submit.py",
        "created = await at.service.make(row.operation, row.take.body, key=row.take.key)",
        "import uuid\n\n"
        "        key = f'cs1_{uuid.uuid4().hex}'\n"
        "        body = row.take.body.replace(row.take.key.encode(), key.encode())\n"
        "        created = await at.service.make(row.operation, body, key=key)",
    ),
]


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
