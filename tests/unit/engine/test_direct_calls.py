"""A paid call without a key that a person sends: in the ledger before it leaves, and after."""

from __future__ import annotations

import asyncio

import pytest

from callsheet.tasks.engine.evidence import journaled
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.service_state import unsettled_calls
from callsheet.tasks.runtime import errors
from tests.campaigns import NOW


def entry(ledger: Ledger, target: str = "vid_1"):
    return journaled(
        ledger, organisation="org", operation="voice", body=b"{}", clock=lambda: NOW, target=target
    )


async def unsettled(ledger: Ledger) -> list[str]:
    return [str(call.outcome) for call in await ledger.read(unsettled_calls)]


@pytest.mark.parametrize(
    "error", [errors.NotSent("no", operation="voice"), errors.Conflict("409", operation="v")]
)
async def test_a_definite_no_settles_it(ledger: Ledger, error: Exception):
    with pytest.raises(type(error)):
        async with entry(ledger):
            raise error
    assert await unsettled(ledger) == []


@pytest.mark.parametrize(
    "error",
    [errors.OutcomeUnknown("lost", operation="voice"), asyncio.CancelledError(), KeyError("bug")],
)
async def test_anything_else_leaves_it_unknown_and_bars_another_of_the_same_video(ledger, error):
    with pytest.raises(type(error)):
        async with entry(ledger):
            raise error
    assert await unsettled(ledger) == ["unknown"]
    with pytest.raises(errors.SpendRefused, match=r"voice \(call \d+\)"):
        async with entry(ledger):
            raise AssertionError("it must not be sent")
    async with entry(ledger, target="vid_2"):
        pass


async def test_a_call_that_was_sent_and_cannot_be_noted_is_not_said_to_cost_nothing(made_address):
    ledger = await open_ledger(made_address)

    async def send() -> None:
        async with entry(ledger):
            await ledger.aclose()

    with pytest.raises(errors.RunStopped, match="was sent and may be charged") as stopped:
        await send()
    assert stopped.value.spent is None
    assert "nothing was spent" not in str(stopped.value)
