"""What somebody may try who means no good, by name; each is refused, and nothing is changed."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from callsheet.deployments.board.app import MOST_CONNECTIONS
from callsheet.deployments.board.guard import Guard
from callsheet.deployments.board.limits import EACH, LOGINS, MOST, RESERVE, Streams, Tries
from callsheet.deployments.board.logins import new_login
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.web_server import HEAD_TIMEOUT
from callsheet.tasks.ledger.board_settings import board_settings
from callsheet.tasks.ledger.people import Person
from tests.board.conftest import OpenBoard, board_at
from tests.campaigns import Stage, brief

EVE = {"name": "Eve", "role": "admin"}
SCRIPT = "<script>alert(1)</script>"
PAGE = {"accept": "text/html"}


HALF = b"GET /live HTTP/1.1\r\nHo"


@pytest.mark.slow
@pytest.mark.parametrize("before", [b"", b"GET /live HTTP/1.1\r\nHost: any\r\n\r\n"])
async def test_whoever_never_ends_a_head_is_sent_away(open_board: OpenBoard, before: bytes) -> None:
    where = urlsplit(open_board.origin)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(before)
    if before:
        assert await reader.readuntil(b"at work\n")
    writer.write(HALF)

    async with asyncio.timeout(3 * HEAD_TIMEOUT):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""

    writer.close()


@pytest.mark.merge
async def test_connections_that_say_nothing_shut_nobody_out(open_board: OpenBoard) -> None:
    where = urlsplit(open_board.origin)
    async with AsyncExitStack() as many:
        for _ in range(MOST_CONNECTIONS + 8):
            _, writer = await asyncio.open_connection(where.hostname, where.port)
            many.callback(writer.close)
        # The board looks at them now and then, so they shut it for a moment at most.
        until = time.monotonic() + HEAD_TIMEOUT / 2
        while (await (await open_board.client()).get("/live")).status_code == 503:
            assert time.monotonic() < until
        # A new connection each time, as of somebody who comes now.
        for path in ("/live", "/api/v1/me"):
            client = await open_board.client(headers=dict(open_board.viewer.headers))
            assert (await client.get(path)).status_code == 200


async def session_of(open_board: OpenBoard, role: str) -> tuple[httpx.AsyncClient, str]:
    """Return a client with a session's cookie and no Origin, and that cookie."""
    (cookie,) = (await open_board.form(role)).cookies.jar
    header = f"{cookie.name}={cookie.value}"
    return await open_board.client(headers={"cookie": header}), header


async def names(open_board: OpenBoard) -> set[str]:
    found = (await open_board.admin.get("/api/v1/people")).json()["people"]
    return {one["name"] for one in found}


FOREIGN = {
    "another site's origin": {"origin": "https://evil.example"},
    "a sandboxed frame": {"origin": "null"},
    "another port of this machine": {"origin": "http://127.0.0.1:1"},
    "no origin at all": {},
    "a browser that says it is another site": {"sec-fetch-site": "cross-site"},
    "our name as a prefix": {"origin": "OURS.evil.example"},
    "htmx pretended": {"hx-request": "true"},
    "a form pretended to be json": {"origin": "https://evil.example", "content-type": "text/plain"},
}


@pytest.mark.safeguard(
    "deployments/board/guard.py",
    "if visit.is_foreign or not (visit.is_vouched_for or visit.bearer or bare):",
    "if False:",
)
@pytest.mark.merge
@pytest.mark.parametrize("how", FOREIGN)
async def test_a_page_elsewhere_cannot_act_with_a_session(how: str, open_board: OpenBoard) -> None:
    browser, _ = await session_of(open_board, "admin")
    headers = {n: v.replace("OURS", open_board.origin) for n, v in FOREIGN[how].items()}

    for path in ("/people/invite", "/api/v1/people"):
        sent = {"json": EVE} if path.startswith("/api") else {"data": EVE}
        answer = await browser.post(path, headers=headers, **sent)
        assert answer.status_code == 403, answer.text
    budget = {"name": "day_budget", "value": "1000000"}
    answer = await browser.post("/settings/set", headers=headers, data=budget)

    assert answer.status_code == 403, answer.text
    assert "Eve" not in await names(open_board)
    # Nor can it log anybody in.
    token = {"token": open_board.people["viewer"].token}
    evil = {"origin": "https://evil.example"}
    entered = await open_board.nobody.post("/login", data=token, headers=evil)
    assert (entered.status_code, "set-cookie" in entered.headers) == (403, False)
    assert not await open_board.ledger.read(board_settings)


@pytest.mark.safeguard(
    "deployments/board/guard.py",
    'if not is_own_host(visit.headers.get("host", ""), self._board):',
    "if False:",
)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:PORT", "127.0.0.1.evil.example:PORT", "127.0.0.1:1",
             "localhost:PORT@evil.example", "127.0.0.1:99999", "", "a b", "127.0.0.1:PORT:PORT"],
)  # fmt: skip
async def test_a_name_rebound_to_this_machine_is_refused(host: str, open_board: OpenBoard) -> None:
    port = str(urlsplit(open_board.origin).port)
    headers = {"host": host.replace("PORT", port)}

    for path in ("/", "/login", "/static/board.css", "/api/v1/me"):
        answer = await open_board.admin.get(path, headers=headers)
        assert answer.status_code == 421, answer.text
    for name in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        answer = await open_board.viewer.get("/api/v1/me", headers={"host": name})
        assert answer.status_code == 200


async def test_a_login_uses_no_session_that_was_there_and_ends_it(open_board: OpenBoard) -> None:
    planted = f"callsheet-{urlsplit(open_board.origin).port}=csb_planted"
    _, own = await session_of(open_board, "viewer")
    token = {"token": open_board.people["reviewer"].token}

    for cookie in (planted, own):
        headers = {"origin": open_board.origin, "cookie": cookie}
        entered = await open_board.nobody.post("/login", data=token, headers=headers)
        assert entered.status_code == 303
        assert cookie.partition("=")[2] not in entered.headers["set-cookie"]
        assert (await open_board.nobody.get("/", headers={"cookie": cookie})).status_code == 401


async def test_a_sessions_cookie_is_closed_to_other_sites(open_board: OpenBoard) -> None:
    entered = await open_board.press(open_board.nobody, open_board.people["viewer"].login)

    said = entered.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= set(said.split("; "))
    assert "domain" not in said
    assert "csb_" not in entered.headers["location"]


@pytest.mark.safeguard(
    "deployments/board/pages/people.py",
    'return address if plain and clean and not parts.netloc and not parts.scheme else "/"',
    "return address",
)
@pytest.mark.parametrize(
    "there", ["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example",
              "javascript:alert(1)", "/%0d%0aX: 1\r\nX-Evil: 1", "http:evil.example", "/\t/evil"],
)  # fmt: skip
async def test_a_login_leads_nobody_away(there: str, open_board: OpenBoard) -> None:
    answer = await open_board.nobody.post(
        "/login",
        data={"token": open_board.people["viewer"].token, "next": there},
        headers={"origin": open_board.origin},
    )

    assert answer.headers["location"] == "/"
    assert "x-evil" not in answer.headers


@pytest.mark.safeguard("deployments/board/limits.py", "if count < self.most or", "if True or")
async def test_logins_cannot_be_tried_out(open_board: OpenBoard) -> None:
    origin = {"origin": open_board.origin}
    for number in range(LOGINS):
        wrong = {"token": f"csb_wrong{number}"}
        answer = await open_board.nobody.post("/login", data=wrong, headers=origin)
        assert answer.status_code == 401

    right = {"token": open_board.people["viewer"].token}
    for answer in (
        await open_board.nobody.post("/login", data={"token": "csb_wrong"}, headers=origin),
        await open_board.nobody.get("/login?code=csb_wrong"),
        # Else whoever tries them out would see by it which one is right.
        await open_board.nobody.post("/login", data=right, headers=origin),
        await open_board.nobody.get(open_board.people["viewer"].login),
    ):
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= 60


def test_tokens_cannot_be_tried_out() -> None:
    now = 1000.0
    tries = Tries(lambda: now, most=3)
    tries.was_right("here", "right")
    for _ in range(3):
        tries.check("here", "wrong")
        tries.was_wrong("here")

    with pytest.raises(ProblemDetails) as refused:
        tries.check("here", "another")

    assert refused.value.headers == {"Retry-After": "60"}
    # Whoever was right from there before is not kept out by others, nor is anybody elsewhere.
    tries.check("here", "right")
    tries.check("there", "another")
    now += 60
    tries.check("here", "another")


async def test_a_wrong_token_is_counted_where_it_comes_from(open_board: OpenBoard) -> None:
    browser, _ = await session_of(open_board, "reviewer")
    for _ in range(LOGINS + 1):
        wrong = {"authorization": "Bearer csb_wrong"}
        assert (await open_board.nobody.get("/api/v1/me", headers=wrong)).status_code == 401
    assert (await open_board.viewer.get("/api/v1/me")).status_code == 200
    assert (await browser.get("/")).status_code == 200


@pytest.mark.safeguard(
    "deployments/board/visit.py",
    "if board.behind_proxy:\n        client",
    "if True:\n        client",
)
async def test_an_invented_address_does_not_get_around_the_limit(open_board: OpenBoard) -> None:
    told = await tried(open_board, "10.0.0.{}")
    assert told == [401] * LOGINS + [429]


async def tried(open_board: OpenBoard, address: str, count: int = LOGINS + 1) -> list[int]:
    """Return what is answered to wrong logins that say they come from here and there."""
    told = []
    for number in range(count):
        headers = {"x-forwarded-for": address.format(number)}
        answer = await open_board.nobody.get("/login?code=csb_wrong", headers=headers)
        told.append(answer.status_code)
    return told


@pytest.mark.parametrize("comes_by", ["token", "session"])
async def test_a_stream_ends_for_whoever_is_revoked(comes_by: str, open_board: OpenBoard) -> None:
    sent: list[Message] = []

    async def events(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await open_board.admin.delete("/api/v1/people/Rita")
        await send({"type": "http.response.body", "body": b"second", "more_body": True})

    async def collect(message: Message) -> None:
        sent.append(message)

    async def leave() -> Message:
        return {"type": "http.disconnect"}

    _, cookie = await session_of(open_board, "reviewer")
    bearer = f"Bearer {open_board.people['reviewer'].token}"
    headers = {"authorization": bearer} if comes_by == "token" else {"cookie": cookie}
    headers["host"] = urlsplit(open_board.origin).netloc
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"",
             "headers": [(n.encode(), v.encode()) for n, v in headers.items()]}  # fmt: skip
    tries = Tries(open_board.board.clock, most=9)
    guard = Guard(events, open_board.board, tries, look_again=0.0)

    await guard(scope, leave, collect)

    assert [message.get("body") for message in sent] == [None, b"first"]


async def test_it_is_not_told_why_a_code_lets_nobody_in(open_board: OpenBoard) -> None:
    person = await open_board.person("viewer")
    used = open_board.people["viewer"].login
    await open_board.press(open_board.nobody, used)
    late = await new_login(open_board.board, person, lasts=-1)

    said = {
        (answer.status_code, answer.text)
        for address in (used, late, f"{open_board.origin}/login?code=csb_never")
        for answer in [await open_board.nobody.get(address)]
    }

    assert len(said) == 1


NO_TOKEN = ("Bearer", "Basic YTpi", "Bearer csb_ x", "bearer\tcsb_x", "Bearer " + "x" * 5000,
            "Bearer csb_' OR '1'='1", "Bearer NULL")  # fmt: skip
NO_COOKIE = ("", "=", ";;;", "a=b; a=c", "callsheet-PORT=", "callsheet-PORT=\"", "x" * 9000,
             "callsheet-PORT=' OR 1=1 --", "callsheet-PORT=csb_" + "x" * 5000)  # fmt: skip


async def test_what_is_no_token_and_no_cookie_lets_nobody_in(open_board: OpenBoard) -> None:
    for authorization in NO_TOKEN:
        headers = {"authorization": authorization}
        answer = await open_board.nobody.get("/api/v1/me", headers=headers)
        assert answer.status_code == 401, authorization
        assert answer.headers["www-authenticate"].startswith("Bearer")
    port = str(urlsplit(open_board.origin).port)
    for cookie in NO_COOKIE:
        headers = {"cookie": cookie.replace("PORT", port)}
        assert (await open_board.nobody.get("/", headers=headers)).status_code == 401, cookie
    # A token in an address is none.
    token = open_board.people["admin"].token
    for path in ("/people?token=", "/api/v1/people?access_token=", "/login?code="):
        assert (await open_board.nobody.get(f"{path}{token}")).status_code == 401, path


@pytest.mark.safeguard(
    "deployments/tokens.py",
    'return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()',
    "return token[:64]",
)
async def test_the_ledger_has_digests_of_secrets(open_board: OpenBoard, tmp_path: Path) -> None:
    _, cookie = await session_of(open_board, "viewer")
    made = open_board.people["viewer"]
    secrets = [made.token, made.login.partition("code=")[2], cookie.partition("=")[2]]

    await open_board.ledger.aclose()
    kept = b"".join(file.read_bytes() for file in (tmp_path / ".callsheet").glob("ledger.db*"))

    for secret in secrets:
        assert secret.startswith("csb_")
        assert secret.encode() not in kept
        assert hashlib.sha256(secret.encode()).hexdigest().encode() in kept


HOSTILE = (SCRIPT, '"><img src=x onerror=alert(1)>', "{{ 7777*7777 }}", "'; DROP TABLE people; --",
           "</title>" + SCRIPT, "javascript:alert(1)", "${7777*7777}")  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_name_is_never_markup(name: str, open_board: OpenBoard) -> None:
    made = await open_board.admin.post("/api/v1/people", json={"name": name, "role": "viewer"})
    assert made.status_code == 201
    admin = await open_board.form("admin")

    for path in ("/people", "/activity", f"/login?code={made.json()['login'].partition('=')[2]}"):
        shown = (await admin.get(path, headers={"sec-fetch-site": "cross-site"})).text
        assert SCRIPT not in shown
        assert "<img src=x" not in shown
        assert str(7777 * 7777) not in shown
    assert name in await names(open_board)


@pytest.mark.parametrize(
    "path", [f"/{SCRIPT}", f"/login?next={SCRIPT}", f"/activity?campaign={SCRIPT}",
             f"/activity?before={SCRIPT}", f"/api/v1/{SCRIPT}", f"/login?code={SCRIPT}"],
)  # fmt: skip
async def test_what_is_asked_for_is_never_markup(path: str, open_board: OpenBoard) -> None:
    browser = await open_board.form("viewer")
    assert "<script>alert" not in (await browser.get(path)).text


async def test_every_answer_has_its_headers(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")
    answers = [
        *[await browser.get(path) for path in ("/", "/people", "/nothing", "/static/board.css")],
        await browser.post("/people/revoke"),
        await open_board.admin.get("/api/v1/me"),
        await open_board.nobody.get("/api/v1/me"),
        await open_board.nobody.get("/", headers={"host": "evil.example"}),
        await open_board.nobody.post("/login"),
        await open_board.nobody.request("TRACE", "/"),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers
        assert not any(name.startswith("access-control") for name in answer.headers)
    private = [answer for answer in answers if "static" not in answer.url.path]
    assert all(answer.headers["cache-control"] == "no-store" for answer in private)


@pytest.mark.merge
async def test_a_look_changes_nothing_and_a_method_is_what_it_is(open_board: OpenBoard) -> None:
    browser = await open_board.form("admin")
    for path in ("/people/invite", "/people/revoke", "/logout", "/people/links"):
        for method in ("GET", "HEAD"):
            assert (await browser.request(method, path)).status_code == 405
    assert (await browser.get("/")).url.path == "/"
    for header in ("x-http-method-override", "x-method-override"):
        asked = await open_board.admin.get("/api/v1/people/Vera", headers={header: "DELETE"})
        assert asked.status_code == 405
    assert (await open_board.viewer.get("/api/v1/me")).status_code == 200
    # Another site gets no leave to read.
    evil = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    answer = await open_board.nobody.options("/api/v1/people", headers=evil)
    assert answer.status_code == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2f..%2fapp.py",
             "/static//etc/passwd", "/static/%00", "/static/..\\app.py", "/%00", "/login?next=%00"],
)  # fmt: skip
async def test_no_path_leads_out_of_the_static_files(path: str, open_board: OpenBoard) -> None:
    status, _, body = await raw(open_board, f"GET {path} HTTP/1.1\r\nHost: HOST\r\n\r\n")
    assert status == (400 if "%00" in path else 404)
    assert b"make_app" not in body
    assert b"root:" not in body


async def test_a_body_too_large_is_not_read_to_its_end(open_board: OpenBoard) -> None:
    token = open_board.people["admin"].token
    head = f"POST /api/v1/people HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer {token}\r\n"
    kind = "Content-Type: application/json\r\n"
    said, _, _ = await raw(open_board, f"{head}{kind}Content-Length: 99999999\r\n\r\n")
    piece = "x" * 65536
    chunks = f"{len(piece):x}\r\n{piece}\r\n" * 40
    came, _, body = await raw(open_board, f"{head}{kind}Transfer-Encoding: chunked\r\n\r\n{chunks}")

    assert (said, came) == (413, 413)
    assert b"more than 1 MiB" in body


async def test_two_lengths_and_a_head_without_end_are_refused(open_board: OpenBoard) -> None:
    both = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x"
    own = f"Origin: {open_board.origin}\r\n"
    status, _, _ = await raw(open_board, f"POST /login HTTP/1.1\r\nHost: HOST\r\n{own}{both}")
    two = "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd"
    other, _, _ = await raw(open_board, f"POST /login HTTP/1.1\r\nHost: HOST\r\n{two}")
    endless = "GET / HTTP/1.1\r\nHost: HOST\r\nX: " + "x" * 900_000 + "\r\n\r\n"
    # The chunks count: there are none, so the form is empty.
    assert (status, other) == (422, 400)
    assert (await raw(open_board, endless))[0] in (0, 400, 431)


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '{"name": "\\ud800", "role": "viewer"}', "[" * 100_000,
             '{"name": ["csb_secret"], "role": "csb_secret"}', '{"name": "a", "role": "x"}',
             '{"name": "\\u0000", "role": "viewer"}',
             '{"name": "Ben", "role": "viewer", "allowance": 1e999}',
             '{"name": "Ben", "role": "viewer", "allowance": NaN}'],
)  # fmt: skip
async def test_what_is_no_request_is_refused_in_our_shape(text: str, open_board: OpenBoard) -> None:
    answer = await open_board.admin.post(
        "/api/v1/people", content=text, headers={"content-type": "application/json"}
    )

    # Thousands of brackets cannot be read at all.
    assert answer.status_code == (400 if text.startswith("[[") else 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json().keys() >= {"title", "status", "detail", "remedy", "problems"}
    # It does not repeat what was sent.
    assert "csb_secret" not in answer.text
    assert len(answer.text) < 2000


@pytest.fixture
async def behind_proxy(tmp_path: Path) -> AsyncIterator[OpenBoard]:
    (tmp_path / "proxied").mkdir()
    async with board_at(tmp_path / "proxied", behind_proxy=True) as opened:
        yield opened


FORWARDED = {"x-forwarded-proto": "https", "x-forwarded-host": "board.example"}


async def test_a_proxy_is_believed_if_it_is_set(
    open_board: OpenBoard, behind_proxy: OpenBoard
) -> None:
    named = {**FORWARDED, "origin": "https://board.example"}
    said = []
    for board, headers in ((open_board, FORWARDED), (behind_proxy, named)):
        entered = await board.press(board.nobody, board.people["viewer"].login, **headers)
        said.append(entered.headers["set-cookie"])

    assert "secure" not in said[0].lower()
    assert said[1].startswith("__Host-callsheet=")
    assert "; secure" in said[1].lower()


async def test_behind_a_proxy_our_addresses_are_the_proxys(behind_proxy: OpenBoard) -> None:
    token = {"token": behind_proxy.people["viewer"].token}
    answers = [
        await behind_proxy.nobody.post(
            "/login", data=token, headers={**FORWARDED, "origin": origin}
        )
        for origin in ("https://board.example", behind_proxy.origin, "http://board.example")
    ]
    assert [answer.status_code for answer in answers] == [303, 403, 403]
    made = await behind_proxy.admin.post("/api/v1/people", json=EVE, headers=FORWARDED)
    assert made.json()["login"].startswith("https://board.example/login?code=csb_")


async def test_of_a_forwarded_list_the_last_is_believed(behind_proxy: OpenBoard) -> None:
    """What stands before it anybody may have written."""
    assert (await tried(behind_proxy, "10.0.0.{}, 9.9.9.9"))[-1] == 429
    assert await tried(behind_proxy, "9.9.9.9, 8.8.8.8", 1) == [401]


async def raw(open_board: OpenBoard, text: str) -> tuple[int, bytes, bytes]:
    """Send some bytes and return the status, head and body that come back; 0 for none."""
    site = urlsplit(open_board.origin)
    reader, writer = await asyncio.open_connection(site.hostname, site.port)
    try:
        writer.write(text.replace("HOST", site.netloc).encode())
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.read(65536)
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0, b"", b""
    finally:
        writer.close()
    return int(head.split()[1]), head, body


DIGITS = "9" * 30
MANY_DIGITS = "9" * 5000


ENDLESS = (
    f"/activity?before={DIGITS}", f"/api/v1/activity?before={DIGITS}", "/login?next=//[",
    f"/c/spring/live?rows={MANY_DIGITS}", "/c/spring/live?rows=²,³", f"/c/spring?after={DIGITS}",
    f"/c/spring?takes={DIGITS}", f"/plans/p1?go=:{DIGITS}", f"/c/spring/videos?until={DIGITS}",
    f"/api/v1/campaigns/spring/rows?after={DIGITS}", f"/videos/spring/a/{DIGITS}.mp4",
    f"/api/v1/campaigns/spring/rows?limit={DIGITS}",
    f"/api/v1/campaigns/spring/rows?since={MANY_DIGITS}",
)  # fmt: skip


@pytest.mark.merge
async def test_a_number_without_end_is_no_fault(open_board: OpenBoard) -> None:
    await Stage.set(open_board.ledger, brief("a"))
    browser = await open_board.form("admin")
    for path in ENDLESS:
        for client in (browser, open_board.admin):
            async with client.stream("GET", path) as answer:
                assert answer.status_code < 500, await answer.aread()
    for seen in ("inf.inf", "nan.nan", "1e400.1", "9.", "x"):
        browser.cookies.set("seen", seen)
        assert (await browser.get("/c/spring/videos")).status_code == 200


@pytest.mark.parametrize(
    ("path", "sent"),
    [("/people/links/revoke", {"link": DIGITS}),
     ("/people/links", {"campaign": "spring", "name": "E", "days": MANY_DIGITS[:400]}),
     ("/c/spring/videos/a/review", {"take": DIGITS, "verdict": "keep"}),
     ("/c/spring/videos/verdicts", {"verdict": "keep", "row": "a", "until": "nan"})],
)  # fmt: skip
async def test_an_endless_number_is_refused(
    path: str, sent: dict[str, str], open_board: OpenBoard
) -> None:
    await Stage.set(open_board.ledger, brief("a"))
    browser = await open_board.form("admin")
    assert (await browser.post(path, data=sent)).status_code == 422


@pytest.mark.merge
async def test_a_name_that_no_machine_has_is_no_fault(tmp_path: Path) -> None:
    hosts = ("a" * 3000 + ".example", "b." * 1500, "ü" * 300, "xn--" + "z" * 80, "[::1", "a..b")
    for private in ("no", "yes"):
        async with board_at(tmp_path, environ={"CALLSHEET_PRIVATE_SHEETS": private}) as opened:
            for host in hosts:
                sent = {"url": f"https://{host}/sheet.csv"}
                answer = await opened.reviewer.post("/api/v1/sheets", json=sent)
                assert answer.status_code == 422, (private, host[:20], answer.text)


async def test_an_address_with_a_slash_too_many_leads_nowhere_else(behind_proxy: OpenBoard) -> None:
    evil = {**FORWARDED, "x-forwarded-host": "evil.example"}
    for path in ("/people/", "/activity/", "/login/", "/static", "/api/v1/me/"):
        answer = await behind_proxy.admin.get(path, headers=evil)
        assert answer.status_code == 404
        assert "location" not in answer.headers
        assert "evil" not in answer.text


@pytest.mark.parametrize(
    "other", ["a b=c", 'x="', "bad[name]=1", "callsheet-PORT=mine", "ü=ö", "=;=", "{}={}", "a@b=,"]
)
async def test_a_cookie_of_another_program_is_no_harm(other: str, open_board: OpenBoard) -> None:
    _, cookie = await session_of(open_board, "viewer")
    other = other.replace("PORT", str(urlsplit(open_board.origin).port))
    for header in (f"{other}; {cookie}", f"{cookie}; {other}"):
        sent = httpx.Headers([(b"cookie", header.encode())])
        answer = await open_board.nobody.get("/", headers=sent)
        assert answer.status_code == 200, header


STREAMS = ("/api/v1/campaigns/spring/events?after=now", "/c/spring/live")


@pytest.mark.safeguard("deployments/board/limits.py", "if mine >= EACH or", "if")
@pytest.mark.merge
@pytest.mark.parametrize("path", STREAMS)
async def test_one_person_cannot_take_all_streams(path: str, open_board: OpenBoard) -> None:
    await Stage.set(open_board.ledger, brief("a"))
    async with AsyncExitStack() as many:
        for _ in range(EACH):
            stream = open_board.viewer.stream("GET", path)
            assert (await many.enter_async_context(stream)).status_code == 200
        for other in STREAMS:
            async with open_board.viewer.stream("GET", other) as answer:
                assert answer.status_code == 429
                assert answer.headers["retry-after"] == "60"
        stream = open_board.reviewer.stream("GET", path)
        assert (await many.enter_async_context(stream)).status_code == 200
        assert (await open_board.viewer.get("/api/v1/me")).status_code == 200

    # What was closed is free again once the board has seen the end of it.
    async with asyncio.timeout(30):
        status = 429
        while status == 429:
            async with open_board.viewer.stream("GET", path) as again:
                status = again.status_code
    assert status == 200


def test_admins_have_streams_left_when_all_others_are_taken() -> None:
    streams = Streams()
    viewers = [Person(id=n, name=f"v{n}", role="viewer") for n in range(MOST // EACH)]
    for viewer in viewers:
        for _ in range(EACH):
            streams.begin(viewer)

    with pytest.raises(ProblemDetails, match="the board is busy"):
        streams.begin(Person(id=99, name="late", role="approver"))
    streams.begin(Person(id=100, name="Ada", role="admin"))
    streams.end(viewers[0])
    streams.end(viewers[0])
    streams.begin(Person(id=99, name="late", role="approver"))
    assert MOST + RESERVE <= MOST_CONNECTIONS // 2


async def test_a_session_ends_with_its_time(open_board: OpenBoard, tmp_path: Path) -> None:
    browser, _ = await session_of(open_board, "viewer")
    assert (await browser.get("/")).status_code == 200

    with sqlite3.connect(tmp_path / ".callsheet" / "ledger.db") as ledger:
        ledger.execute("UPDATE sessions SET expires_at = 1")

    assert (await browser.get("/")).status_code == 401
