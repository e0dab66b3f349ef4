"""Whether what the board stands on is well: each part with the moment at which that was checked.

A look never waits for a check: it shows the last one and starts the next one in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.services.runs import see_left
from callsheet.deployments.campaign_status import resume_command, say_left
from callsheet.deployments.findings import (
    PlaceFinding,
    all_of,
    each_of,
    room,
    service,
    store,
)
from callsheet.tasks.ledger.webhook_events import last_heard
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.values.amounts import count

Wellness = Literal["ok", "trouble", "off", "unknown"]
#: A check older than this is made again when someone looks, in seconds.
FRESH = 30.0
#: A part that does not answer within this is in trouble.
LONGEST = 10.0
#: How long a look waits for checks that are on their way: most take no longer.
PATIENCE = 0.5
#: Campaigns with rows that were left under way that are named at most.
LISTED = 5


@dataclass(frozen=True, kw_only=True)
class HealthPart:
    """One part: `words` for people, `checked_at` in Unix seconds, None before the first check.

    `resume` names the campaigns whose rows under way a person can resume.
    """

    name: str
    state: Wellness
    words: str
    checked_at: float | None = None
    remedy: str | None = None
    resume: tuple[str, ...] = ()


class Health:
    """What was found of every part, and when."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._checks: dict[str, Callable[[], Awaitable[HealthPart]]] = {
            "ledger": self._ledger,
            "disk": self._disk,
            "store": self._store,
            "service": self._service,
            "webhooks": self._webhooks,
            "runs": self._runs,
        }
        self._found = {
            name: HealthPart(name=name, state="unknown", words="not checked yet")
            for name in self._checks
        }
        self._checking: dict[str, asyncio.Task[None]] = {}

    async def parts(self) -> list[HealthPart]:
        """Return what is known of every part; what is old is looked at again."""
        now = self._board.clock()
        for name, part in self._found.items():
            at = part.checked_at
            if name not in self._checking and (at is None or now - at > FRESH):
                self._checking[name] = self._board.beside.start(self._check(name))
        if self._checking:
            await asyncio.wait(self._checking.values(), timeout=PATIENCE)
        return list(self._found.values())

    async def _check(self, name: str) -> None:
        try:
            async with asyncio.timeout(LONGEST):
                found = await self._checks[name]()
        except TimeoutError:
            words = f"no answer within {LONGEST:.0f} s"
            found = HealthPart(name=name, state="trouble", words=words)
        except CallsheetError as error:
            remedy = redact(error.remedy) if error.remedy else None
            found = HealthPart(name=name, state="trouble", words=redact(str(error)), remedy=remedy)
        finally:
            del self._checking[name]
        at = self._board.clock()
        self._found[name] = replace(found, checked_at=at)

    async def _ledger(self) -> HealthPart:
        # A turn at the writer and a commit: a ledger that can only be read is no good.
        await self._board.write(lambda connection: None)
        return HealthPart(name="ledger", state="ok", words=redact(self._board.ledger.address))

    async def _disk(self) -> HealthPart:
        found = await asyncio.to_thread(each_of, "disk", lambda: room(self._board.settings))
        return _part("disk", found)

    async def _store(self) -> HealthPart:
        return _part("store", await all_of("store", store(self._board.settings)))

    async def _service(self) -> HealthPart:
        return _part("service", await all_of("service", service(self._board.settings)))

    async def _webhooks(self) -> HealthPart:
        if not self._board.settings.webhook_url:
            return HealthPart(name="webhooks", state="off", words="not used: rows are polled")
        heard = await self._board.read(last_heard)
        if heard is None:
            return HealthPart(name="webhooks", state="unknown", words="no webhook yet")
        ago = max(0, self._board.clock() - heard)
        words = f"last webhook {count(round(ago / 60), 'minute')} ago"
        return HealthPart(name="webhooks", state="ok", words=words)

    async def _runs(self) -> HealthPart:
        left = await see_left(self._board)
        if not left:
            return HealthPart(name="runs", state="ok", words="no run has left rows under way")
        words = "; ".join(f"{one.campaign.name}: {say_left(one)}" for one in left[:LISTED])
        more = f"; and {count(len(left) - LISTED, 'more campaign')}" if len(left) > LISTED else ""
        return HealthPart(
            name="runs",
            state="trouble",
            words=words + more,
            remedy="; ".join(resume_command(one) for one in left[:LISTED]),
            resume=tuple(one.campaign.name for one in left[:LISTED]),
        )


def _part(name: str, found: Sequence[PlaceFinding]) -> HealthPart:
    """Return what was found of a part: in trouble where something is wrong, with what helps."""
    wrong = [one for one in found if one.verdict == "wrong"]
    told = wrong or found
    return HealthPart(
        name=name,
        state="trouble" if wrong else "ok",
        words=redact("; ".join(one.words for one in told)),
        remedy=redact("; ".join(one.remedy for one in wrong if one.remedy)) or None,
    )
