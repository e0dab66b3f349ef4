"""The board's interface, with more requests made up for every operation."""

from __future__ import annotations

import pytest

from tests.board.test_openapi import ready, schema, test_every_call_answers_as_it_is_described

__all__ = ["ready", "schema", "test_every_call_answers_as_it_is_described"]


@pytest.fixture(scope="module")
def examples() -> int:
    """How many requests are made up for an operation."""
    return 15
