"""Unknown members of an address are refused on every route of the API.

A misspelt filter would be left out, and a call that is about many rows would be about more.
"""

from __future__ import annotations

from collections.abc import Collection

from fastapi import Request
from starlette.datastructures import QueryParams
from starlette.routing import compile_path

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.errors import did_you_mean


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
