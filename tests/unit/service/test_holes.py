"""What the client does where the specification is silent: a hole costs time or a question, never
a second charge. What the tests of a subject show is not shown here again."""

from __future__ import annotations

import re

import pytest

from callsheet.tasks.runtime.errors import Conflict, NotFound, Unauthenticated
from tests.repository import ROOT

KEY = "cs1_k"
BODY = b'{"idempotency_key":"cs1_k","topic":"x"}'
MADE = (202, {"data": {"id": "vid_1"}, "error": None, "meta": {}})


def refusal(status, retryable=False, **members):
    error = {"message": "no", "code": "any", "retryable": retryable} | members
    return status, {"data": None, "error": error, "meta": {}}


@pytest.mark.parametrize("code", ["", "not_ready", "forbidden", "whatever", None, 7])
async def test_error_codes(talk, code):
    service, _ = talk(refusal(409, code=code), refusal(401, code=code))
    with pytest.raises(Conflict):
        await service.download("vid_1")
    with pytest.raises(Unauthenticated):
        await service.get("vid_1")


@pytest.mark.parametrize("value", [None, "yes", 1, [], "absent"])
async def test_retryable_that_is_missing_or_odd(talk, value):
    members = {} if value == "absent" else {"retryable": value}
    service, seen = talk((500, {"error": members}), MADE)
    assert (await service.create(BODY, key=KEY)).video_id == "vid_1"
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("body", "headers"),
    [({"meta": {"request_id": "r1"}}, {}), ({}, {"x-request-id": "r1"}), ({}, {"cf-ray": "r1"})],
)
@pytest.mark.parametrize("status", [200, 404])
async def test_the_name_of_a_request(talk, body, headers, status):
    told = []
    service, _ = talk((status, body, headers), on_request=told.append)
    if status == 404:
        with pytest.raises(NotFound) as caught:
            await service.get("vid_1")
        assert caught.value.request_id == "r1"
    else:
        await service.get("vid_1")
    assert [attempt.request_id for attempt in told] == ["r1"]


def test_deleting_what_is_generating():
    # It is never done by itself: only a person's own word deletes a video.
    files = [path for door in ("flows", "tasks") for path in (ROOT / door).rglob("*.py")]
    assert len(files) > 50
    named = [str(path) for path in files if re.search(r"ops\.DELETE\b", path.read_text())]
    assert named == []
