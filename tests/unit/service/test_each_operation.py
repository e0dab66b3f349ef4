"""Every operation of the service: its line in the table, what it sends, and what it gives back."""

from __future__ import annotations

import inspect
import json

import pytest

from callsheet.tasks.service import OPERATIONS, VideoService
from tests.unit.service.asked import ASKED, METHODS, TABLE


def test_the_table_of_operations_is_the_specifications():
    ours = {op.name: (op.method, op.path, op.scope, op.money) for op in OPERATIONS}
    assert ours == TABLE


@pytest.mark.parametrize("name", TABLE)
async def test_it_sends_what_the_table_says_and_takes_the_success(talk, name):
    asked, (method, *_) = ASKED[name], TABLE[name]
    service, seen = talk((asked.status, {"data": asked.answer, "error": None, "meta": {}}))
    await asked.call(service)
    (request,) = seen
    assert (request.method, request.url.raw_path.decode()) == (method, "/api/v1" + asked.target)
    assert request.headers["authorization"] == "Bearer mav_canary0secret"
    if asked.body is None:
        assert request.content == b""
        assert "content-type" not in request.headers
    else:
        assert json.loads(request.content) == asked.body
        assert request.headers["content-type"] == "application/json"


def test_every_public_method_of_the_client_is_asked_for_here():
    methods = {name for name, _ in inspect.getmembers(VideoService, inspect.isroutine)}
    called = {name for one in METHODS.values() for name in one.__code__.co_names}
    others = {"aclose", "ask", "behind"}
    assert {name for name in methods if not name.startswith("_")} - called == others
