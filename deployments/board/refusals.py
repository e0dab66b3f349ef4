"""Refusals for programs and people, unknown query members, and the OpenAPI document."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import compile_path

from callsheet.deployments.board.page import page
from callsheet.deployments.board.places import shown_places
from callsheet.deployments.board.problem_details import ProblemDetails, listed
from callsheet.deployments.commands.review import TakeReview
from callsheet.tasks.ledger.reviews import ReviewStands
from callsheet.tasks.runtime.errors import (
    CallsheetError,
    LedgerError,
    NoSuch,
    Problem,
    SheetError,
    WrongState,
    did_you_mean,
)
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.redact import redact

log = logging.getLogger("callsheet.board")

PROBLEM = "application/problem+json"


def add_refusals(app: FastAPI) -> None:
    """Give every refusal of an application its shape."""
    for kind, answer in {
        ProblemDetails: _problem,
        CallsheetError: _refusal,
        HTTPException: _http_exception,
        RequestValidationError: _not_understood,
        UnicodeEncodeError: _no_text,
    }.items():
        app.add_exception_handler(kind, answer)


def answer(request: Request, problem: ProblemDetails) -> Response:
    """Return a refusal; anyone who is not logged in is led to the page where that is done."""
    visit = request.state.visit
    if not visit.wants_page:
        document = shown_places(problem.as_json())
        return JSONResponse(document, problem.status, problem.headers, media_type=PROBLEM)
    person = getattr(request.state, "person", None)
    if problem.status == 401 and visit.method == "GET":
        return _to_login(request)
    made = page(request, "problem.html", person, status=problem.status, problem=problem)
    made.headers.update(problem.headers)
    return made


def fault(error: Exception) -> ProblemDetails:
    """Return what is said of a fault of ours: what it was is in the log, and only there."""
    if isinstance(error, LedgerError):
        # Who asks may not be logged in, and is not told where the ledger is.
        log.warning("%s", redact(str(error)))
        words = "the ledger is not available right now; nothing that you paid for is lost"
        return ProblemDetails(503, words, remedy="try again; the board's log has the reason")
    log.error("a fault in the board", exc_info=error)
    return ProblemDetails(
        500,
        "a fault in Callsheet; what was paid for is in the ledger",
        title="This went wrong",
        remedy="try again; the board's log has the reason",
    )


def _to_login(request: Request) -> Response:
    visit = request.state.visit
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": "/login"})
    if visit.from_elsewhere and visit.session is None:
        # A link on another site: the browser keeps a strict cookie back, but not from ourselves.
        return page(request, "_again.html", None, address=_here(request))
    return RedirectResponse(f"/login?next={quote(_here(request), safe='/')}", 303)


def _here(request: Request) -> str:
    query = request.url.query
    return quote(request.url.path) + (f"?{query}" if query else "")


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemDetails)
    return answer(request, error)


async def _refusal(request: Request, error: Exception) -> Response:
    """Say what the command line would: words, a remedy, and never a traceback."""
    assert isinstance(error, CallsheetError)
    kinds = {NoSuch: 404, WrongState: 409, LedgerError: 503}
    of_kind = next((status for kind, status in kinds.items() if isinstance(error, kind)), None)
    status = of_kind or {2: 422, 4: 409, 5: 503}.get(error.exit_status, 500)
    remedy = redact(error.remedy) if error.remedy else None
    problems = error.problems if isinstance(error, SheetError) else ()
    title, extra = None, {}
    if isinstance(error, ReviewStands):
        stands = error.standing and TakeReview.model_validate(error.standing)
        title = "Another person was first"
        extra = {"review": stands.model_dump(mode="json") if stands else None}
    return answer(
        request,
        ProblemDetails(
            status,
            redact(str(error)),
            title=title,
            remedy=remedy,
            extra=extra,
            problems=listed(problems, _told, partial(_place, None, None)),
        ),
    )


def _told(problem: Problem) -> dict[str, Any]:
    return _place(problem.line, problem.column, problem.message)


def _place(line: int | None, column: str | None, words: str) -> dict[str, Any]:
    return {"line": line, "column": column, "words": redact(words)}


def methods_of(app: FastAPI, path: str) -> list[str]:
    """Return what may be done with an address of the interface; a route knows of one method."""
    return sorted(
        method.upper()
        for known, operations in app.openapi()["paths"].items()
        if compile_path(known)[0].match(path)
        for method in operations
    )


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {
        404: "there is nothing at this address",
        405: "this cannot be done with that address",
    }.get(error.status_code, str(error.detail))
    headers = dict(error.headers or {})
    if error.status_code == 405 and (methods := methods_of(request.app, request.url.path)):
        headers["Allow"] = ", ".join(methods)
    return answer(request, ProblemDetails(error.status_code, words, headers=headers))


async def _not_understood(request: Request, error: Exception) -> Response:
    """Name what is wrong and where; what was sent is not repeated: it may be a secret."""
    assert isinstance(error, RequestValidationError)
    problems = [
        {"line": None, "column": ".".join(map(str, one["loc"][1:])) or None, "words": one["msg"]}
        for one in error.errors()
    ]
    words = "; ".join(
        f"{one['column']}: {one['words']}" if one["column"] else str(one["words"])
        for one in problems[:3]
    )
    detail = f"the request is not what this takes: {words}"
    return answer(request, ProblemDetails(422, detail, problems=problems))


async def _no_text(request: Request, error: Exception) -> Response:
    """JSON can say halves of characters, which nothing can be written down with."""
    return answer(request, ProblemDetails(422, "the request has text in it that is no text"))


# Unknown members of an address are refused on every route of the API.
#
# A misspelt filter would be left out, and a call that is about many rows would be about more.


async def known_query(request: Request) -> None:
    """Raise ProblemDetails (422) for a member of the query that the route does not take."""
    # A person who is not logged in is told that first.
    if getattr(request.state, "person", None) is not None and request.query_params:
        refuse_unknown(request.query_params, query_names(request))


def query_names(request: Request) -> list[str]:
    """Return the names that the route of a request takes, as the description of the API lists them.

    HEAD is described by GET.
    """
    method = "get" if request.method == "HEAD" else request.method.lower()
    for path, operations in request.app.openapi()["paths"].items():
        if method in operations and compile_path(path)[0].match(request.url.path):
            parameters = operations[method].get("parameters", ())
            return [one["name"] for one in parameters if one["in"] == "query"]
    return []


def refuse_unknown(query: QueryParams, known: Collection[str]) -> None:
    """Raise ProblemDetails (422) for a name that is not known, with the one that was meant."""
    for name in query:
        if name not in known:
            names = ", ".join(known) or "nothing"
            hint = did_you_mean(name[:40], known)
            raise ProblemDetails(
                422,
                f'this address does not take "{name[:40]}"{hint}; nothing was done',
                title="Unknown parameter",
                remedy=f"it takes {names}",
            )


# What the interface says of itself (OpenAPI): who may call, and how every refusal looks.


#: What any call may answer instead of what it is for.
REFUSALS = {
    400: "it cannot be read, or came by no way that a board knows",
    401: "nobody's token",
    403: "not with this role, allowance or link",
    404: "nothing is at this address",
    409: "something changed meanwhile, or is already decided",
    413: "too large",
    422: "it cannot be meant: `problems` say where",
    429: "too many tries: `Retry-After` says when to come again",
    503: "not now: `remedy` says when",
}
DESCRIPTION = """\
From a sheet to approved videos. Send `Authorization: Bearer TOKEN`; `callsheet board people` says
who has one. Every call that can spend names a plan or its run, and a plan that is approved again
answers with the same run. Amounts are credits, moments Unix seconds unless said otherwise.
"""


class ProblemPlace(BaseModel):
    """One problem: where in the sheet or in the request, and what it is."""

    line: int | None
    column: str | None
    words: str


class ProblemDocument(BaseModel):
    """A refusal (RFC 9457)."""

    title: str
    status: int
    detail: str
    remedy: str | None
    problems: list[ProblemPlace]


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the document of an application, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=own_version(), description=DESCRIPTION, routes=app.routes
        )
        parts = made.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        for known in ("HTTPValidationError", "ValidationError"):
            schemas.pop(known, None)
        schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs")
        schemas["Problem"] = schema
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        for operations in made["paths"].values():
            for operation in operations.values():
                _complete(operation)
        app.openapi_schema = made
    return app.openapi_schema


def _complete(operation: dict[str, Any]) -> None:
    for status, words in REFUSALS.items():
        operation["responses"][str(status)] = {
            "description": words,
            "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
