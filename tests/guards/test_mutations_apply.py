"""Every mutation still finds its safeguard; `python -m tests.guards.mutations` runs them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.guards.mutations import DoesNotApply, check_all
from tests.guards.safeguards import MUTATIONS, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_it_applies(mutation: Mutation) -> None:
    check_all([mutation])
    assert mutation.new != mutation.old


def test_a_safeguard_that_has_moved_is_noticed() -> None:
    with pytest.raises(DoesNotApply):
        check_all([replace(MUTATIONS[0], old="words that are nowhere")])


def test_no_two_have_a_name() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
