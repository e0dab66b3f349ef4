"""Owns how an operation of the service becomes a route: counted, scoped and described."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor

from callsheet.deployments.sandbox.bodies import RequestBody, described
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.envelope import described_answers, success
from callsheet.deployments.sandbox.limits import CallTerms
from callsheet.deployments.sandbox.video import Video


class _VideoSegment(Convertor[str]):
    """The id of a video in a path: anything but the operations that stand in its place."""

    regex = r"(?!(?:estimate|image-to-video|talking-avatar|character-swap)(?:/|$))[^/]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("video", _VideoSegment())

#: Patterns are for the document alone: any other id is one that we do not know, which is 404.
VideoId = Annotated[str, Path(json_schema_extra={"pattern": "^vid_[0-9a-z]+$"})]
SceneNumber = Annotated[str, Path(json_schema_extra={"type": "integer", "minimum": 1})]
#: What every operation that spends credits can refuse with, besides its own refusals.
PAID = (402, 429)


class Handlers:
    """What the handlers of every router share: the parts of the container, and what begins."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._run = container.database.run
        self._now = container.now

    def _call(self, request: Request, name: str) -> CallTerms:
        """Say who makes a paid call of this name, when, and under which limits."""
        container, key = self._container, request.state.key.id
        limits, timing = container.limits, container.timing
        return CallTerms(operation=name, key=key, now=self._now(), limits=limits, timing=timing)

    async def _begin(
        self, request: Request, name: str, act: Callable[..., Video], *said: object
    ) -> Response:
        """Have a render begin by a paid call of this name, and answer as every such call does."""
        call = self._call(request, name)
        started = await self._run(act, *said, call)
        self._container.render_pool.begin(started)
        return success(started.created(call.now), status=202)


def add(
    routes: APIRouter,
    container: Container,
    method: str,
    path: str,
    handler: Callable[..., Awaitable[Response]],
    *,
    name: str,
    scope: str | None,
    answer: type[BaseModel] | None = None,
    status: int = 200,
    refusals: Sequence[int] = (),
    body: type[RequestBody] | None = None,
    body_optional: bool = False,
    query: Mapping[str, Mapping[str, Any]] | None = None,
    responses: Mapping[int | str, Mapping[str, Any]] | None = None,
) -> None:
    """Add one line of the specification's table (section 4).

    `name` is what its calls are counted under; `answer` is what its envelope holds, unless
    `responses` says all of it; `query` describes parameters that the handler reads by itself.
    """
    about = f"{(handler.__doc__ or '').strip()} Needs the `{scope}` scope." if scope else None
    extra: dict[str, Any] = described(body, optional=body_optional) if body else {}
    if query:
        extra["parameters"] = [
            {"name": name, "in": "query", "required": False, "schema": dict(schema)}
            for name, schema in query.items()
        ]
    shown = described_answers(status, answer, *refusals) if answer else dict(responses or {})
    routes.add_api_route(
        path,
        handler,
        methods=[method],
        status_code=status,
        operation_id=name,
        description=about,
        dependencies=[container.operation(name, scope)],
        responses=shown,  # type: ignore[arg-type]
        response_class=Response,
        openapi_extra=extra,
    )
