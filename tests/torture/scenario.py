"""The reference campaigns: what is asked for, run by run, and how every row has to end.

`{name}` in a sheet is the campaign's name: every trial has films, and pictures, of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Row:
    """A row of a reference campaign: its cells, its end, the captions it asks for."""

    id: str
    cells: str
    state: str = "delivered"
    captions: tuple[str, ...] = ()
    clip: bool = False


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A campaign of one run for each of `sheets`; `faults` strike in the first one.

    `only` limits the points that are tried to those that begin so: the others are tried elsewhere.
    """

    name: str
    sheets: tuple[tuple[Row, ...], ...]
    budget: int = 2000
    faults: tuple[Mapping[str, Any], ...] = ()
    store: Literal["folder", "rclone", "moto"] = "folder"
    ledger: Literal["sqlite", "postgres"] = "sqlite"
    prefect: bool = False
    #: Seconds between a visit and the kill: long enough that a request has arrived.
    linger: float = 0.0
    #: How the sandbox renders; `instant` films are all as short as can be.
    render: Literal["instant", "real"] = "instant"
    only: tuple[str, ...] = ("",)
    #: A command after the last run, as one more step; a run of the last sheet takes it up again.
    command: str | None = None

    def sheet(self, step: int, name: str) -> str:
        """Return the sheet of a run, as CSV."""
        lines = [f"{row.id},{row.cells}" for row in self.sheets[step]]
        return "\n".join([HEAD, *lines, ""]).format(name=name)

    @property
    def steps(self) -> int:
        """How many commands it takes when nothing is killed."""
        return len(self.sheets) + (self.command is not None)

    @property
    def rows(self) -> dict[str, Row]:
        """The rows as the last sheet has them."""
        return {row.id: row for row in self.sheets[-1]}


HEAD = (
    "id,operation,tool,fields.product,script,title,duration_seconds,aspect_ratio,captions,"
    "image,max_credits,body.mood"
)
_TOOL = Row("tool", ",product-launch,Kettle,,Tool,5,9:16,both,,,", captions=("srt", "vtt"))
_SCRIPT = Row("script", ",,,It hums.,Script,5,9:16,none,,,")
_EDITED = Row("script", ",,,It hums in tune.,Script,5,9:16,none,,,")
_VTT = Row("vtt", ",,,It never boils over.,Other,5,9:16,vtt,,,", captions=("vtt",))
_REFUSED = Row("refused", ",no-such-tool,,,Refused,5,9:16,,,,", "rejected")
_DEAR = Row("dear", ",product-launch,Pot,,Dear,5,9:16,,,1,", "held")
_CLIP = Row(
    "clip", "image-to-video,,,,Clip,5,9:16,,https://img.example/{name}-a.png,50,", clip=True
)
_WRONG = Row(
    "wrong",
    "image-to-video,,,,Wrong,5,9:16,,https://img.example/{name}-b.png,50,blue",
    "rejected",
    clip=True,
)
_FIRST = (_TOOL, _SCRIPT, _VTT, _REFUSED, _DEAR, _CLIP, _WRONG)
_SECOND = (_TOOL, _EDITED, _VTT, _REFUSED, _DEAR, _CLIP, _WRONG)

#: Everything that a campaign in a folder comes by; its second run has an edited row.
FOLDER = Scenario(name="folder", sheets=(_FIRST, _SECOND))
#: A limit of the service, and a create refused for want of credits: the next run takes it up.
LIMITS = Scenario(
    name="limits",
    sheets=((_SCRIPT, _VTT), (_SCRIPT, _VTT)),
    faults=(
        {"on": "create", "nth": 1, "do": "limited", "retry_after": 1},
        {"on": "create", "nth": 3, "do": "no-credits"},
    ),
)
#: Killed while the service is at work on a request, or has done it and not answered yet.
WAITING = Scenario(
    name="waiting",
    sheets=((_TOOL, _VTT, _CLIP),),
    faults=(
        {"on": "create", "nth": 1, "do": "slow-before", "seconds": 1},
        {"on": "create", "nth": 2, "do": "slow", "seconds": 1},
        {"on": "image-to-video", "nth": 1, "do": "slow", "seconds": 1},
    ),
    linger=0.4,
    only=("service: before the request (create", "service: before the request (image"),
)
#: Another take of films that were delivered: approved and carried by a command of its own.
RETAKE = Scenario(
    name="retake",
    sheets=((_SCRIPT, _VTT),),
    command="retake {name} script vtt --run --yes --json",
    only=("ledger", "service"),
)
#: A film of which a killed download leaves enough to be worth going on with.
LONG = Scenario(
    name="long",
    sheets=((Row("long", ",product-launch,Kettle,,Long,60,16:9,none,,,"),),),
    render="real",
    only=("spool",),
)
#: A store that checks nothing and is read back, and one that refuses to overwrite.
RCLONE = Scenario(
    name="rclone", sheets=((_TOOL, _SCRIPT),), store="rclone", only=("bucket", "delivery", "spool")
)
MOTO = Scenario(
    name="moto", sheets=((_TOOL, _SCRIPT),), store="moto", only=("bucket", "delivery", "spool")
)
POSTGRES = Scenario(
    name="postgres", sheets=((_TOOL, _CLIP),), ledger="postgres", only=("ledger", "service")
)
PREFECT = Scenario(name="prefect", sheets=((_TOOL, _CLIP),), prefect=True)

_ALL = (FOLDER, LIMITS, WAITING, RETAKE, LONG, RCLONE, MOTO, POSTGRES, PREFECT)
SCENARIOS = {scenario.name: scenario for scenario in _ALL}
