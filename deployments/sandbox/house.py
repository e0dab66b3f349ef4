"""Owns what the routes share: the parts of one running sandbox, put together in one place."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency

from deployments.sandbox.database import Database
from deployments.sandbox.faults.plan import Faults
from deployments.sandbox.keys import Keyring
from deployments.sandbox.options import OptionRefused, Options
from deployments.sandbox.pace import Pace
from deployments.sandbox.signing import Signer
from deployments.sandbox.studio import Studio
from deployments.sandbox.timing import Timing


class House:
    """One sandbox: its state, its keys and its studio."""

    def __init__(self, options: Options, *, now: Callable[[], float] = time.time) -> None:
        instant = options.render == "instant"
        films = options.state / "films"
        try:
            films.mkdir(parents=True, exist_ok=True)
            self.keyring = Keyring(options.state / "keys.json")
            self.database = Database(options.state / "state.sqlite3", credits=options.credits)
        except (OSError, KeyError, ValueError, sqlite3.Error) as error:
            raise OptionRefused(_trouble(options, error)) from error
        self.options = options
        self.films = films
        self.now = now
        self.signer = Signer(self.keyring.signing, options.time_scale)
        self.timing = Timing(options.time_scale, instant=instant)
        self.pace = Pace(options.rate, options.rate_window)
        self.studio = Studio(self.database, films, instant=instant, now=now)
        self.calls: Counter[str] = Counter()
        self.faults = Faults()
        self.origin = ""

    async def close(self) -> None:
        """Stop the renders, then close the state."""
        await self.studio.close()
        self.database.close()

    def operation(self, name: str, scope: str) -> Dependency:
        """Count a call of this operation and let it pass only with a key that holds the scope."""

        async def admit(request: Request) -> None:
            self.calls[name] += 1
            self.keyring.admit(request.headers.get("authorization"), scope)

        dependency: Callable[[Request], Awaitable[None]] = admit
        wanted: Dependency = Depends(dependency)
        return wanted


def _trouble(options: Options, error: Exception) -> str:
    if "locked" in str(error):
        return f"Another sandbox is using {options.state}: stop it, or choose another --state."
    return f"The state directory {options.state} cannot be used: {error}"
