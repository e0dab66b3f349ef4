"""What was answered to a call that came with an Idempotency-Key, so that it may be sent again.

The first to come claims the key; whoever comes after it gets the same answer. Moments are Unix
seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, update

from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.schema_board import answers

#: How long an answer is kept, in seconds.
KEPT = 2 * 86400.0
#: After so many seconds without an answer whoever claimed the key is taken for dead.
ABANDONED = 120.0


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    """What is known under a key: of which request (a digest), and its answer once there is one."""

    request: str
    status: int | None
    body: str | None


def claim_answer(
    connection: Connection, digest: str, *, request: str, at: float
) -> KeptAnswer | None:
    """Claim a key for a request: None when it is ours to answer, else what is known under it."""
    connection.execute(delete(answers).where(answers.c.at < at - KEPT))
    if insert_unless_there(connection, answers, {"digest": digest, "request": request, "at": at}):
        return None
    this = answers.c.digest == digest
    # What the dead one did is safe to do again: every act is guarded by the ledger itself.
    left = this & answers.c.status.is_(None) & (answers.c.at < at - ABANDONED)
    again = update(answers).where(left, answers.c.request == request).values(at=at)
    if connection.execute(again).rowcount:
        return None
    known = select(answers.c.request, answers.c.status, answers.c.body).where(this)
    return KeptAnswer(**connection.execute(known).mappings().one())


def keep_answer(connection: Connection, digest: str, *, status: int, body: str) -> None:
    """Keep what was answered to the request that claimed a key."""
    this = answers.c.digest == digest
    connection.execute(update(answers).where(this).values(status=status, body=body))


def drop_answer(connection: Connection, digest: str) -> None:
    """Give a key back: its request came to nothing, and may be tried again."""
    connection.execute(delete(answers).where(answers.c.digest == digest))
