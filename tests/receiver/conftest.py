"""One receiver for all tests of a module; every test has a body of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.receiver.hearing import Hearing, hearing


@pytest.fixture(scope="module")
def hears(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hearing]:
    with hearing(tmp_path_factory.mktemp("receiver")) as one:
        yield one
