"""When Python looks for garbage."""

from __future__ import annotations

import gc
import weakref

import pytest

from callsheet.tasks.runtime.process import search_of_new

pytestmark = pytest.mark.merge


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_what_was_there_before_is_searched_once_nobody_has_it_open() -> None:
    old = weakref.ref(Cycle())
    with search_of_new():
        with search_of_new():
            new = weakref.ref(Cycle())
        gc.collect()
        assert old() is not None
        assert new() is None
    gc.collect()
    assert old() is None
