"""A board that is open, over real HTTP, with people of every role; and a browser for its pages.

    async def test_a_viewer_sees_campaigns(open_board: OpenBoard) -> None:
        assert (await open_board.viewer.get("/api/v1/campaigns")).status_code == 200

    async def test_the_page(open_board: OpenBoard, chromium: Browser) -> None:
        context = await open_board.logged_in(chromium, "reviewer")
        page = await context.new_page()
        await page.goto("/")

The clients send a bearer token and ask for JSON; `open_board.form("reviewer")` is a browser without
scripts instead: it has a session's cookie, asks for pages and sends our Origin.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, BinaryIO

import httpx
import pytest
from playwright.async_api import Browser, BrowserContext

from callsheet.deployments.board.app import serving
from callsheet.deployments.board.board import Board
from callsheet.deployments.commands.people import Invitation, invite_person
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.people import InvitedRole, Person, find_person
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings
from tests.databases import lay_ledger
from tests.launcher import Process, launcher

ROLES: tuple[InvitedRole, ...] = ("viewer", "reviewer", "approver", "admin")
#: What the approver may approve in a day, in credits.
ALLOWANCE = Decimal(100)


@dataclass
class OpenBoard:
    """A board at work in this process, its people, and a client for each."""

    board: Board
    people: dict[str, Invitation] = field(default_factory=dict)
    clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)
    closing: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def origin(self) -> str:
        """Where it is."""
        return self.board.origin

    @property
    def ledger(self) -> Ledger:
        """Its ledger, for a test to put something in."""
        return self.board.ledger

    @property
    def nobody(self) -> httpx.AsyncClient:
        """Somebody without a token."""
        return self.clients["nobody"]

    @property
    def viewer(self) -> httpx.AsyncClient:
        """Vera, who may look."""
        return self.clients["viewer"]

    @property
    def reviewer(self) -> httpx.AsyncClient:
        """Rita, who may keep and reject."""
        return self.clients["reviewer"]

    @property
    def approver(self) -> httpx.AsyncClient:
        """Ann, who may approve up to ALLOWANCE a day."""
        return self.clients["approver"]

    @property
    def admin(self) -> httpx.AsyncClient:
        """Ada, who may do everything."""
        return self.clients["admin"]

    async def person(self, role: str) -> Person:
        """Return the person of a role, as the ledger has them."""
        return await self.ledger.read(find_person, name=NAMES[role])

    async def client(self, **how: Any) -> httpx.AsyncClient:
        """Return another client of the board, without a token of its own."""
        # There is no TLS here, and to load all authorities of the world takes 20 ms a client.
        how = {"base_url": self.origin, "timeout": 120, "verify": False, "trust_env": False, **how}
        return await self.closing.enter_async_context(httpx.AsyncClient(**how))

    async def form(self, role: str) -> httpx.AsyncClient:
        """Return a browser without scripts that is logged in."""
        headers = {"accept": "text/html", "origin": self.origin}
        browser = await self.client(headers=headers, follow_redirects=True)
        token = self.people[role].token
        answer = await browser.post("/login", data={"token": token})
        assert answer.is_success, answer.text
        return browser

    async def press(
        self, browser: httpx.AsyncClient, address: str, **headers: str
    ) -> httpx.Response:
        """Press the button that a one-time address or a link shows; a guest says who they are."""
        sent = {"origin": self.origin, "accept": "text/html", **headers}
        code = {"token": address.partition("code=")[2], "called": "Mia"}
        return await browser.post("/login", data=code, headers=sent)

    async def link(self, *rights: str, **wanted: Any) -> dict[str, Any]:
        """Make a link to campaign spring for Mara."""
        asked = {"campaign": "spring", "name": "Mara", **wanted}
        made = await self.admin.post(
            "/api/v1/links", json=asked | {"rights": rights} if rights else asked
        )
        assert made.status_code == 201, made.text
        return dict(made.json())

    async def guest(self, address: str) -> httpx.AsyncClient:
        """Return the browser of a guest who came in by a link."""
        browser = await self.client(headers={"origin": self.origin, "accept": "text/html"})
        entered = await self.press(browser, address)
        assert entered.headers["location"] == "/c/spring/videos"
        return browser

    async def logged_in(self, browser: Browser, role: str, **how: Any) -> BrowserContext:
        """Return a context of a browser in which a person of this role is logged in."""
        form = await self.form(role)
        context = await browser.new_context(base_url=self.origin, **how)
        self.closing.push_async_callback(context.close)
        for cookie in form.cookies.jar:
            await context.add_cookies(
                [{"name": cookie.name, "value": cookie.value or "", "url": self.origin,
                  "sameSite": "Strict", "httpOnly": True}]
            )  # fmt: skip
        return context


NAMES = {"viewer": "Vera", "reviewer": "Rita", "approver": "Ann", "admin": "Ada"}


def by_test(board: Board) -> Board:
    """Return a board in the name of the test."""
    return replace(board, person=Person(id=0, name="the test", role="admin"))


@asynccontextmanager
async def board_at(
    folder: Path, *, environ: Mapping[str, str] | None = None, **how: Any
) -> AsyncIterator[OpenBoard]:
    """Open a board on the ledger of a folder, and let in one person of every role.

    `environ` are its settings (the service of a sandbox), `how` other fields of its Board.
    """
    settings = settings_at(folder, environ)
    async with await open_ledger(settings.ledger) as ledger, AsyncExitStack() as closing:

        def make(origin: str) -> Board:
            return replace(Board(settings=settings, ledger=ledger, origin=origin), **how)

        board = await closing.enter_async_context(serving(make, host="127.0.0.1", port=0))
        opened = OpenBoard(board)
        await closing.enter_async_context(opened.closing)
        opened.clients["nobody"] = await opened.client()
        for role in ROLES:
            allowance = ALLOWANCE if role == "approver" else None
            made = await invite_person(by_test(board), NAMES[role], role, allowance, again=True)
            opened.people[role] = made
            bearer = {"authorization": f"Bearer {made.token}"}
            opened.clients[role] = await opened.client(headers=bearer)
        yield opened


def forked_run(run_id: str, written: IO[bytes]) -> Any:
    """Start the process of a run as a fork: a board's `begin`, where it is not what is tested."""
    file = written.fileno()
    started = launcher("board-run").start(
        [run_id], cwd=Path.cwd(), stdin=subprocess.PIPE, stdout=file, stderr=file, new_session=True
    )
    # It is told its settings in bytes.
    return _OfBytes(started, started.stdin.detach())


@dataclass
class _OfBytes:
    """A process with bytes for its standard input, as the board has it of Python's own."""

    process: Process
    stdin: BinaryIO

    @property
    def returncode(self) -> int | None:
        return self.process.returncode

    def poll(self) -> int | None:
        return self.process.poll()

    def wait(self, timeout: float | None = None) -> int:
        return self.process.wait(timeout)

    def terminate(self) -> None:
        self.process.terminate()


def settings_at(folder: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of a folder: its ledger and its store are in it."""
    (folder / ".callsheet").mkdir(exist_ok=True)
    ours = {"CALLSHEET_STORE": f"{folder / 'deliveries'}/", "HOME": str(folder)}
    return load_settings(environ={**ours, **(environ or {})}, folder=folder)


@pytest.fixture
async def open_board(tmp_path: Path, made_ledger: Path) -> AsyncIterator[OpenBoard]:
    """A board with an empty ledger."""
    lay_ledger(tmp_path, made_ledger)
    async with board_at(tmp_path) as opened:
        yield opened
