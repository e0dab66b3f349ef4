"""The table of operations: how a request finds its operation, passes the key it needs, and is
answered; and the OpenAPI document of them all."""

from __future__ import annotations

import functools
import re
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from callsheet.deployments.sandbox.auth.keys import ApiKey
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.envelope import (
    Meta,
    Refusal,
    RefusedCall,
    RefusedEnvelope,
    RequestBody,
    read_body,
    success,
)

P = ParamSpec("P")
Result = TypeVar("Result")
Act = Callable[["Call"], Awaitable[object]]
Declared = Callable[[Act], Act]
API = "/api/v1"
#: Where a request keeps which operation it calls, once that is known.
CALLED = "sandbox.called"
#: The scope of what takes no key.
PUBLIC = "public"
RETRY_AFTER = {"schema": {"type": "string"}, "description": "Seconds, or a date.", "required": True}
#: Patterns are for the document alone: any other id is one that we do not know, which is 404.
PATH_SCHEMAS = {
    "video_id": {"type": "string", "pattern": "^vid_[0-9a-z]+$"},
    "n": {"type": "integer", "minimum": 1},
}


@dataclass(frozen=True)
class Operation:
    """One line of the specification's table (section 4).

    `name` is what its calls are counted and struck under; `scope` is what its key must hold, None
    for any key; `answer` is what its envelope holds, and a response that `act` gives goes out as
    it is. Without either, the document leaves it out. A body that is `optional` may be left out.
    `refusals` are those beyond what every operation of its kind has; `query`, `responses` and
    `extra` describe the rest.
    """

    name: str
    method: str
    path: str
    scope: str | None
    act: Act
    answer: type[BaseModel] | None = None
    status: int = 200
    refusals: Sequence[int] = ()
    body: type[RequestBody] | None = None
    optional: bool = False
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    responses: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


#: Every operation, in the order in which they are declared.
OPERATIONS: list[Operation] = []


def operation(
    name: str, method: str, path: str, scope: str | None, answer: Any = None, **more: Any
) -> Declared:
    """Declare the operation of the REST API that a function is."""
    return _declared(name, method, API + path, scope, answer=answer, **more)


def public(name: str, method: str, path: str, **more: Any) -> Declared:
    """Declare an operation that takes no key; one of the sandbox's own, without a name, is neither
    counted nor struck."""
    return _declared(name, method, path, PUBLIC, **more)


def _declared(name: str, method: str, path: str, scope: str | None, **more: Any) -> Declared:
    def declare(act: Act) -> Act:
        OPERATIONS.append(Operation(name, method, path, scope, act, **more))
        return act

    return declare


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of an operation: who makes it, when, and what came with it."""

    service: Container
    operation: Operation
    request: Request
    path: Mapping[str, str]
    now: float
    key: ApiKey | None = None
    body: Any = None

    async def run(
        self,
        act: Callable[Concatenate[Any, P], Result],
        *said: P.args,
        **named: P.kwargs,
    ) -> Result:
        """Execute one act on the state, whole or not at all; return when it is on the disk."""
        return await self.service.database.run(act, *said, **named)


class CalledOperation(NamedTuple):
    """What a request calls, with the members of its path."""

    operation: Operation
    path: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.operation.name

    @property
    def video(self) -> str | None:
        """The id of the video in the path."""
        return self.path.get("video_id") or self.path.get("name")


class Operations:
    """Every operation, and the application that answers them."""

    def __init__(self, container: Container, operations: Sequence[Operation]) -> None:
        self._container = container
        self._all = operations
        self._fixed = {one.path for one in operations if "{" not in one.path}
        self._routes = [(compile_path(one.path)[0], one) for one in operations]
        self.names = list(dict.fromkeys(one.name for one in operations if one.name))

    def at(self, path: str) -> dict[str, CalledOperation]:
        """Give what can be called at a path, by method. A path without members goes first."""
        if path in self._fixed:
            here = [one for one in self._all if one.path == path]
            return {one.method: CalledOperation(one, {}) for one in here}
        found = [(one, match) for route, one in self._routes if (match := route.match(path))]
        return {one.method: CalledOperation(one, match.groupdict()) for one, match in found[::-1]}

    def of(self, scope: Scope) -> CalledOperation | None:
        """Say what a request calls; None where there is no such operation."""
        if CALLED not in scope:
            there = self.at(scope["path"])
            head = there.get("GET") if _is_head(scope) else None
            scope[CALLED] = there.get(scope["method"]) or head
        called: CalledOperation | None = scope[CALLED]
        return called

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except RefusedCall as refusal:
            response = refusal.answer()
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)
            message = "The sandbox has a fault of its own; where it was started, it says which."
            response = Refusal(500, "internal_error", message, retryable=True).answer()
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        called = self.of(request.scope)
        if called is None:
            allowed = ", ".join(sorted(self.at(request.scope["path"])))
            if not allowed:
                raise Refusal(404, "not_found", "Not Found")
            headers = {"allow": allowed}
            raise Refusal(405, "method_not_allowed", "Method Not Allowed", headers=headers)
        operation, key, body = called.operation, None, None
        if operation.name:
            self._container.calls[operation.name] += 1
        if operation.scope != PUBLIC:
            authorization = request.headers.get("authorization")
            key = self._container.keyring.admit(authorization, operation.scope)
        if operation.body is not None:
            raw = await request.body()
            body = read_body(operation.body, raw, optional=operation.optional)
        call = Call(
            service=self._container, operation=operation, request=request, path=called.path,
            now=time.time(), key=key, body=body,
        )  # fmt: skip
        said = await operation.act(call)
        if isinstance(said, Response) or operation.answer is None:
            return said if isinstance(said, Response) else success(said)
        shown = operation.answer.model_validate(said, from_attributes=True)
        # As this answer is described: what a record has beyond that is not for its caller.
        said = _adapter(operation.answer).dump_python(shown, mode="json")
        return success(said, status=operation.status)


@functools.cache
def _adapter(answer: type[BaseModel]) -> TypeAdapter[Any]:
    return TypeAdapter(answer)


def _is_head(scope: Scope) -> bool:
    # Files alone are looked at so: their answer is theirs, without its body.
    return scope["method"] == "HEAD" and str(scope["path"]).startswith(("/files/", "/share/"))


@public("", "GET", f"{API}/openapi.json")
async def description(_: Call) -> Response:
    """Describe every operation that is described, as OpenAPI 3.1 has it."""
    return JSONResponse(document())


@functools.cache
def document() -> dict[str, Any]:
    """Write the OpenAPI document, when it is first asked for."""
    shown = [one for one in OPERATIONS if one.answer or one.responses or one.extra]
    answers: list[type[BaseModel]] = [Meta, RefusedEnvelope]
    answers += [one.answer for one in shown if one.answer]
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (model, "serialization") for model in dict.fromkeys(answers)
    ]
    models += [(one.body, "validation") for one in shown if one.body]
    _, schemas = models_json_schema(models, ref_template="#/components/schemas/{model}")
    paths: dict[str, dict[str, Any]] = {}
    for one in shown:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Video Generation Service", "version": "1.0.0"},
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(one: Operation) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True,
         "schema": PATH_SCHEMAS.get(name, {"type": "string"})}
        for name in re.findall(r"{(\w+)}", one.path)
    ] + [
        {"name": name, "in": "query", "required": False, "schema": dict(schema)}
        for name, schema in one.query.items()
    ]  # fmt: skip
    responses: dict[str, Any] = dict(one.responses)
    if one.answer is not None:
        responses[str(one.status)] = _response("Successful Response", _enveloped(one.answer))
    if one.scope != PUBLIC:
        for refusal in sorted(_refusals(one)):
            responses[str(refusal)] = _response(
                HTTPStatus(refusal).phrase, _reference(RefusedEnvelope)
            )
            if refusal == 429:
                responses["429"]["headers"] = {"Retry-After": RETRY_AFTER}
    needs = f" Needs the `{one.scope}` scope." if one.scope not in (None, PUBLIC) else ""
    about = f"{(one.act.__doc__ or '').strip()}{needs}"
    body = {"required": not one.optional, **_json(_reference(one.body))} if one.body else {}
    security: list[dict[str, list[str]]] = [] if one.scope == PUBLIC else [{"key": []}]
    return {
        "operationId": one.name, "summary": one.name, "description": about,
        "parameters": parameters, "responses": responses, "security": security,
        **({"requestBody": body} if body else {}), **one.extra,
    }  # fmt: skip


def _refusals(one: Operation) -> set[int]:
    """Give the statuses of what can be refused: by its key, its input, its path, its price."""
    begins, named = one.status == 202, "{" in one.path
    return {401, 403, *one.refusals}.union(
        {400} if one.body or one.query else (),
        {404} if named else (),
        {402, 429} if begins else (),
        {409} if begins and named else (),
    )


def _response(about: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": about, **_json(schema)}


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _reference(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _enveloped(data: type[BaseModel]) -> dict[str, Any]:
    members = {"data": _reference(data), "error": {"type": "null"}, "meta": _reference(Meta)}
    return {"type": "object", "properties": members, "required": list(members)}
