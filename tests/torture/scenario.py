"""The reference campaigns: what is asked for, run by run, and how every row has to end."""

from __future__ import annotations

from dataclasses import replace

from tests.torture.campaign import Row, Scenario
from tests.torture.meddling import make_elsewhere
from tests.torture.rows import (
    CLIP,
    DEAR,
    EDITED,
    LATE,
    REFUSED,
    RETITLED,
    REVOICED,
    SCRIPT,
    TOOL,
    TOOL_RETITLED,
    VOICED,
    VTT,
    WRONG,
    was,
)
from tests.torture.typed import BY_HAND
from tests.torture.verbs import VERBS


def _video(name: str) -> Row:
    """Return a row that takes over a video that somebody else has made."""
    cells = f",,,It is there.,{name} of {{name}},5,9:16,none,,,"
    return Row(name, cells, more=(("video_id", f"{{{name}}}"),))


_FIRST = (TOOL, SCRIPT, VTT, REFUSED, DEAR, CLIP, WRONG)
_SECOND = (TOOL, EDITED, VTT, REFUSED, DEAR, CLIP, WRONG)

#: Everything that a campaign in a folder comes by; its second run has an edited row.
FOLDER = Scenario(name="folder", sheets=(_FIRST, _SECOND))
#: A limit of the service, and a create refused for want of credits: the next run takes it up.
LIMITS = Scenario(
    name="limits",
    sheets=((SCRIPT, VTT), (SCRIPT, VTT)),
    faults=(
        {"on": "create", "nth": 1, "do": "limited", "retry_after": 1},
        {"on": "create", "nth": 3, "do": "no-credits"},
    ),
)
#: Killed while the service is at work on a request, or has done it and not answered yet.
WAITING = Scenario(
    name="waiting",
    sheets=((TOOL, VTT, CLIP),),
    faults=(
        {"on": "create", "nth": 1, "do": "slow-before", "seconds": 1},
        {"on": "create", "nth": 2, "do": "slow", "seconds": 1},
        {"on": "image-to-video", "nth": 1, "do": "slow", "seconds": 1},
    ),
    linger=0.4,
    only=("service: before the request (create", "service: before the request (image"),
)
#: Another take of videos that were delivered: approved and carried by a command of its own.
RETAKE = Scenario(
    name="retake",
    sheets=((SCRIPT, VTT),),
    command="retake {name} script vtt --run --yes --json",
    only=("ledger", "service"),
)
#: A render fails, and another take of it was approved beforehand.
RETRIED = Scenario(
    name="retried",
    sheets=((SCRIPT, VTT),),
    options="--retry-failed 1",
    faults=({"on": "render", "nth": 1, "do": "fail"},),
    only=("ledger", "service"),
)
#: The first row of each kind, then those behind it; the last one waits for its wave.
FIRST = Scenario(
    name="first",
    sheets=((SCRIPT, TOOL, replace(VTT, or_else="held"), replace(LATE, state="held")),),
    options="--canary --waves 75%",
    command="approve {name} --yes --run --json",
    only=("ledger", "service"),
)
#: A canary whose checks let the others go, on the same approval.
AUTO = Scenario(
    name="auto",
    sheets=(tuple(replace(row, cells=row.cells.replace(",5,", ",,")) for row in (SCRIPT, VTT)),),
    options="--canary auto",
    only=("ledger", "service"),
)
#: Rows that get other ids and then their first ones again, one with another brief by then.
RENAMES = Scenario(
    name="renames",
    sheets=(
        (SCRIPT, VTT, TOOL),
        (was(SCRIPT, "words", "script"), was(VTT, "said", "vtt"), was(TOOL, "kit", "tool")),
        (was(EDITED, "script", "words"), was(VTT, "vtt", "said"), was(TOOL, "kettle", "kit")),
    ),
    most=4,
    only=("ledger", "service", "delivery"),
    tried_from=1,
)
#: Videos that were made elsewhere become those of rows, next to one that is made.
ADOPTED = Scenario(
    name="adopted",
    sheets=((SCRIPT, _video("old"), _video("older")), (EDITED, _video("old"), _video("older"))),
    maker=make_elsewhere,
    most=2,
    only=("ledger", "service", "delivery"),
)
#: Changed titles and a changed voice: each edits the video that is there.
EDITS = Scenario(
    name="edits",
    sheets=((SCRIPT, VOICED, TOOL), (RETITLED, REVOICED, TOOL_RETITLED)),
    most=3,
    only=("ledger", "service"),
    tried_from=1,
)
#: A video that comes in several blocks: a killed download leaves some of them.
LONG = Scenario(
    name="long",
    sheets=((Row("long", ",product-launch,Kettle,,Long,60,16:9,none,,,"),),),
    render="real",
    only=("spool",),
)
#: A store that checks nothing and is read back, and one that refuses to overwrite.
RCLONE = Scenario(
    name="rclone", sheets=((TOOL, SCRIPT),), store="rclone", only=("bucket", "delivery", "spool")
)
MOTO = Scenario(
    name="moto", sheets=((TOOL, SCRIPT),), store="moto", only=("bucket", "delivery", "spool")
)
POSTGRES = Scenario(
    name="postgres", sheets=((TOOL, CLIP),), ledger="postgres", only=("ledger", "service")
)

_ALL = (
    FOLDER,
    LIMITS,
    WAITING,
    RETAKE,
    RETRIED,
    FIRST,
    AUTO,
    RENAMES,
    ADOPTED,
    EDITS,
    LONG,
    RCLONE,
    MOTO,
    POSTGRES,
    *VERBS,
    *BY_HAND,
)
SCENARIOS = {scenario.name: scenario for scenario in _ALL}
