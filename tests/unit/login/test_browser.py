"""The browser flow: what is registered, what comes back, and what is not believed."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from callsheet.tasks.runtime.errors import ConfigurationError, LoginError, Parked
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.service.login import endpoints_of, log_in_by_browser
from tests.unit.login.conftest import GRANTED, KEY

REGISTER, TOKEN = "/api/oauth/register", "/api/oauth/token"
CODE = "canary0authorization0code"


class Browser:
    """Comes back with what the test says, as often as the test says; keeps what it was shown."""

    def __init__(self, *visits, opens=True):
        self.visits = visits or ({"code": CODE, "state": "{state}"},)
        self.opens = opens
        self.asked: dict[str, str] = {}
        self.address = ""
        self.pages: list[httpx.Response] = []
        self.going: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __call__(self, address):
        self.address = address
        self.asked = dict(parse_qsl(urlsplit(address).query))
        self.going = asyncio.ensure_future(self._go())
        return self.opens

    async def _go(self):
        async with httpx.AsyncClient() as client:
            for visit in self.visits:
                self.pages.append(await self._visit(client, visit))

    async def _visit(self, client, visit):
        back = self.asked["redirect_uri"]
        if callable(visit):
            return await visit(client, back)
        query = {name: value.format(**self.asked) for name, value in visit.items()}
        return await client.get(back, params=query)


@pytest.fixture
def log_in(exchange, endpoints, server, heard):
    server.on(REGISTER, (201, {"client_id": "client-1"})).on(TOKEN, GRANTED)

    async def act(browser, at=endpoints, limit=30.0):
        try:
            return await log_in_by_browser(
                exchange,
                at,
                client_name="Callsheet on set",
                scopes=("read", "ai"),
                open_browser=browser,
                say=heard.say,
                limit=limit,
            )
        finally:
            if browser.address:
                await browser.going

    return act


async def test_it_registers_the_very_address_it_listens_on_and_proves_who_asked(
    log_in, server, heard
):
    browser = Browser(opens=False)
    assert (await log_in(browser)).key == KEY
    # The address is told for when no browser opens.
    assert browser.address in heard.said[0]
    (registered,) = server.to(REGISTER)
    (redeemed,) = server.to(TOKEN)
    back = browser.asked["redirect_uri"]
    assert registered.members == {"client_name": "Callsheet on set", "redirect_uris": [back]}
    parts = urlsplit(back)
    assert (parts.hostname, bool(parts.port), len(parts.path) > 20) == ("127.0.0.1", True, True)
    assert browser.address.startswith(f"{server.url}/api/oauth/authorize?response_type=code&")
    assert (browser.asked["client_id"], browser.asked["scope"]) == ("client-1", "read ai")
    verifier = redeemed.members.pop("code_verifier")
    assert len(verifier) == 86
    digest = hashlib.sha256(verifier.encode()).digest()
    assert browser.asked["code_challenge"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
    assert browser.asked["code_challenge_method"] == "S256"
    said = {"grant_type": "authorization_code", "code": CODE, "client_id": "client-1"}
    assert redeemed.members == {**said, "redirect_uri": back}


async def test_the_browser_gets_a_page_that_tells_nobody_of_its_address_nor_the_log_a_secret(
    log_in, server
):
    browser = Browser()
    await log_in(browser)
    (page,) = browser.pages
    assert (page.status_code, "Approved" in page.text) == (200, True)
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert CODE not in page.text
    (redeemed,) = server.to(TOKEN)
    path = urlsplit(browser.asked["redirect_uri"]).path.rpartition("/")[2]
    secrets = [redeemed.members["code_verifier"], browser.asked["state"], CODE, KEY, path]
    shown = redact(" ".join(secrets))
    assert not [secret for secret in secrets if secret in shown]


async def test_only_the_one_path_counts_and_only_once(log_in, server):
    async def favicon(client, back):
        return await client.get(str(httpx.URL(back).join("/favicon.ico")))

    async def other(client, back):
        return await client.get(back + "x", params={"code": "wrong", "state": "wrong"})

    async def post(client, back):
        return await client.post(back)

    good = {"code": CODE, "state": "{state}"}
    browser = Browser(favicon, other, post, good)
    assert (await log_in(browser)).key == KEY
    assert [page.status_code for page in browser.pages] == [404, 404, 405, 200]


async def test_a_connection_without_a_request_keeps_nobody_waiting(log_in):
    async def ready(client, back):
        parts = urlsplit(back)
        held.append(await asyncio.open_connection(parts.hostname, parts.port))

    held: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    assert (await log_in(Browser(ready, {"code": CODE, "state": "{state}"}))).key == KEY
    held[0][1].close()


@pytest.mark.parametrize(
    "visit",
    [
        {"code": CODE},
        {"code": CODE, "state": "another"},
        {"code": CODE, "state": "é"},
        {"state": "another"},
    ],
)
async def test_an_answer_without_our_state_is_not_used(log_in, server, visit):
    browser = Browser(visit)
    with pytest.raises(LoginError, match="not the answer to this login") as caught:
        await log_in(browser)
    assert not server.to(TOKEN)
    assert "Not logged in" in browser.pages[0].text
    assert browser.asked["state"] not in str(caught.value) + browser.pages[0].text


async def test_an_answer_of_another_issuer_is_not_used(log_in, server):
    with pytest.raises(LoginError, match="another auth server"):
        await log_in(Browser({"code": CODE, "state": "{state}", "iss": "https://evil.test"}))
    assert not server.to(TOKEN)


async def test_a_no_is_told_on_the_page_and_here_and_an_error_cannot_write_into_it(log_in):
    browser = Browser({"error": "access_denied", "state": "{state}"})
    with pytest.raises(LoginError, match="declined") as caught:
        await log_in(browser)
    assert caught.value.code == "access_denied"
    assert "declined" in browser.pages[0].text
    browser = Browser({"error": "<script>x</script>", "error_description": "<b>"})
    with pytest.raises(LoginError):
        await log_in(browser)
    assert "<script>" not in browser.pages[0].text
    assert "&lt;script&gt;" in browser.pages[0].text


async def test_it_stops_listening_however_it_ends(log_in):
    async def nothing(client, back):
        return None

    browser = Browser(nothing)
    with pytest.raises(LoginError, match=r"the login was not approved within 0\.2 s"):
        await log_in(browser, limit=0.2)
    parts = urlsplit(browser.asked["redirect_uri"])
    with pytest.raises(OSError, match=r"Connect|refused"):
        await asyncio.open_connection(parts.hostname, parts.port)


async def test_a_code_that_may_have_arrived_is_not_sent_again(log_in, server):
    server.on(TOKEN, "close")
    with pytest.raises(Parked):
        await log_in(Browser())
    server.on(TOKEN, (502, b""))
    with pytest.raises(Parked, match="502"):
        await log_in(Browser())
    assert len(server.to(TOKEN)) == 2


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        (REGISTER, (400, {"error": "invalid_redirect_uri"}), "come back to this machine"),
        (REGISTER, (200, {}), "register this client"),
        (TOKEN, (400, {"error": "invalid_grant"}), "used before"),
        (TOKEN, (200, {}), "turn the approval into a key"),
    ],
)
async def test_a_refusal_on_the_way_says_what_was_refused(log_in, server, path, answer, words):
    server.on(path, answer)
    with pytest.raises(LoginError, match=words):
        await log_in(Browser())


async def test_a_server_without_s256_is_not_logged_in_to(log_in, server):
    plain = endpoints_of(server.url, {"code_challenge_methods_supported": ["plain"]})
    with pytest.raises(ConfigurationError, match="S256"):
        await log_in(Browser(), at=plain)
    assert not server.seen
