"""An address says which rows are meant: all of it is understood, or it is refused."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from starlette.datastructures import QueryParams

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.row_filters import AskedRows, filter_in, pairs_of, rows_in
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.runtime.errors import BadInput

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
