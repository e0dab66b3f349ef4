"""The OpenAPI document is true: requests made up from it, good ones and bad ones, are answered as
it says, on every operation of every part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.described import hold_to

if TYPE_CHECKING:
    from schemathesis.schemas import BaseSchema

EXAMPLES = 3
#: Where a good request may be refused for a reason that no schema can say.
MAY_REFUSE = {
    "POST /api/v1/videos": (422, "a key was used before, with another body"),
    "PATCH /api/v1/videos/{video_id}": (400, "a clip may have no script to edit"),
    "GET /api/v1/videos/{video_id}/captions": (400, "there are no captions yet"),
    "POST /api/v1/webhooks": (400, "the address must be public"),
    "PATCH /api/v1/webhooks/{webhook_id}": (400, "the address must be public"),
    "POST /api/v1/auth/device": (400, "the client must be registered"),
    "POST /api/v1/auth/device/token": (400, "the code must be approved"),
}
USUAL = ["2xx", "401", "403", "404", "409"]


@pytest.fixture(scope="module")
def schema(begin: Any, tmp_path_factory: pytest.TempPathFactory) -> BaseSchema:
    state = tmp_path_factory.mktemp("described")
    running = begin("--render", "instant", "--credits", "1000000000", state=state)
    operations = []
    for name, (status, _) in MAY_REFUSE.items():
        accepted = {"positive_data_acceptance": {"expected-statuses": [*USUAL, str(status)]}}
        operations.append({"include-name": name, "checks": accepted})
    said = {
        "auth": {"openapi": {"key": {"bearer": running.ready["api_key"]}}},
        "continue-on-failure": True,
        "generation": {"max-examples": EXAMPLES, "deterministic": True, "no-shrink": True},
        "operations": operations,
    }
    # Not above: every process that collects the tests would import it.
    import schemathesis

    document = f"{running.ready['base_url']}/openapi.json"
    return schemathesis.openapi.from_url(document, config=schemathesis.Config.from_dict(said))


@pytest.mark.slow
def test_every_operation_answers_as_it_is_described(schema: BaseSchema) -> None:
    hold_to(schema, operations=30)
