"""Three tables of the specification's endpoints agree: this one, the client's operations, and
what the sandbox says of itself."""

from __future__ import annotations

import re

import pytest

from callsheet.tasks.service import OPERATIONS
from tests.contract.sandboxes import anyone
from tests.contract.specification import ENDPOINTS, NAMED_IN_PASSING

#: How many lines and statuses the tables of section 4 have; none may get lost here.
LINES, STATUSES = 31, 47


@pytest.fixture(scope="module")
def described(running: dict) -> dict[str, dict]:
    """What the sandbox says of each operation, as `POST /videos/{}/generate`."""
    document = anyone.get(f"{running['base_url']}/openapi.json").json()
    return {
        f"{method.upper()} {_anonymous(path.removeprefix('/api/v1'))}": operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def test_the_tables_are_whole() -> None:
    lines = [str(endpoint) for endpoint in ENDPOINTS]
    assert len(set(lines)) == len(lines) == LINES
    assert sum(len(endpoint.statuses) for endpoint in ENDPOINTS) == STATUSES


def test_the_client_has_every_operation_and_no_other() -> None:
    ours = {f"{one.method} {one.path}": one.scope for one in OPERATIONS}
    theirs = {str(one): one.scope for one in ENDPOINTS if one.scope is not None}
    assert {line for line in ours if line.split(" ")[1] not in NAMED_IN_PASSING} == set(theirs)
    assert theirs.items() <= ours.items()


def test_the_sandbox_describes_every_operation_with_its_statuses(described: dict) -> None:
    for endpoint in ENDPOINTS:
        operation = described.get(_anonymous(str(endpoint)))
        assert operation is not None, f"the sandbox lacks {endpoint}"
        lacking = {str(status) for status in endpoint.statuses} - set(operation["responses"])
        assert not lacking, f"the sandbox's {endpoint} lacks {lacking}"
        if endpoint.scope is None:
            assert not operation.get("security"), f"{endpoint} asks for a key"
        else:
            assert operation["security"], f"{endpoint} asks for no key"
            assert {"401", "403"} <= set(operation["responses"])


def test_the_sandbox_has_no_operation_that_the_client_lacks(described: dict) -> None:
    known = {_anonymous(str(endpoint)) for endpoint in ENDPOINTS}
    more = {line for line in described if line.split(" ")[1] not in NAMED_IN_PASSING}
    assert more == known


def _anonymous(line: str) -> str:
    """Take the names out of a path: the sandbox calls an id `video_id`."""
    return re.sub(r"\{\w+\}", "{}", line)
