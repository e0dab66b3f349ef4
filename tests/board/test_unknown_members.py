"""A misspelt member is refused on every route of the API, so that it widens nothing."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.routing import APIRoute

from callsheet.deployments.board.app import API, CALLS, make_app
from tests.board.conftest import OpenBoard
from tests.board.with_videos import with_videos


@pytest.mark.merge
async def test_every_route_refuses_a_misspelt_parameter(open_board: OpenBoard) -> None:
    calls = [
        (method, f"{API}{route.path}".format(**dict.fromkeys(route.param_convertors, "1")))
        for router in CALLS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods)
    ]
    assert len(calls) > 25
    for method, path in calls:
        answer = await open_board.admin.request(method, f"{path}?langauge=de")
        assert answer.status_code == 422, (method, path, answer.text)
        if method != "HEAD":
            assert answer.headers["content-type"] == "application/problem+json"
            assert '"langauge"' in answer.json()["detail"], (method, path, answer.text)


async def test_every_body_refuses_a_misspelt_member(open_board: OpenBoard) -> None:
    document = make_app(open_board.board).openapi()
    schemas = document["components"]["schemas"]
    bodies: set[str] = set()
    for operations in document["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            bodies |= names_in(content.get("application/json", {}))
    assert len(bodies) > 6
    loose = {name for name in bodies if schemas[name].get("additionalProperties") is not False}
    assert loose == set()


def names_in(schema: Any) -> set[str]:
    """Return the names of the schemas that one refers to."""
    if isinstance(schema, list):
        return set[str]().union(*map(names_in, schema))
    if not isinstance(schema, dict):
        return set()
    found = {schema["$ref"].rpartition("/")[2]} if "$ref" in schema else set()
    return found.union(*map(names_in, schema.values()))


@pytest.mark.parametrize(
    ("name", "meant"), [("langauge", "did you mean language?"), ("utm_source", "does not take")]
)
async def test_a_misspelt_filter_does_nothing(open_board: OpenBoard, name: str, meant: str) -> None:
    stage = await with_videos(open_board.ledger, 2)
    campaign = stage.campaign.name
    address = f"{API}/campaigns/{campaign}/reviews?review=none&{name}=de"
    answer = await open_board.reviewer.post(address, json={"verdict": "keep"})
    assert (answer.status_code, meant in answer.json()["detail"]) == (422, True)

    browser = await open_board.form("reviewer")
    form = {"verdict": "keep", "all": "yes", "view": f"review=none&{name}=de"}
    page = await browser.post(f"/c/{campaign}/videos/verdicts", data=form)
    assert page.status_code == 422
    for path in ("videos", ""):
        shown = await browser.get(f"/c/{campaign}/{path}".rstrip("/") + f"?{name}=de")
        assert shown.status_code == 422

    rows = await open_board.viewer.get(f"{API}/campaigns/{campaign}/rows?review=keep")
    assert rows.json()["total"] == 0
