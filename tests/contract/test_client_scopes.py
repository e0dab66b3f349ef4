"""Who may do what: every operation with a key of every scope, and with no good key at all."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import Forbidden, ServiceError, Unauthenticated
from callsheet.tasks.service import Webhook
from callsheet.tasks.service import operations as ops
from tests.contract.sandboxes import REQUEST, anyone, client
from tests.unit.service.asked import ASKED, TABLE

#: Every key may ask whose it is.
LINES = [name for name in TABLE if name != "me"]


@pytest.mark.parametrize("held", ["read", "write", "ai"])
@pytest.mark.parametrize("name", LINES)
async def test_a_key_opens_what_its_scope_covers_and_nothing_else(running, name, held):
    needed = TABLE[name][2]
    async with client(running, running["keys"][held]) as service:
        if held == needed:
            await _ask(service, running, name)
        else:
            with pytest.raises(Forbidden) as caught:
                await ASKED[name].call(service)
            assert (caught.value.code, caught.value.permanent) == ("forbidden", True)
            assert f"`{needed}` scope" in caught.value.remedy


@pytest.mark.parametrize("name", LINES)
async def test_an_unknown_key_opens_nothing(running, name):
    async with client(running, "mav_unknown0key") as service:
        with pytest.raises(Unauthenticated) as caught:
            await ASKED[name].call(service)
    assert (caught.value.status, caught.value.permanent, caught.value.attempts) == (401, True, 1)


@pytest.mark.parametrize("key", ["not-a-key", "mav_", "sk_live_x"])
async def test_a_malformed_key_opens_nothing(running, key):
    async with client(running, key) as service:
        with pytest.raises(Unauthenticated):
            await service.get("vid_1")


@pytest.mark.parametrize("name", TABLE)
def test_without_a_token_there_is_401(running, name):
    address = running["base_url"] + ASKED[name].target
    for token in ({}, {"authorization": "Bearer"}, {"authorization": "Basic abc"}):
        answer = anyone.request(TABLE[name][0], address, headers=token)
        said = answer.json()
        assert (answer.status_code, said["data"]) == (401, None)
        assert (said["error"]["code"], said["error"]["retryable"]) == ("unauthorized", False)
        assert said["meta"]["request_id"].startswith("req_")


async def test_a_revoked_key_opens_nothing_any_more(running_with):
    ready = running_with("--time-scale", "600", "--credits", "0")
    async with client(ready, ready["keys"]["read"]) as service:
        assert (await service.estimate(REQUEST)).amount
        assert _revoked(ready, ready["keys"]["read"]) == 200
        with pytest.raises(Unauthenticated) as caught:
            await service.estimate(REQUEST)
    assert "not revoked" in caught.value.remedy


def _revoked(ready, key: str) -> int:
    return anyone.post(f"{ready['auth_url']}/api/oauth/revoke", data={"token": key}).status_code


async def _ask(service, running, name: str) -> None:
    """Make the call; the service may refuse it for any reason but the key."""
    try:
        made = await ASKED[name].call(service)
    except (Forbidden, Unauthenticated):
        raise
    except ServiceError:
        return
    if name == "create webhook":
        assert isinstance(made, Webhook)
        async with client(running) as everything:
            await everything.ask(ops.DELETE_WEBHOOK, made.id)
