"""What is known of a campaign's report in the store, and which rows have changed since.

Owns the column `reported`. Whatever changes a row on its way leaves an event; what a sheet changes
beside that is noted here by `sync_sheet`, by the numbers of the rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select, update

from callsheet.tasks.ledger.schema import campaigns, events, rows
from callsheet.tasks.ledger.states import NOT_BEGUN

#: Rows that are remembered to have changed, at most; beyond it a report is made anew.
FEW = 2000
#: Events of before the mark that count as later ones, where several may write at once: numbers are
#: given before they are committed, and another process may have been about to.
OVERLAP = 200
#: Instead of a digest, once a report is known to be behind; and where its manifest was written
#: before rows were sent: a ledger that was restored does not know which of them were.
_BEHIND, SENDING = "-", "~"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reported:
    """A report: a digest of what it was made of, and those of its files, manifest first.

    `mark` is the last event that it knows of (None: it was not kept), `changed` the rows that a
    sheet has changed since.
    """

    made_of: str
    files: tuple[str, str]
    mark: int | None = None
    changed: frozenset[int] = frozenset()

    @classmethod
    def read(cls, text: str | None) -> Reported | None:
        """Read what `as_text` wrote, or an earlier release; None for what is none."""
        words = (text or "").split()
        if len(words) < 3:
            return None
        made_of, manifest, status, *more = words
        mark = int(more[0]) if more else None
        changed = frozenset(map(int, more[1].split(","))) if len(more) > 1 else frozenset[int]()
        return cls(made_of=made_of, files=(manifest, status), mark=mark, changed=changed)

    def as_text(self) -> str:
        """Return it as words between blanks."""
        words = [self.made_of, *self.files]
        words += [] if self.mark is None else [str(self.mark)]
        words += [",".join(map(str, sorted(self.changed)))] if self.changed else []
        return " ".join(words)

    @property
    def tells_all(self) -> bool:
        """Whether its manifest was written at the end: the ledger has all takes that it has."""
        return self.made_of != SENDING

    def behind(self) -> Reported:
        """Return it as one that is not what would be written now."""
        return self if self.made_of == SENDING else replace(self, made_of=_BEHIND)


def note_report(
    connection: Connection, campaign_id: int, reported: Reported, *, instead_of: str | None
) -> None:
    """Remember a campaign's report, unless what is noted is not what it was: `instead_of`."""
    connection.execute(
        update(campaigns)
        .where(campaigns.c.id == campaign_id, campaigns.c.reported.is_not_distinct_from(instead_of))
        .values(reported=reported.as_text())
    )


def note_changes(connection: Connection, campaign_id: int, numbers: Collection[int] | None) -> None:
    """Remember that a sheet has changed rows, by their numbers; None: more than that is new."""
    this = campaigns.c.id == campaign_id
    reported = Reported.read(connection.scalar(select(campaigns.c.reported).where(this)))
    behind = None
    if reported is not None and reported.mark is not None and numbers is not None:
        changed = reported.changed | frozenset(numbers)
        behind = replace(reported.behind(), changed=changed) if len(changed) <= FEW else None
    text = behind.as_text() if behind else None
    connection.execute(update(campaigns).where(this).values(reported=text))


def rows_changed_since(
    connection: Connection, campaign_id: int, reported: Reported | None
) -> frozenset[int] | None:
    """Return the numbers of all rows that may have changed since a report; None: too many."""
    if reported is None or reported.mark is None:
        return None
    overlap = 0 if connection.dialect.name == "sqlite" else OVERLAP
    told = select(events.c.row_id).where(
        events.c.campaign_id == campaign_id,
        events.c.id > reported.mark - overlap,
        events.c.row_id.is_not(None),
    )
    # A newer quote leaves no event where the row stays what it is.
    waiting = select(rows.c.id).where(
        rows.c.campaign_id == campaign_id, rows.c.state.in_(sorted(NOT_BEGUN))
    )
    found = set(reported.changed)
    for query in (told.distinct(), waiting):
        found.update(connection.scalars(query.limit(FEW + 1)))
        if len(found) > FEW:
            return None
    return frozenset(found)
