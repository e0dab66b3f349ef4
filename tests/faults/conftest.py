"""One sandbox for all tests of a worker; every test has a folder and a campaign of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.production import Production
from tests.fixtures import sandbox_fixture
from tests.programs import Desk, Sandbox

service = sandbox_fixture("--credits", "100000000", scope="session")


@pytest.fixture
def production(tmp_path: Path, service: Sandbox) -> Iterator[Production]:
    """A campaign that no other test has: keys of the same video would be the same."""
    name = f"c-{abs(hash(str(tmp_path))):x}"
    yield Production(Desk(tmp_path, dict(service.environ)), service, name)
    service.clear_faults()
