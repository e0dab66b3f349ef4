"""No token and no signed address in an error, a log line or anything's repr."""

from __future__ import annotations

import logging
import traceback

import httpx
import pytest

from callsheet.tasks.runtime.errors import ServiceError
from callsheet.tasks.service import SignedUrl
from tests.lent import lent

KEY = "mav_canary0secret"
SIGNED = "https://files.test/video.mp4?X-Amz-Signature=canary1&Expires=1"
ECHO = {"error": {"message": f"bad token {KEY} at {SIGNED}", "code": KEY}, "meta": {"a": KEY}}
CANARIES = ("canary0", "canary1")


def clean(*texts):
    return not [canary for canary in CANARIES for text in texts if canary in text]


def all_of(error):
    """Return whatever a log, a report or a debugger might print of an error."""
    chain, texts = error, []
    while chain is not None:
        texts += [str(chain), repr(chain), repr(getattr(chain, "__dict__", ""))]
        chain = chain.__cause__ or chain.__context__
    return [*texts, "".join(traceback.format_exception(error))]


@pytest.mark.parametrize("status", [307, 400, 401, 402, 403, 404, 409, 418, 422, 429, 500, 503])
async def test_an_answer_that_echoes_secrets_does_not_pass_them_on(talk, caplog, status):
    caplog.set_level(logging.DEBUG)
    headers = {"location": SIGNED, "x-request-id": KEY, "retry-after": "999"}
    service, _ = talk((status, ECHO, headers))
    with pytest.raises(ServiceError) as caught:
        await service.get("vid_1")
    assert clean(*all_of(caught.value), caplog.text)


@pytest.mark.parametrize("body", [ECHO, f"{KEY} {SIGNED}".encode()])
async def test_a_success_of_the_wrong_shape_does_not_pass_them_on(talk, caplog, body):
    caplog.set_level(logging.DEBUG)
    service, _ = talk((200, body))
    with pytest.raises(ServiceError) as caught:
        await service.download("vid_1")
    assert clean(*all_of(caught.value), caplog.text)


@pytest.mark.parametrize(
    "step", ["close", "reset", b"GARBAGE\r\n\r\n", b"HTTP/1.1 999999 X\r\n\r\n"]
)
async def test_an_exception_of_a_connection_does_not_hang_on_to_ours(serve, connect, caplog, step):
    caplog.set_level(logging.INFO)
    server = await serve(step)
    with pytest.raises(ServiceError) as caught:
        await connect(server.base_url).get("vid_1")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert clean(*all_of(caught.value), caplog.text)


async def test_our_own_line_names_the_template_and_nothing_more(talk, caplog):
    caplog.set_level(logging.DEBUG)
    service, _ = talk((200, {"url": SIGNED}), (200, b"WEBVTT"))
    await service.download("vid_1")
    await service.captions("vid_1", "vtt")
    first, second = (r for r in caplog.records if r.name == "callsheet.service")
    assert first.getMessage().startswith("download GET /videos/{id}/download 200 ok attempt 1 ")
    assert second.getMessage().startswith("captions GET /videos/{id}/captions 200 ok attempt 1 ")
    assert clean(caplog.text)


async def test_the_client_and_what_it_is_made_of_do_not_show_the_key(connect):
    service = connect(connections=lent(httpx.MockTransport(lambda _: httpx.Response(200))))

    def look(thing, depth=4):
        yield repr(thing)
        if depth and type(thing).__module__.startswith("tasks."):
            for name in getattr(thing, "__dict__", ()) or getattr(type(thing), "__slots__", ()):
                yield from look(getattr(thing, name), depth - 1)

    assert clean(*look(service), repr(SignedUrl(url=SIGNED)), str(SignedUrl(url=SIGNED)))
