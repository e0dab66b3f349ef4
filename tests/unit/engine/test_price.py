"""A quote that is young enough is not asked for again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.free_calls import is_priced
from callsheet.tasks.runtime.settings import load_settings
from tests.campaigns import a_row

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("age", "young"),
    # The last: the clock was set back since, so its age is not known.
    [(0, True), (60, True), (10**6, False), (-60, False)],
)
def test_a_quote_ages(tmp_path: Path, age: float, young: bool) -> None:
    none = cast(Any, None)
    at = Context(
        settings=load_settings(environ={}, folder=tmp_path),
        ledger=none,
        service=none,
        store=none,
        fetcher=none,
        baseline=none,
        clock=lambda: NOW,
    )
    assert is_priced(replace(a_row("quoted"), quoted_at=NOW - age), at) is young
