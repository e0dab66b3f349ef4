"""One gate for all processes of a ledger: what one was told, the others keep to."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest

from callsheet.tasks.engine.policy.decision import Accepted
from callsheet.tasks.engine.submit import submit, submit_unkeyed
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.service_state import close_gate
from callsheet.tasks.service import Gate, VideoService
from tests.campaigns import NOW, Stage, brief
from tests.lent import lent
from tests.unit.engine.play import context


@pytest.mark.safeguard(
    "tasks/engine/submit.py",
    "heed(at.service, closed_until)\n    if take is None:",
    "pass\n    if take is None:",
)
@pytest.mark.parametrize("operation", ["create", "image-to-video"])
async def test_a_create_is_not_sent_before_the_moment_that_another_process_was_told(
    ledger: Ledger, operation: str
):
    """It is told of with the intent, so that not even one leaves in the meantime."""
    moment, sent = [NOW], list[float]()

    async def sleep(seconds: float) -> None:
        moment[0] += seconds

    def now() -> datetime:
        return datetime.fromtimestamp(moment[0], UTC)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"data": []})
        sent.append(moment[0])
        return httpx.Response(202, json={"data": {"id": "vid_1"}})

    service = VideoService(
        base_url="http://127.0.0.1:9/api/v1",
        api_key="mav_1",
        connections=lent(httpx.MockTransport(answer)),
        gate=Gate(clock=now, sleep=sleep),
        clock=now,
        sleep=sleep,
    )
    stage = await Stage.set(ledger, brief("a", "Tea", operation=operation))
    row = await stage.approve("a")
    at = context(service, ledger, clock=lambda: moment[0])
    await ledger.write(close_gate, organisation="studio", until=NOW + 30)
    keyed = operation == "create"
    outcome = await (submit(row, at) if keyed else submit_unkeyed(row, at, lambda: True))
    assert isinstance(outcome[1], Accepted)
    assert len(sent) == 1
    assert sent[0] >= NOW + 30
