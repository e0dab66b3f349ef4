"""What an address or a body asks for is understood whole, or it is refused and widens nothing."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from callsheet.deployments.board.app import API, CALLS, make_app
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.row_filters import AskedRows, filter_in, pairs_of, rows_in
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.runtime.errors import BadInput
from tests.board.conftest import OpenBoard
from tests.board.with_videos import with_videos

FILTERS = {
    "": RowFilter(),
    "state=&tag=&review=&q=&flagged=": RowFilter(),
    "state=failed": RowFilter.of(state="failed"),
    "state=failed&state=held&state=failed": RowFilter.of(state=("held", "failed")),
    "state=failed,held": RowFilter.of(state=("held", "failed")),
    "tag=a%20%26%20b&q=%C3%96l": RowFilter.of(tag="a & b", q="Öl"),
    "review=none&flagged=yes&video=no": RowFilter.of(review="none", flagged="yes", video="no"),
    "flagged=true&video=0": RowFilter.of(flagged="yes", video="no"),
    "language=de&ratio=9:16&tool=x": RowFilter.of(language="de", aspect_ratio="9:16", tool="x"),
    "takes=2&since=1.5&until=1764000000.123456": RowFilter.of(
        takes="2", since="1.5", until="1764000000.123456"
    ),
    "select=state:failed|held,tag:a": RowFilter.of(state=("failed", "held"), tag="a"),
    "state=failed&select=!tag:a*,r1": RowFilter.parse("state:failed,!tag:a*,r1"),
    "tag=a,b&q=what?": RowFilter.of(tag="a,b", q="what?"),
    "row=a&row=b,c": RowFilter.of(row=("a", "b,c")),
}


@pytest.mark.parametrize("query", FILTERS)
def test_an_address_is_a_filter_and_a_filter_an_address(query: str) -> None:
    which = filter_in(QueryParams(query))
    assert which == FILTERS[query]
    assert filter_in(QueryParams(urlencode(pairs_of(which)))) == which


REFUSED = [
    "state=done", "state=failed,done", "review=maybe", "review=kept", "flagged=perhaps", "takes=0",
    "takes=-1", "takes=2.5", "takes=x", "takes=99999999999999999999", "since=x", "since=nan",
    "since=inf", "until=-1", "sort=best", "limit=0", "limit=ten", "limit=-5", "limit=%C2%B2",
    "select=colour:red", "select=!", "select=" + "x" * 4001,
    "q=" + "x" * 201, "tag=" + "x" * 201, "langauge=de", "utm=1",
]  # fmt: skip


@pytest.mark.parametrize("query", REFUSED)
def test_what_makes_no_sense_is_refused_and_never_left_out(query: str) -> None:
    with pytest.raises((ProblemDetails, BadInput)) as refused:
        rows_in(QueryParams(query))
    assert query.partition("=")[0] in str(refused.value)
    assert getattr(refused.value, "status", 422) == 422


def test_a_page_is_named_by_order_place_and_size() -> None:
    assert rows_in(QueryParams("")) == AskedRows(which=RowFilter())
    asked = rows_in(QueryParams("sort=worst&after=worst~1&limit=100000"))
    assert (asked.sort, asked.after, asked.limit) == ("worst", "worst~1", 500)


@pytest.mark.safeguard(
    "deployments/board/app.py",
    "prefix=API, dependencies=[Depends(known_query)])",
    "prefix=API, dependencies=[])",
)
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


@pytest.mark.safeguard(
    "deployments/board/row_filters.py", "refuse_unknown(query, (*known, *also))", "pass"
)
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
