"""What is paid for and takes no key: sent once, over a connection of its own."""

from __future__ import annotations

import httpx
import pytest

from callsheet.tasks.runtime.errors import OutcomeUnknown
from callsheet.tasks.service import OPERATIONS, Money
from tests.unit.service.asked import ASKED

VIDEO = {"data": {"id": "vid_1", "status": "generating"}, "error": None, "meta": {}}
HOOK = {"data": {"id": "wh_1", "secret": "whsec_once"}, "error": None, "meta": {}}


#: Every operation that is sent once, by its name; a new one is held to all of this, too.
PAID = {name: one.call for name, one in ASKED.items() if one.money is Money.ONCE}
#: What leaves open whether the request was carried out.
OPEN = {
    "trouble": (503, {"error": {"message": "busy", "retryable": True}}),
    "timeout of theirs": (408, {}),
    "lost": httpx.ReadTimeout("slow"),
    "lost while writing": httpx.WriteError("broken pipe"),
    "cut": (202, b'{"data": {"id": "vid'),
    "a page": (200, b"<html>Welcome to the hotel</html>"),
}
every = pytest.mark.parametrize("name", PAID)


def success(name):
    return (201, HOOK) if name == "create webhook" else (202, VIDEO)


@pytest.mark.safeguard(
    "tasks/service/failures.py", "Outcome.LOST: (A, A, A, Q),", "Outcome.LOST: (A, A, A, A),"
)
@every
@pytest.mark.parametrize("step", OPEN.values(), ids=OPEN)
async def test_what_may_have_been_carried_out_is_not_sent_again(talk, time, name, step):
    service, seen = talk(step, success(name))
    with pytest.raises(OutcomeUnknown) as caught:
        await PAID[name](service)
    assert (len(seen), caught.value.attempts, time.slept) == (1, 1, [])
    assert caught.value.operation == name
    assert "do not send it again" in caught.value.remedy


MAKING = [op.name for op in OPERATIONS if op.makes and op.scope == "ai"]


@pytest.mark.parametrize("name", [*MAKING, "create webhook"])
async def test_a_success_that_names_nothing_is_not_sent_again(talk, name):
    service, seen = talk((202, {"data": {"secret": "whsec_x1"}, "meta": {}}), success(name))
    with pytest.raises(OutcomeUnknown) as caught:
        await PAID[name](service)
    assert len(seen) == 1
    assert "whsec_x1" not in str(caught.value)


async def test_each_goes_over_a_connection_of_its_own_and_reads_share_one(serve, connect, answer):
    server = await serve(answer(202, VIDEO | {"data": {"id": "wh_1"}}))
    service = connect(server.base_url)
    for _ in range(4):
        await service.get("vid_1")
    assert server.connections == 1
    for call in PAID.values():
        await call(service)
    await service.get("vid_1")
    assert server.connections == 1 + len(PAID)
    assert {r.headers.get("connection") for r in server.seen[4:-1]} == {"close"}


@every
@pytest.mark.parametrize("fault", ["close", "reset"])
async def test_a_connection_that_ends_under_it_is_told_after_one_request(
    serve, connect, name, fault
):
    server = await serve(fault)
    with pytest.raises(OutcomeUnknown) as caught:
        await PAID[name](connect(server.base_url))
    assert len(server.seen) == server.connections == caught.value.attempts == 1
