"""Owns what the routes share: the parts of one running sandbox, put together in one place."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency

from callsheet.deployments.sandbox.auth.keys import Keyring
from callsheet.deployments.sandbox.auth.oauth import Lifetimes
from callsheet.deployments.sandbox.database import Database
from callsheet.deployments.sandbox.faults.planned import Faults
from callsheet.deployments.sandbox.limits import Limits, Timing
from callsheet.deployments.sandbox.links import Links
from callsheet.deployments.sandbox.options import OptionRefused, Options
from callsheet.deployments.sandbox.render_pool import RenderPool
from callsheet.deployments.sandbox.webhooks.attempts import DeliveryAttempts
from callsheet.deployments.sandbox.webhooks.dispatcher import Dispatcher
from callsheet.deployments.sandbox.webhooks.sender import WebhookSender


class Container:
    """One sandbox: its state, its keys and its render pool."""

    def __init__(self, options: Options, *, now: Callable[[], float] = time.time) -> None:
        instant = options.render == "instant"
        videos = options.state / "videos"
        try:
            videos.mkdir(parents=True, exist_ok=True)
            given = options.key_file.read_text().strip() if options.key_file else None
            self.keyring = Keyring(options.state / "keys.json", given=given, now=now)
            self.database = Database(options.state / "state.sqlite3", credits=options.credits)
        except (OSError, KeyError, ValueError, sqlite3.Error) as error:
            raise OptionRefused(_trouble(options, error)) from error
        self.options = options
        self.videos = videos
        self.now = now
        self.links = Links(self.keyring.signing, options.time_scale)
        self.lifetimes = Lifetimes(options.time_scale)
        self.timing = Timing(options.time_scale, instant=instant)
        self.limits = Limits(options)
        self.render_pool = RenderPool(
            self.database,
            videos,
            instant=instant,
            now=now,
            strike=lambda video: self.faults.strike("render", video=video),
            ready=lambda: self.webhooks.wake(),
        )
        self.calls: Counter[str] = Counter()
        self.names: dict[object, str] = {}
        self.faults = Faults(options.state / "faults.jsonl")
        attempts = DeliveryAttempts(
            self.database,
            WebhookSender(options),
            strike=lambda video: self.faults.strike("webhook", video=video),
            time_scale=options.time_scale,
            now=now,
        )
        self.webhooks = Dispatcher(self.database, attempts, now=now)
        self.origin = ""

    async def close(self) -> None:
        """Stop the renders and the deliveries, then close the state."""
        await self.render_pool.close()
        await self.webhooks.close()
        await self.keyring.keep_uses(self.database)
        self.database.close()

    def operation(self, name: str, scope: str | None) -> Dependency:
        """Count a call of this operation and let it pass only with a key that holds the scope.

        Without a scope any good key will do. The key is in `request.state.key` from then on.
        """

        async def admit(request: Request) -> None:
            self.calls[name] += 1
            request.state.key = self.keyring.admit(request.headers.get("authorization"), scope)

        return self._named(name, admit)

    def counted(self, name: str) -> Dependency:
        """Count a call of this operation, which asks for no key."""

        async def count() -> None:
            self.calls[name] += 1

        return self._named(name, count)

    def _named(self, name: str, dependency: Callable[..., Awaitable[None]]) -> Dependency:
        # By this the fault layer knows what a route is called, before any of it has run.
        self.names[dependency] = name
        wanted: Dependency = Depends(dependency)
        return wanted


def _trouble(options: Options, error: Exception) -> str:
    if "locked" in str(error):
        return f"Another sandbox is using {options.state}: stop it, or choose another --state."
    return f"The state directory {options.state} cannot be used: {error}"
