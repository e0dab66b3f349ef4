"""The pages as a person has them: clicked through in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser import find_browser
from tests.contract.sandbox.agent import ADA, BEN, Agent, verifier_and_challenge

pytestmark = pytest.mark.merge

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WITHIN = 30_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        yield one
        one.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Somebody's own window; whatever a page complains about fails the test."""
    context = browser.new_context()
    context.set_default_timeout(WITHIN)
    one = context.new_page()
    complaints: list[str] = []
    one.on("pageerror", lambda error: complaints.append(str(error)))
    one.on("console", lambda said: complaints.append(said.text))
    yield one
    context.close()
    # A page that refuses says so by its status too, which the browser remarks upon; and where
    # somebody types before a page is all there, it leaves them there.
    remarks = ("responded with a status of 403", "Autofocus processing was blocked")
    assert [one for one in complaints if not any(words in one for words in remarks)] == []


class Callback:
    """The program's own address, where the browser comes back to."""

    def __init__(self) -> None:
        got: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                got.append(self.path)
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(b"<link rel=icon href=data:,><h1>Back at the program</h1>")

            def log_message(self, *_: object) -> None:
                pass

        self.got = got
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self.server.server_port}/callback/abc"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def carried(self) -> dict[str, str]:
        (path,) = self.got
        assert urlsplit(path).path == "/callback/abc"
        return {name: one for name, (one,) in parse_qs(urlsplit(path).query).items()}


@pytest.fixture
def callback() -> Iterator[Callback]:
    one = Callback()
    yield one
    one.server.shutdown()
    one.server.server_close()


def test_a_program_with_a_redirect_is_let_in(agent: Agent, page: Page, callback: Callback) -> None:
    client_id = agent.client(client_name="Callsheet", redirect_uris=[callback.uri])
    verifier, challenge = verifier_and_challenge()
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": callback.uri,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "state": "xyz",
    }
    page.goto(str(httpx.URL(f"{agent.ready['auth_url']}/api/oauth/authorize", params=query)))
    expect(page.get_by_role("heading", name="Allow Callsheet?")).to_be_visible()
    page.get_by_role("checkbox", name="Use generation helpers").uncheck()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Back at the program")).to_be_visible(timeout=WITHIN)
    back = callback.carried()
    assert (back["state"], back["iss"]) == ("xyz", agent.ready["auth_url"])
    token = agent.token(
        grant_type="authorization_code",
        code=back["code"],
        redirect_uri=callback.uri,
        client_id=client_id,
        code_verifier=verifier,
    ).json()
    assert token["scope"] == "read write"


def test_a_code_is_typed_by_keyboard_alone(agent: Agent, page: Page) -> None:
    asked = agent.device(client_name="Callsheet on a Mac")
    page.goto(asked["verification_uri"])
    # The cursor waits in the field.
    expect(page.get_by_label("Code")).to_be_focused()
    page.keyboard.type(asked["user_code"].lower().replace("-", ""))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Allow Callsheet on a Mac?")).to_be_visible()
    expect(page.get_by_text(asked["user_code"])).to_be_visible()
    page.get_by_role("button", name="Approve").press("Enter")
    expect(page.get_by_role("heading", name="is connected")).to_be_visible()
    assert agent.poll(asked["device_code"]).status_code == 200


def test_a_claim_is_for_the_account_it_names_also_on_a_phone(agent: Agent, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    made = agent.claim(ADA)
    page.goto(f"{agent.ready['auth_url']}/device")
    for email in (BEN, ADA):
        page.get_by_label("Code").fill(made["claim"]["user_code"])
        page.get_by_role("button", name="Continue").click()
        page.get_by_label("Your e-mail address").fill(email)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, "the page does not fit a phone"
        page.get_by_role("button", name="Approve").click()
        if email == BEN:
            expect(page.get_by_role("alert")).to_contain_text("for another account")
            expect(page.get_by_label("Code")).to_have_accessible_description(
                "This request is for another account than ben@northlight.example: give the "
                "e-mail address that the program was given."
            )
    expect(page.get_by_role("heading", name="Agent is connected")).to_be_visible()
    assert agent.poll_claim(made["claim_token"]).status_code == 200
