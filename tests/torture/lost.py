"""Which clips nobody can tell the fate of: a process was killed between intent and answer."""

from __future__ import annotations

from collections.abc import Sequence

from tests.torture.hook import Visit

#: What records the answer to a call.
_ANSWERS = frozenset(
    f"ledger: after the commit (takes.{change})" for change in ("accept", "refuse")
)


def lost_clips(traces: Sequence[Sequence[Sequence[Visit]]]) -> set[str]:
    """Return the rows of which a process was killed between a clip's intent and its record."""
    lost: set[str] = set()
    for runs in traces:
        for run in runs:
            for visit in run:
                # Another thread may have been killed just after this commit, unlisted.
                if visit.point == "ledger: before the commit (submit._intend_unkeyed)":
                    lost.add(visit.row)
                elif visit.point in _ANSWERS:
                    lost.discard(visit.row)
    return lost
