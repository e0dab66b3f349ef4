"""One service for all kills of a worker, and what a campaign comes by when nobody kills it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.torture.scenario import FOLDER
from tests.torture.stand import Stand, stand
from tests.torture.trial import Trial, attempt


@pytest.fixture(scope="package")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    with stand(tmp_path_factory.mktemp("kills"), FOLDER) as running:
        yield running


@pytest.fixture(scope="package")
def reference(here: Stand) -> Trial:
    # The first makes the videos that the later ones are copies of, which takes longer.
    attempt(here)
    return attempt(here)
