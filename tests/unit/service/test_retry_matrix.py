"""The retry matrix, row by row and class by class, through the same calls the client makes."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from callsheet.tasks.runtime import errors
from callsheet.tasks.service.failures import MATRIX, Outcome, Verdict
from callsheet.tasks.service.operations import Money, Operation
from callsheet.tasks.service.rate_limits import Gate
from callsheet.tasks.service.request import Request, Wire
from callsheet.tasks.service.response import Shapeless
from callsheet.tasks.service.sending import Sender
from tests.lent import lent

OK = httpx.Response(200, json={"data": {"id": "vid_1"}, "meta": {}})
MISSING = httpx.Response(202, json={"data": {}, "meta": {}})
CUT = httpx.Response(202, content=b'{"data": {"id": "vid')


def status(code, **headers):
    return httpx.Response(code, json={"data": None, "error": {"message": "no"}}, headers=headers)


def read_id(response):
    if "id" not in response.json()["data"]:
        raise Shapeless
    return response.json()["data"]["id"]


def sender_over(time, handler):
    wire = Wire(
        base_url="http://s.test/api/v1",
        api_key="mav_x1",
        connections=lent(httpx.MockTransport(handler)),
        limit=9,
    )
    now = {"clock": time.clock, "sleep": time.sleep, "random": time.random}
    return Sender(wire, Gate(**now), concurrency=9, **now)


async def outcome_of(time, money, *steps):
    """Return (result or error, how many requests were sent)."""
    sent = []

    def handler(request):
        sent.append(request.content)
        step = steps[min(len(sent), len(steps)) - 1]
        if isinstance(step, Exception):
            raise step
        return step

    operation = Operation("op", "POST", "/x", "write", money, bool)
    request = Request(operation=operation, target="/x", body=b"same", key="cs1_k")
    try:
        result = await sender_over(time, handler).send(request, read_id)
    except errors.ServiceError as error:
        result = error
    assert set(sent) <= {b"same"}
    return result, len(sent)


R, K, G, N = Money.READ, Money.KEYED, Money.GENTLE, Money.ONCE
UNKNOWN, CONFLICT = errors.OutcomeUnknown, errors.Conflict
LOST = httpx.ReadTimeout("slow")
ROWS = [
    # what keeps happening, then for R, K, G, N: the error in the end and the requests sent
    (
        httpx.ConnectError("refused"),
        (errors.NotSent, 3),
        (errors.NotSent, 3),
        (errors.NotSent, 3),
        (errors.NotSent, 3),
    ),
    (
        httpx.UnsupportedProtocol("ftp"),
        (errors.NotSent, 1),
        (errors.NotSent, 1),
        (errors.NotSent, 1),
        (errors.NotSent, 1),
    ),
    (status(500), (errors.ServerTrouble, 3), (UNKNOWN, 3), (UNKNOWN, 3), (UNKNOWN, 1)),
    (status(408), (errors.ServerTrouble, 3), (UNKNOWN, 3), (UNKNOWN, 3), (UNKNOWN, 1)),
    (LOST, (errors.ServerTrouble, 3), (UNKNOWN, 3), (UNKNOWN, 3), (UNKNOWN, 1)),
    (CUT, (errors.ShapeError, 3), (UNKNOWN, 3), (UNKNOWN, 1), (UNKNOWN, 1)),
    (MISSING, (errors.ShapeError, 1), (UNKNOWN, 3), (UNKNOWN, 1), (UNKNOWN, 1)),
    (
        status(429),
        (errors.RateLimited, 5),
        (errors.RateLimited, 5),
        (errors.RateLimited, 5),
        (errors.RateLimited, 5),
    ),
    (
        status(409),
        (errors.Conflict, 1),
        (errors.Conflict, 3),
        (errors.Conflict, 1),
        (errors.Conflict, 1),
    ),
    (status(400), *[(errors.BadRequest, 1)] * 4),
    (status(401), *[(errors.Unauthenticated, 1)] * 4),
    (status(402), *[(errors.InsufficientCredits, 1)] * 4),
    (status(403), *[(errors.Forbidden, 1)] * 4),
    (status(404), *[(errors.NotFound, 1)] * 4),
    (status(422), *[(errors.OtherRefusal, 1)] * 4),
    (status(307, location="https://elsewhere.test/x"), *[(errors.OtherRefusal, 1)] * 4),
]


@pytest.mark.parametrize(
    ("step", "money", "kind", "requests"),
    [
        pytest.param(row[0], money, *row[1 + at], id=f"{row[0]}-{money.value}")
        for row in ROWS
        for at, money in enumerate(Money)
    ],
)
async def test_what_keeps_failing_ends_as_the_matrix_says(time, step, money, kind, requests):
    error, sent = await outcome_of(time, money, step)
    assert type(error) is kind
    assert sent == requests
    assert error.key == "cs1_k"
    assert error.operation == "op"


def test_a_paid_call_without_a_key_is_repeated_only_when_it_was_proved_not_sent():
    again = {outcome for outcome in Outcome if MATRIX[outcome, N] is Verdict.AGAIN}
    assert again == {Outcome.UNREACHED}


@pytest.mark.parametrize("money", list(Money))
async def test_a_call_that_was_not_sent_or_limited_is_sent_again(time, money):
    assert await outcome_of(time, money, httpx.ConnectError("no"), OK) == ("vid_1", 2)
    time.slept.clear()
    result = await outcome_of(time, money, status(429, **{"retry-after": "7"}), OK)
    assert result == ("vid_1", 2)
    assert time.slept == [7]


@pytest.mark.parametrize("lost", [status(502), LOST, CUT, MISSING])
async def test_a_keyed_create_asks_again_with_the_same_bytes_until_it_gets_an_id(time, lost):
    assert await outcome_of(time, K, lost, lost, OK) == ("vid_1", 3)


@pytest.mark.parametrize(
    "last", [httpx.ConnectError("refused"), status(402), status(401), status(429), status(409)]
)
@pytest.mark.parametrize("money", [K, G])
async def test_what_comes_after_an_unanswered_request_does_not_prove_it_was_not_carried_out(
    time, money, last
):
    error, _ = await outcome_of(time, money, LOST, last)
    assert type(error) is errors.OutcomeUnknown
    assert "earlier attempt went unanswered" in str(error)
    read, _ = await outcome_of(time, R, LOST, status(404))
    assert (type(read), read.attempts) == (errors.NotFound, 2)


async def test_limited_answers_do_not_use_up_the_attempts(time):
    limited = status(429, **{"retry-after": "1"})
    result = await outcome_of(time, K, limited, LOST, limited, LOST, limited, OK)
    assert result == ("vid_1", 6)


async def test_a_trouble_that_says_it_is_not_retryable_is_not_repeated(time):
    body = {"data": None, "error": {"message": "broken", "retryable": False}, "meta": {}}
    error, sent = await outcome_of(time, R, httpx.Response(500, json=body))
    assert (type(error), sent) == (errors.ServerTrouble, 1)


async def test_a_trouble_with_a_long_retry_after_is_given_back_with_its_moment(time):
    error, sent = await outcome_of(time, K, status(503, **{"retry-after": "600"}))
    assert (type(error), sent) == (errors.OutcomeUnknown, 1)
    assert (error.retry_at - time.now).total_seconds() == 600


async def test_a_create_that_meets_itself_waits_for_the_first(time):
    result = await outcome_of(time, K, status(409), status(409), OK)
    assert result == ("vid_1", 3)
    assert time.slept == [2, 4]


async def test_repeating_ends_after_sixty_seconds_of_sending(time):
    sent = []

    def handler(request):
        sent.append(1)
        time.now += timedelta(seconds=61)
        raise httpx.ReadTimeout("slow")

    operation = Operation("op", "POST", "/x", "write", K, bool)
    with pytest.raises(errors.OutcomeUnknown):
        await sender_over(time, handler).send(Request(operation=operation, target="/x"), read_id)
    assert len(sent) == 1
