"""What a reference campaign is made of: rows, sheets, and what happens to it on its way.

`{name}` in a sheet or a command is the campaign's name: every trial has videos, and pictures, of
its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.torture.meddling import Maker, Meddler

Faults = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Row:
    """A row of a reference campaign: its cells, its end, the captions it asks for.

    `or_else` is another end that is as good, where it is up to the clock; `more` are cells of
    columns that only some sheets have. The video of an `aged` row is deleted at the service.
    """

    id: str
    cells: str
    state: str = "delivered"
    captions: tuple[str, ...] = ()
    clip: bool = False
    or_else: str | None = None
    more: tuple[tuple[str, str], ...] = ()
    aged: bool = False


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A campaign of one run for each of `sheets`; `faults` strike in the first one.

    `only` limits the points that are tried to those that begin so: the others are tried elsewhere.
    `typed` is a paid command typed by hand instead, and no campaign (`tests.torture.direct`).
    """

    name: str
    sheets: tuple[tuple[Row, ...], ...] = ()
    budget: int = 2000
    #: How many videos it may pay for, whatever its rows are called; None: one for each key.
    most: int | None = None
    #: Settings of all its commands.
    environ: Mapping[str, str] = field(default_factory=dict)
    #: Makes videos as somebody else of the organisation, before the campaign; a sheet names their
    #: ids as it names the campaign.
    maker: Maker | None = None
    #: The first step in which anything is killed.
    tried_from: int = 0
    faults: Faults = ()
    #: What strikes in the run of another sheet, by its number.
    later: Mapping[int, Faults] = field(default_factory=dict)
    store: Literal["folder", "rclone", "moto"] = "folder"
    ledger: Literal["sqlite", "postgres"] = "sqlite"
    #: Seconds between a visit and the kill: long enough that a request has arrived.
    linger: float = 0.0
    #: How the sandbox renders; `instant` videos are all as short as can be.
    render: Literal["instant", "real"] = "instant"
    only: tuple[str, ...] = ("",)
    #: Options of the runs of its sheets.
    options: str = ""
    #: A command after the last run, as one more step; a run of the last sheet takes it up again.
    command: str | None = None
    #: That command takes itself up again, and a run of the last sheet is one more step. The two
    #: begin no render, and they alone are killed (`tests.torture.settling`).
    settles: bool = False
    #: How long the run of a sheet waits for its videos, by its number; it may leave some undone.
    waits: Mapping[int, str] = field(default_factory=dict)
    #: Settings of the runs before a command that settles.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: What somebody else of the organisation does before the command.
    meddler: Meddler | None = None
    typed: str | None = None

    def sheet(self, step: int, name: str, **made: str) -> str:
        """Return the sheet of a run, as CSV, without the rows that have left it.

        `made` are the ids of videos that somebody else made, by name.
        """
        rows = [row for row in self.sheets[step] if row.state != "retired"]
        more = list(dict.fromkeys(column for row in rows for column, _ in row.more))
        lines = [",".join([HEAD, *more])]
        for row in rows:
            cells = dict(row.more)
            lines.append(",".join([row.id, row.cells, *(cells.get(one, "") for one in more)]))
        return "\n".join([*lines, ""]).format(name=name, **made)

    @property
    def steps(self) -> int:
        """How many commands it takes when nothing is killed."""
        return max(1, len(self.sheets) + (self.command is not None) + self.settles)

    @property
    def tried(self) -> range:
        """The steps in which anything is killed."""
        return range(len(self.sheets) if self.settles else self.tried_from, self.steps)

    @property
    def rows(self) -> dict[str, Row]:
        """The rows as the last sheet has them."""
        return {row.id: row for row in self.sheets[-1]} if self.sheets else {}


HEAD = (
    "id,operation,tool,fields.product,script,title,duration_seconds,aspect_ratio,captions,"
    "image,max_credits,body.mood"
)
