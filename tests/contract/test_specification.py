"""Nothing of the specification is without a test, and three tables of its endpoints agree: this
one, the client's operations, and what the sandbox says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from callsheet.tasks.service import OPERATIONS
from tests.contract.rules import RULES
from tests.contract.sandboxes import anyone
from tests.contract.specification import ENDPOINTS, NAMED_IN_PASSING
from tests.named_tests import missing

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
    assert set(RULES) == {1, 3, 4, 5, 6, 7, 8, 9}


def test_every_line_of_it_is_shown_by_a_test_that_exists() -> None:
    named = list(_named())
    assert [line for line, tests in named if not tests] == []
    assert missing(test for _, tests in named for test in tests) == []


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


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=str)
def test_the_one_success_of_an_operation_is_the_tables(endpoint, described: dict) -> None:
    responses = described[_anonymous(str(endpoint))]["responses"]
    shown = {status for status in responses if status.startswith("2")}
    assert shown == {str(status) for status in endpoint.statuses if status < 300}


def _named() -> Iterator[tuple[str, tuple[str, ...]]]:
    for endpoint in ENDPOINTS:
        for status, tests in endpoint.statuses.items():
            yield f"{endpoint} {status}", tests
    for section, rules in RULES.items():
        for rule, tests in rules.items():
            yield f"{section}: {rule}", tests


def _anonymous(line: str) -> str:
    """Take the names out of a path: the sandbox calls an id `video_id`."""
    return re.sub(r"\{\w+\}", "{}", line)
