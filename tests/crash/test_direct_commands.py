"""Paid commands typed by hand and killed; `python -m tests.torture --only by-hand` tries all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.torture.direct import type_it
from tests.torture.stand import Stand
from tests.torture.trial import Kill
from tests.torture.typed import ANIMATE


@pytest.mark.merge
@pytest.mark.parametrize(
    ("point", "typed"),
    [
        # The clip is made and nobody was told: it is found when the command is typed again.
        ("service: after the answer (image-to-video)", 2),
        # They were told before the ledger calls it settled, so nobody types it again.
        ("ledger: after the commit (service_state.close_call)", 1),
    ],
)
def test_what_was_typed_is_paid_once_and_told_or_found(here: Stand, point: str, typed: int) -> None:
    trial = type_it(replace(here, scenario=ANIMATE), kill=Kill(0, point, 1))
    assert (trial.kills, trial.findings) == (1, [])
    assert len(trial.traces[0]) == typed
