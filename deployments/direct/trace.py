"""What a paid call by hand left behind, should its answer be lost.

How things stood is looked at before the call; afterwards, for some seconds, what has changed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

from deployments.direct.session import Session
from tasks.engine.context import organisation_of
from tasks.engine.lanes.baseline import Baseline
from tasks.engine.lanes.evidence import Before, before, made_by, was_changed
from tasks.errors import Forbidden, ServiceError
from tasks.service import Created, Operation, Started

#: How often it is looked for, and how long apart, in seconds.
LOOKS, APART = 5, 1.0


@dataclass(frozen=True, kw_only=True)
class Paid:
    """One paid call: the operation, its body as it is sent, and the video it changes, if any."""

    operation: Operation
    body: bytes = b""
    video_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A call about to be sent, and how things stood before it."""

    at: Session
    call: Paid
    sent_at: float
    earlier: Before | None
    baseline: Baseline | None

    @classmethod
    async def begin(cls, at: Session, call: Paid) -> Trace:
        """Look at how things stand; what cannot be looked at cannot be told apart later."""
        earlier: Before | None = None
        baseline: Baseline | None = None
        # A key that may not read can still be told to write: then a lost answer stays lost.
        with suppress(Forbidden):
            if call.video_id is not None:
                earlier = await before(at.service, call.video_id)
            elif at.ledger is not None:
                known = Baseline(at.ledger, at.service, organisation_of(at.settings))
                await known.refresh(at=time.time())
                baseline = known
        return cls(at=at, call=call, sent_at=time.time(), earlier=earlier, baseline=baseline)

    async def find(self) -> Created | Started | None:
        """Return what the call made or began, once that is certain; None when it is not."""
        print("the answer was lost: looking for what the call has done", file=sys.stderr)
        for _ in range(LOOKS):
            try:
                found = await self._look()
            except ServiceError:
                found = None
            if found is not None:
                return found
            await asyncio.sleep(APART)
        return None

    async def _look(self) -> Created | Started | None:
        if self.call.video_id is not None and self.earlier is not None:
            if not await was_changed(self.at.service, self.call.video_id, self.earlier):
                return None
            video = await self.at.service.get(self.call.video_id)
            return Started(
                video_id=video.id, status=video.status, poll_after=video.poll_after, raw=video.raw
            )
        if self.baseline is None:
            return None
        found, _ = await made_by(self.baseline, json.loads(self.call.body), self.sent_at)
        if found is None:
            return None
        return Created(
            video_id=found.id, status=found.status, poll_after=found.poll_after, raw=found.raw
        )
