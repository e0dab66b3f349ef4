"""How a key stands with the service, told by free reads alone."""

from __future__ import annotations

import pytest

from callsheet.tasks.service.login import Owner, key_status, owner_of
from tests.unit.login.conftest import KEY

VIDEOS, ME = "/api/v1/videos", "/api/v1/me"


@pytest.mark.parametrize(
    ("answer", "accepted", "may_read", "later"),
    [
        ((200, {"data": []}), True, True, False),
        ((403, {"error": {"code": "forbidden"}}), True, False, False),
        ((401, {"error": {"code": "unauthorized"}}), False, None, False),
        ((404, b"<html>"), None, None, False),
        ((302, b""), None, None, False),
        ((429, {}), None, None, True),
        ((503, {}), None, None, True),
        ("close", None, None, True),
    ],
)
async def test_one_free_read_tells(server, answer, accepted, may_read, later):
    server.on(VIDEOS, answer)
    found = await key_status(f"{server.url}/api/v1", KEY)
    assert (found.accepted, found.may_read, found.later) == (accepted, may_read, later)
    assert {request.method for request in server.seen} == {"GET"}
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert accepted is True or found.words


ORGANISED = {"organization": {"name": "Northlight"}}


@pytest.mark.parametrize(
    ("answer", "owner"),
    [
        ({"data": ORGANISED}, Owner(organisation="Northlight")),
        ({"organisation": "Northlight"}, Owner(organisation="Northlight")),
        ({"org_name": "North\x1b[2Jlight"}, Owner(organisation="North [2Jlight")),
        (
            {"data": {**ORGANISED, "key": {"scopes": ["read", "ai"]}}},
            Owner(organisation="Northlight", scopes=("read", "ai")),
        ),
        ({"scope": "read write"}, Owner(scopes=("read", "write"))),
        ({"scopes": {"read": True}, "organization": 7}, Owner()),
        ({"data": None}, Owner()),
        ((200, b"<html>"), Owner()),
        ((403, {}), Owner()),
        ("close", Owner()),
    ],
)
async def test_what_the_service_says_of_the_owner_is_taken_as_far_as_it_is_known(
    server, answer, owner
):
    server.on(ME, answer)
    assert await owner_of(f"{server.url}/api/v1", KEY) == owner
