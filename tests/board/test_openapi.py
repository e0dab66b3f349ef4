"""The interface says the truth of itself: requests made up from its document, good ones and bad
ones, are answered as it says, on every operation; nothing made up is a fault of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.described import hold_to
from tests.programs import Desk

if TYPE_CHECKING:
    from schemathesis.schemas import BaseSchema

#: A stream without an end; tests of its own look at it.
STREAM = "/api/v1/campaigns/{campaign}/events"
#: A good request may name what is not there, or be of two minds: no schema can say so.
USUAL = ["2xx", "302", "401", "403", "404", "409", "422"]


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    desk = Desk(tmp_path_factory.mktemp("described"))
    process = desk.start("board", "--port", "0", "--json", "-v")
    yield json.loads(process.stdout.readline())
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in out + err, err[-4000:]


@pytest.fixture(scope="module")
def examples() -> int:
    """How many requests are made up for an operation; `make torture` makes up more."""
    return 1


@pytest.fixture(scope="module")
def schema(ready: dict[str, Any], examples: int) -> BaseSchema:
    said = {
        "auth": {"openapi": {"token": {"bearer": ready["token"]}}},
        "continue-on-failure": True,
        "checks": {"positive_data_acceptance": {"expected-statuses": USUAL}},
        "generation": {"max-examples": examples, "deterministic": True, "no-shrink": True},
        "operations": [{"include-path": STREAM, "enabled": False}],
    }
    # Not above: every process that collects the tests would import it.
    import schemathesis

    document = f"{ready['url']}/api/v1/openapi.json"
    return schemathesis.openapi.from_url(document, config=schemathesis.Config.from_dict(said))


@pytest.mark.slow
def test_every_call_answers_as_it_is_described(schema: BaseSchema) -> None:
    hold_to(schema, operations=20)


def test_operations_have_names_that_a_client_can_use(ready: dict[str, Any]) -> None:
    found = httpx.get(f"{ready['url']}/api/v1/openapi.json", timeout=60).json()["paths"]
    names = [operation["operationId"] for one in found.values() for operation in one.values()]
    assert len(names) == len(set(names)) > 20
    # A verb and what it acts on.
    assert [name for name in names if not re.fullmatch("[a-z]+(_[a-z]+)+", name)] == []
    assert {"list_campaigns", "upload_sheet", "make_plan", "approve_plan", "get_run"} <= {*names}
