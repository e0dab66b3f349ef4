"""Who asks for something, and where: what every command is given, by whatever door it came in.

Owns how a command finds the campaign that it is about. Knows no door: the command line, the board
and agents each make their own `At`.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns, find_campaign
from callsheet.tasks.ledger.ledger import Ledger, Query
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.runtime.errors import NoSuch, did_you_mean
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.suggest import suggest

if TYPE_CHECKING:
    from callsheet.tasks.service import VideoService

T = TypeVar("T")
P = ParamSpec("P")

#: Campaigns that an error names at most.
NAMED = 20


@dataclass(frozen=True, kw_only=True)
class At:
    """A ledger with its settings, the person who acts, and the world as arguments."""

    settings: Settings
    ledger: Ledger
    #: Who acts; on a board that serves, each request has its own.
    person: Person | None = None
    #: Where a browser reaches the board, without a slash at the end: `http://127.0.0.1:8788`.
    origin: str = ""
    #: Whether the service is a sandbox.
    sandbox: bool = False
    clock: Callable[[], float] = time.time
    #: Makes what no one can guess: ids, tokens, nonces.
    token: Callable[[], str] = lambda: secrets.token_urlsafe(24)

    @property
    def who(self) -> Person:
        """The person who acts, of whom there has to be one."""
        assert self.person is not None, "a command is somebody's"
        return self.person

    @property
    def by(self) -> str:
        """The name of the person who acts."""
        return self.who.name

    @property
    def folder(self) -> Path:
        """Where the board keeps what is no business of the ledger's: sheets, logs of runs."""
        return self.settings.home / "board"

    @property
    def is_here_only(self) -> bool:
        """Whether the board's addresses open in a browser of this machine, and in no other."""
        return is_loopback(urlsplit(self.origin).hostname or "")

    async def read(self, query: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Ask the ledger."""
        return await self.ledger.read(query, *args, **named)

    async def write(self, change: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Change the ledger, and return once that is committed."""
        return await self.ledger.write(change, *args, **named)

    @asynccontextmanager
    async def service(self) -> AsyncIterator[VideoService]:
        """Open the video service; raise ConfigurationError where its settings are missing."""
        # Most commands ask the ledger alone, and need not pay for the import.
        from callsheet.tasks.engine.context import open_service

        async with await open_service(self.settings, self.ledger, self.clock) as service:
            yield service

    async def finish(self, work: Coroutine[Any, Any, object]) -> None:
        """Do what a command leaves to be waited for; a board answers before."""
        await work

    async def campaign(self, name: str | None) -> Campaign:
        """Return the campaign of this name, or the newest for None; raise NoSuch for none."""
        if name is not None:
            found = await self.read(find_campaign, name=name)
            if found is not None:
                return found
        # A guest learns of no campaign but their own.
        if self.person is not None and self.person.guest is not None:
            raise NoSuch(f'there is no campaign "{(name or "")[:80]}" in the ledger')
        known = await self.read(all_campaigns)
        if name is None and known:
            return known[0]
        if not known:
            raise NoSuch(
                "the ledger has no campaigns yet", remedy="`callsheet run SHEET` makes one"
            )
        names = [campaign.name for campaign in known]
        hint = did_you_mean(campaign_in(name or ""), names)
        raise NoSuch(
            f'there is no campaign "{(name or "")[:80]}" in the ledger{hint}',
            remedy="`callsheet status` shows them: " + ", ".join(names[:NAMED]),
        )


def no_row(campaign: Campaign, row: str) -> NoSuch:
    """Return the error that says that a campaign has no such row."""
    return NoSuch(
        f'campaign {campaign.name} has no row "{row[:80]}"',
        remedy=f"`{suggest('rows', campaign.name)}` lists them",
    )


def campaign_in(word: str) -> str:
    """Return the campaign that a word means; a sheet is mostly run under its own name."""
    from callsheet.tasks.sheet.formats import SUFFIXES

    return Path(word).stem if Path(word).suffix.lower() in SUFFIXES else word


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is of this machine alone."""
    if host.lower() == "localhost":
        return True
    return is_number(host) and ipaddress.ip_address(host.strip("[]")).is_loopback


def is_number(name: str) -> bool:
    """Whether a host is an address as numbers, which is no one's name."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
