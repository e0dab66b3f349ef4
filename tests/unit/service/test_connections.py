"""Connections to the service: every fault of a server or a proxy has one outcome."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest

from callsheet.tasks.runtime import errors
from callsheet.tasks.service import operations as ops
from tests.certificates import certificate

BODY = b'{"idempotency_key":"cs1_k","topic":"x"}'
VIDEO = b'{"data": {"id": "vid_1", "status": "generating"}, "error": null, "meta": {}}'
CALLS = {
    "read": lambda s: s.get("vid_1"),
    "keyed": lambda s: s.create(BODY, key="cs1_k"),
    "gentle": lambda s: s.ask(ops.DELETE, "vid_1"),
    "once": lambda s: s.ask(ops.GENERATE, "vid_1"),
}


def answer(status="200 OK", body=VIDEO, *headers):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


OK = answer()
PARTS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(VIDEO), VIDEO)
#: What a server does, and the outcomes of the attempts at a read, which asks three times.
FAULTS = {
    "hangs up": ("close", ["lost"] * 3),
    "resets": ("reset", ["lost"] * 3),
    "says nothing": ("hang", ["lost"] * 3),
    "drips": ("drip", ["lost"] * 3),
    "speaks no HTTP": (b"GARBAGE\r\n\r\n", ["lost"] * 3),
    "a status that is none": (b"HTTP/1.1 999999 X\r\n\r\n", ["lost"] * 3),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Le", ["lost"] * 3),
    "half a body": (answer()[:-9], ["lost"] * 3),
    "half a refusal": (answer("418 X", b"x" * 90)[:-9], ["refused"]),
    "half a trouble": (answer("503 X", b"x" * 90)[:-9], ["trouble"] * 3),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + PARTS, ["ok"]),
    "bad chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", ["lost"] * 3),
    "half a chunk": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + PARTS[:-20],
        ["lost"] * 3,
    ),
    "a length that is none": (answer("200 OK", b"", "Content-Length: -1"), ["lost"] * 3),
    "no length": (b"HTTP/1.1 200 OK\r\n\r\n" + VIDEO, "until it closes"),
    "a header without end": (answer("200 OK", VIDEO, "X-Long: " + "x" * 100_000), ["lost"] * 3),
    "headers without end": (
        answer("200 OK", VIDEO, *(f"X-{n}: x" for n in range(10_000))),
        ["lost"] * 3,
    ),
    "go on": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, ["ok"]),
    "early hints": (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, ["ok"]),
    "another protocol": (
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nzzz",
        ["refused"],
    ),
    "nothing": (b"HTTP/1.1 204 No Content\r\n\r\n", ["cut"] * 3),
    "not JSON": (answer("200 OK", b"<html>"), ["cut"] * 3),
    "compressed all the same": (
        answer("200 OK", gzip.compress(VIDEO), "Content-Encoding: gzip"),
        ["ok"],
    ),
    "called compressed": (answer("200 OK", VIDEO, "Content-Encoding: gzip"), ["lost"] * 3),
    "two answers": (OK + OK, ["ok"]),
    "a redirect": (answer("307 X", b"", "Location: /elsewhere"), ["refused"]),
    "not these bytes": (answer("200 OK", VIDEO, "X-Request-Id: \xff\xfe"), ["ok"]),
}


#: What is raised in the end, by the last outcome and, where it matters, by the call.
ERRORS = {
    "ok": type(None),
    "lost": errors.OutcomeUnknown,
    ("lost", "read"): errors.ServerTrouble,
    "trouble": errors.OutcomeUnknown,
    ("trouble", "read"): errors.ServerTrouble,
    "cut": errors.OutcomeUnknown,
    ("cut", "read"): errors.ShapeError,
    "refused": errors.OtherRefusal,
}


@pytest.fixture
def carried(connect):
    """Build a client that counts what became of its requests."""

    def build(base_url, **options):
        seen = []
        return connect(base_url, on_request=seen.append, **options), seen

    return build


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_has_one_outcome(serve, carried, fault):
    step, table = FAULTS[fault]
    until = table == "until it closes"
    for name, call in CALLS.items():
        server = await serve(step, then_close=until)
        service, seen = carried(server.base_url, longest=0.3 if step in ("hang", "drip") else 30)
        error = None
        try:
            await call(service)
        except errors.ServiceError as caught:
            error = caught
        outcomes = [attempt.outcome for attempt in seen]
        expected = ["ok"] if until else table
        if expected[0] == "cut" and (name == "gentle" or (fault == "nothing" and name == "once")):
            expected = ["ok"]  # a delete reads nothing, a remake's success need not say anything
        elif name == "once":
            expected = expected[:1]
        assert outcomes == expected, name
        # Nothing is sent that is not told of, and what is sent again is the same.
        assert len(server.seen) == len(outcomes)
        assert len({request.body for request in server.seen}) == 1
        assert type(error) is ERRORS.get((expected[0], name), ERRORS[expected[0]])


@pytest.mark.parametrize("call", CALLS)
async def test_a_certificate_that_nobody_vouches_for_gets_no_request(
    serve, carried, tmp_path, monkeypatch, call
):
    trusted = certificate(tmp_path)
    server = await serve(OK, certificate=trusted)
    service, seen = carried(server.base_url)
    with pytest.raises(errors.NotSent, match=r"(?i)certificate"):
        await CALLS[call](service)
    assert [attempt.outcome for attempt in seen] == ["unsendable"]
    assert server.seen == []
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    believing, _ = carried(server.base_url)
    assert (await believing.get("vid_1")).status == "generating"


@pytest.fixture
def proxied(connect, monkeypatch):
    """Build a client in an environment that names a proxy."""

    def build(base_url, proxy, *, except_for=""):
        monkeypatch.setenv("no_proxy", except_for)
        for scheme in ("http", "https"):
            monkeypatch.setenv(f"{scheme}_proxy", proxy)
        return connect(base_url)

    return build


async def test_a_proxy_is_told_the_whole_address_and_who_asks(serve, proxied):
    proxy = await serve(OK)
    at = proxy.base_url.removeprefix("http://").removesuffix("/api/v1")
    service = proxied("http://service.test/api/v1", f"http://me:p%40ss@{at}")
    await service.get("vid_1")
    await service.create(BODY, key="cs1_k")
    assert [request.path for request in proxy.seen] == [
        "http://service.test/api/v1/videos/vid_1",
        "http://service.test/api/v1/videos",
    ]
    assert proxy.connections == 1
    for request in proxy.seen:
        assert request.headers["host"] == "service.test"
        assert request.headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
        assert request.headers["authorization"].startswith("Bearer ")


async def test_a_proxy_that_is_not_there_gets_nothing_unless_it_is_left_out(serve, proxied):
    server = await serve(OK)
    with pytest.raises(errors.NotSent) as caught:
        await proxied(server.base_url, "http://127.0.0.1:9").ask(ops.GENERATE, "vid_1")
    assert (caught.value.attempts, server.seen) == (3, [])
    await proxied(server.base_url, "http://127.0.0.1:9", except_for="127.0.0.1").get("vid_1")
    assert server.seen[0].path == "/api/v1/videos/vid_1"


async def test_what_is_encrypted_goes_through_a_proxy_unread(serve, proxied, tmp_path, monkeypatch):
    trusted = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    server = await serve(OK, certificate=trusted)
    told = []
    proxy = await asyncio.start_server(_tunnel(told), "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    service = proxied(server.base_url, f"http://me:pass@127.0.0.1:{port}")
    await service.get("vid_1")
    await service.get("vid_1")
    await service.aclose()
    proxy.close()
    assert len(server.seen) == 2
    assert len(told) == 1
    assert told[0].startswith("CONNECT 127.0.0.1:")
    assert "Proxy-Authorization: Basic bWU6cGFzcw==" in told[0]
    assert "Bearer" not in told[0]
    assert "proxy-authorization" not in server.seen[0].headers


async def test_a_tunnel_that_is_refused_sends_nothing(serve, proxied):
    proxy = await serve(answer("403 Forbidden", b""))
    service = proxied("https://service.test/api/v1", proxy.base_url.removesuffix("/api/v1"))
    with pytest.raises(errors.NotSent):
        await service.ask(ops.GENERATE, "vid_1")
    assert {request.method for request in proxy.seen} == {"CONNECT"}


async def test_a_proxy_of_an_unknown_kind_is_told(connect, monkeypatch):
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(errors.ConfigurationError, match="proxy"):
        await connect("http://service.test/api/v1").get("vid_1")


def _tunnel(told):
    async def pipe(reader, writer):
        while part := await reader.read(65536):
            writer.write(part)
        writer.close()

    async def handle(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        told.append(head)
        host, _, port = head.split(" ")[1].rpartition(":")
        there = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pipe(reader, there[1]), pipe(there[0], writer), return_exceptions=True)

    return handle


async def test_what_the_service_gives_as_the_next_page_cannot_become_a_header(serve, connect):
    first = {"videos": [], "next": "a b\r\nX-Evil: 1&c=é"}
    body = json.dumps({"data": first, "meta": {}}).encode()
    server = await serve(answer("200 OK", body), answer("200 OK", b'{"videos": []}'))
    assert [video async for video in connect(server.base_url).list_videos()] == []
    assert "x-evil" not in server.seen[1].headers
    assert " " not in server.seen[1].path


async def test_a_name_of_a_request_that_is_no_text_can_still_be_kept(serve, connect):
    server = await serve(answer("404 X", b"{}", "X-Request-Id: abc\xff"))
    with pytest.raises(errors.ServiceError) as caught:
        await connect(server.base_url).get("vid_1")
    assert caught.value.request_id.startswith("abc")
    caught.value.request_id.encode()
