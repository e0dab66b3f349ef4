"""Ids of rows: each row has one of its own, now and before."""

from __future__ import annotations

from typing import NamedTuple

from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.sheet.table import Cell, Findings
from callsheet.tasks.values.briefs import Brief
from callsheet.tasks.values.names import fold


class Candidate(NamedTuple):
    """A brief whose id may yet be another row's too, and the cells of its ids, now and before."""

    brief: Brief
    place: Cell | None
    was: Cell | None = None


def refuse_twins(candidates: list[Candidate], findings: Findings) -> None:
    """Refuse two rows that some file system, their content, or their video makes one."""
    first: dict[str, Candidate] = {}
    videos: dict[str, int] = {}
    for candidate in candidates:
        brief, place = candidate.brief, candidate.place
        if brief.video_id and (line := videos.setdefault(brief.video_id, brief.line)) != brief.line:
            findings.refuse(
                f"is the video of line {line} too: a video belongs to one row",
                line=brief.line,
                cell="video_id",
                value=brief.video_id,
                column="video_id",
                row=brief.row,
            )
        twin = first.setdefault(fold(brief.row), candidate)
        if twin is candidate:
            continue
        line = twin.brief.line
        if place is None and twin.place is None:
            findings.refuse(
                f"asks for the same video as line {line} (both without an id): "
                "delete one, or give each an id if two videos are wanted",
                line=brief.line,
                value=shorten(brief.title),
            )
        else:
            same = "the id" if twin.brief.row == brief.row else "but for its capitals the id"
            where = place or twin.place
            words = f"is {same} of line {line} too: every row needs one of its own"
            if line == brief.line:
                words = "is the id of two videos of this row: write every axis in matrix.id"
            base = None if line == brief.line else brief.variant_of
            findings.refuse(
                words,
                value=base or brief.row,
                line=place.line if place else brief.line,
                cell=where.where if where else "id",
                column="id",
            )


def refuse_moves(candidates: list[Candidate], findings: Findings) -> None:
    """Refuse an earlier id that is still a row's, or that two rows claim."""
    moved = [one for one in candidates if one.was is not None and one.brief.was is not None]
    if not moved:
        return
    lines = {fold(one.brief.row): one.brief.line for one in candidates}
    claimed: dict[str, int] = {}
    for brief, _, cell in moved:
        assert cell is not None
        assert brief.was is not None
        was = fold(brief.was)
        first = claimed.setdefault(was, brief.line)
        if was == fold(brief.row):
            message = "is the id that the row has now: write the id that it had before, or nothing"
        elif was in lines:
            message = f"is still the id of line {lines[was]}: leave it empty, or change that id"
        elif first != brief.line:
            message = f"is what line {first} was too: only one row can keep its videos"
        else:
            continue
        findings.refuse(message, **cell.place(row=brief.row, value=brief.was))
