"""One sandbox: its state and everything that works on it."""

from __future__ import annotations

import sqlite3
from collections import Counter

from callsheet.deployments.sandbox.accounting import Limit
from callsheet.deployments.sandbox.auth.keys import Keyring
from callsheet.deployments.sandbox.auth.login import Lifetimes
from callsheet.deployments.sandbox.database import Database, drop
from callsheet.deployments.sandbox.faults.planned import Faults
from callsheet.deployments.sandbox.files import Links
from callsheet.deployments.sandbox.options import OptionRefused, Options
from callsheet.deployments.sandbox.rendering import RenderPool
from callsheet.deployments.sandbox.video import KnownKey
from callsheet.deployments.sandbox.webhooks.dispatcher import Dispatcher


class Container:
    """One sandbox: its state, its keys and its render pool."""

    def __init__(self, options: Options) -> None:
        videos = options.state / "videos"
        try:
            videos.mkdir(parents=True, exist_ok=True)
            given = options.key_file.read_text("utf-8").strip() if options.key_file else None
            self.keyring = Keyring(options.state / "keys.json", given=given)
            self.database = Database(options.state / "state.sqlite3", credits=options.credits)
        except (OSError, KeyError, ValueError, sqlite3.Error) as error:
            raise OptionRefused(_trouble(options, error)) from error
        self.options = options
        self.videos = videos
        self.links = Links(self.keyring.signing, options.time_scale)
        self.lifetimes = Lifetimes(options.time_scale)
        rate, spend, form = options.rate, options.spend_limit, options.retry_after
        self.rate = Limit(rate, options.rate_window, "rate_limited", "calls", form)
        self.spending = Limit(spend, options.spend_window, "spend_limited", "credits", form)
        self.calls: Counter[str] = Counter()
        #: Videos up to this one are not listed.
        self.unlisted = 0
        self.faults = Faults(options.state / "faults.jsonl")
        self.webhooks = Dispatcher(self.database, options, self.faults)
        self.render_pool = RenderPool(self.database, options, self.faults, self.webhooks)
        self.origin = ""

    async def open(self) -> None:
        """Learn the keys and go on with what was under way when the sandbox stopped."""
        await self.keyring.open(self.database)
        self.webhooks.start()
        await self.render_pool.reopen()

    async def close(self) -> None:
        """Stop the renders and the deliveries, then close the state."""
        await self.render_pool.close()
        await self.webhooks.close()
        self.database.close()

    async def forget_key(self, key: str | None) -> None:
        """Forget that this idempotency key ever came."""
        if key is not None:
            await self.database.run(lambda db: drop(db, KnownKey, id=key))


def _trouble(options: Options, error: Exception) -> str:
    if "locked" in str(error):
        return f"Another sandbox is using {options.state}: stop it, or choose another --state."
    return f"The state directory {options.state} cannot be used: {error}"
