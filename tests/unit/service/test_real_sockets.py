"""What really happens on sockets."""

from __future__ import annotations

import asyncio

import pytest

from callsheet.tasks.runtime.errors import NotSent, OtherRefusal, OutcomeUnknown
from callsheet.tasks.service import VideoService
from tests.web import free_port

BODY = b'{"idempotency_key":"cs1_k","topic":"x"}'
CREATED = {"data": {"id": "vid_1", "status": "generating"}, "error": None, "meta": {}}


def create(service):
    return service.create(BODY, key="cs1_k")


async def test_a_stale_connection_does_not_send_a_post_twice(serve, connect, answer):
    seen = []
    server = await serve(answer(202, CREATED), then_close=True)
    service = connect(server.base_url, on_request=seen.append)
    for _ in range(4):
        await create(service)
    # Whatever was sent was sent by us, and counted; some may not have reached the server.
    assert len(server.seen) == [attempt.outcome for attempt in seen].count("ok") == 4


async def test_a_connection_that_ends_under_a_post_is_told_and_not_repaired_in_silence(
    serve, connect, answer
):
    seen = []
    server = await serve(answer(202, CREATED), "close", answer(202, CREATED))
    service = connect(server.base_url, on_request=seen.append)
    await create(service)
    await create(service)
    assert [attempt.outcome for attempt in seen] == ["ok", "lost", "ok"]
    assert len(server.seen) == 3


async def test_what_reaches_nobody_is_not_sent(connect):
    for host in (f"127.0.0.1:{free_port()}", "no.such.host.invalid"):
        with pytest.raises(NotSent) as caught:
            await create(connect(f"http://{host}/api/v1"))
        assert (caught.value.attempts, caught.value.sent) == (3, "no")


async def test_a_server_that_does_not_speak_tls_is_not_sent(connect):
    heard = []

    async def handle(reader, writer):
        heard.append(await reader.read(1000))
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/api/v1"
    with pytest.raises(NotSent):
        await create(connect(address))
    server.close()
    assert not any(b"cs1_k" in part for part in heard)


async def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(serve, connect, answer):
    other = await serve(answer(202, CREATED))
    away = answer(307, headers={"Location": other.base_url + "/videos?token=abc"})
    server = await serve(away)
    with pytest.raises(OtherRefusal, match=r"redirected \(307\) to 127\.0\.0\.1:\d+") as caught:
        await create(connect(server.base_url))
    assert not other.seen
    assert len(server.seen) == 1
    assert "token" not in str(caught.value)
    assert "CALLSHEET_BASE_URL" in caught.value.remedy


async def test_an_html_error_page_is_told_by_its_title(serve, connect, answer):
    page = b"<html><head><title>502 Bad\n Gateway</title></head><body>...</body></html>"
    server = await serve(answer(502, page, headers={"Content-Type": "text/html"}))
    with pytest.raises(OutcomeUnknown, match='an HTML page: "502 Bad Gateway"'):
        await create(connect(server.base_url))


async def test_connections_are_kept_and_say_who_asks_and_cookies_are_not_kept(
    serve, connect, answer
):
    server = await serve(answer(202, CREATED, headers={"Set-Cookie": "a=b; Path=/"}))
    service = connect(server.base_url)
    for _ in range(5):
        await create(service)
    assert server.connections == 1
    headers = server.seen[0].headers
    assert headers["authorization"] == "Bearer mav_canary0secret"
    assert headers["user-agent"].startswith("callsheet/")
    assert headers["accept-encoding"] == "identity"
    assert headers["content-type"] == "application/json"
    assert all("cookie" not in request.headers for request in server.seen)


async def test_cancelling_a_call_under_way_is_not_swallowed(serve):
    server = await serve("hang")
    # A real clock: what is cancelled here is the request itself.
    async with VideoService(base_url=server.base_url, api_key="mav_x1") as service:
        call = asyncio.create_task(create(service))
        await asyncio.wait_for(server.heard.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert len(server.seen) == 1


async def test_no_more_requests_are_under_way_than_asked_for(serve, connect):
    peak = under_way = 0

    async def handle(reader, writer):
        nonlocal peak, under_way
        while True:
            try:
                await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            under_way += 1
            peak = max(peak, under_way)
            await asyncio.sleep(0.01)
            under_way -= 1
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"id":"vid_1"}')
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/api/v1"
    async with VideoService(base_url=base_url, api_key="mav_x1", concurrency=4) as service:
        await asyncio.gather(*(service.get("vid_1") for _ in range(40)))
    server.close()
    assert peak == 4


async def test_cancelling_between_attempts_is_not_swallowed(serve, connect):
    server = await serve("close")
    started = asyncio.Event()

    async def sleep(_):
        started.set()
        await asyncio.Event().wait()

    service = connect(server.base_url, sleep=sleep)
    call = asyncio.create_task(create(service))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(server.seen) == 1
