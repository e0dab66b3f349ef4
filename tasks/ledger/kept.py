"""Videos that a check held back, and that somebody keeps as they are: then they are delivered."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select, update

from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.outlines import pages_of
from callsheet.tasks.ledger.schema import deliveries, rows, takes
from callsheet.tasks.ledger.values import rows_by_number


def deliver_kept(connection: Connection, take_ids: Sequence[int], *, at: float) -> None:
    """Move rows `held -> delivered` whose present take is one of these, is whole in the store, and
    was held for nothing but what a check found."""
    for page in pages_of(take_ids):
        query = (
            select(rows.c.id, rows.c.take_id)
            .join(takes, takes.c.id == rows.c.take_id)
            .where(takes.c.id.in_(page), rows.c.state == "held", takes.c.flagged > 0)
        )
        held = {one.id: one.take_id for one in connection.execute(query)}
        if not held:
            continue
        there: dict[int, set[str]] = {}
        files = select(deliveries.c.take_id, deliveries.c.kind)
        for take, kind in connection.execute(files.where(deliveries.c.take_id.in_(held.values()))):
            there.setdefault(take, set()).add(kind)
        for row in rows_by_number(connection, sorted(held)):
            if row.take is None or not {"mp4", *row.captions} <= there.get(held[row.id], set()):
                continue
            words = "a person keeps it"
            if move(connection, row, "delivered", at=at, words=words, take=row.take):
                this = update(takes).where(takes.c.id == row.take.id)
                connection.execute(this.values(delivered_at=at))
