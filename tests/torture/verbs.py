"""Campaigns that a person's command interferes with, or two processes at the same moment."""

from __future__ import annotations

from dataclasses import replace

from tests.torture.campaign import Scenario
from tests.torture.meddling import grow_old, undo_and_make_anew
from tests.torture.rows import (
    CLIP,
    DEAR,
    LATE,
    RETITLED,
    REVOICED,
    SCRIPT,
    TOOL,
    TOOL_RETITLED,
    VOICED,
    VTT,
)

_MADE = replace(SCRIPT, id="made")
#: What renders is cancelled, what waits is not begun, what is made by then is delivered.
CANCEL = Scenario(
    name="cancel",
    sheets=(
        (_MADE, DEAR),
        (
            _MADE,
            replace(DEAR, state="cancelled"),
            *(
                replace(row, state="cancelled", or_else="delivered")
                for row in (TOOL, VTT, LATE, CLIP)
            ),
        ),
    ),
    # One video is made while nobody looks, and of all creates but one the answer is lost.
    later={
        1: (
            {"on": "render", "nth": "1-3", "do": "never"},
            {"on": "get", "do": "error-before", "status": 500},
            {"on": "create", "nth": "2-99", "do": "drop-after"},
        )
    },
    waits={1: "1s"},
    command="cancel {name} --yes --json",
    settles=True,
)
#: A price that has grown, a video that came late, one that was undone, a clip that was not found.
RECONCILE = Scenario(
    name="reconcile",
    sheets=((TOOL, CLIP), (TOOL, CLIP, LATE, replace(VTT, id="undone", state="cancelled"))),
    faults=(
        {"on": "image-to-video", "nth": 1, "do": "drop-after"},
        {"on": "list", "nth": "2-99", "do": "rewrite", "set": {"videos": []}},
    ),
    # One video after the other, in the order of the rows: the last one never comes by itself.
    later={
        1: (
            {"on": "render", "nth": 1, "do": "slow", "seconds": 2},
            {"on": "render", "nth": 2, "do": "never"},
        )
    },
    settings={"CALLSHEET_DEADLINE": "1s", "CALLSHEET_AT_ONCE": "1"},
    meddler=undo_and_make_anew,
    command="reconcile {name} --apply --json",
    settles=True,
)
#: Rows that left the sheet lose their videos at the service, and their files.
PRUNE = Scenario(
    name="prune",
    sheets=(
        (TOOL, VTT, SCRIPT),
        (TOOL, replace(VTT, state="retired"), replace(SCRIPT, state="retired")),
    ),
    command="prune {name} --prune-store --yes --json",
    settles=True,
)
#: Videos that lie at the service for too long are deleted there; their files stay.
AGED = Scenario(
    name="aged",
    sheets=((replace(TOOL, aged=True), replace(VTT, aged=True)),),
    environ={"CALLSHEET_KEEP_AT_SERVICE": "1s"},
    meddler=grow_old,
    command="prune {name} --yes --json",
    settles=True,
)
#: Two processes carry the same campaign at the same moment, and both are killed.
AT_ONCE = Scenario(name="at-once", sheets=((TOOL, SCRIPT, VTT, DEAR, CLIP),), ledger="postgres")
#: Carried by two workers, of which one is killed, or the run that they are for.
DISTRIBUTED = Scenario(
    name="workers",
    sheets=((TOOL, SCRIPT, VTT, DEAR, CLIP), (TOOL, SCRIPT, VTT, DEAR, CLIP)),
    ledger="postgres",
)

#: Two workers edit the videos that they have made, and one is killed at that, or their run.
EDITED_BY_WORKERS = Scenario(
    name="edits-with-workers",
    sheets=((SCRIPT, VOICED, TOOL), (RETITLED, REVOICED, TOOL_RETITLED)),
    most=3,
    ledger="postgres",
    tried_from=1,
)

VERBS = (CANCEL, RECONCILE, PRUNE, AGED, AT_ONCE, DISTRIBUTED, EDITED_BY_WORKERS)
