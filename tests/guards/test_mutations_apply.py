"""Every safeguard is where its test says; `python -m tests.guards.mutations` takes each out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.guards.mutations import DoesNotApply, check_all, safeguards


def test_each_is_where_its_test_says_and_one_that_has_moved_is_noticed() -> None:
    found = safeguards()
    check_all(found)
    assert len(found) > 300
    with pytest.raises(DoesNotApply):
        check_all([replace(found[0], words="words that are nowhere")])
