"""What the sandbox's routes share, and how an operation becomes a route."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.params import Depends as Dependency
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor

from callsheet.deployments.sandbox.accounting import CallTerms, Limits, Timing
from callsheet.deployments.sandbox.auth.clients import Keyring
from callsheet.deployments.sandbox.auth.oauth import Lifetimes
from callsheet.deployments.sandbox.database import Database
from callsheet.deployments.sandbox.envelope import (
    RequestBody,
    described,
    described_answers,
    success,
)
from callsheet.deployments.sandbox.faults.planned import Faults
from callsheet.deployments.sandbox.options import OptionRefused, Options
from callsheet.deployments.sandbox.rendered_files import Links
from callsheet.deployments.sandbox.rendering import RenderPool
from callsheet.deployments.sandbox.video import Video
from callsheet.deployments.sandbox.webhooks.dispatcher import DeliveryAttempts, Dispatcher
from callsheet.deployments.sandbox.webhooks.sender import WebhookSender


class Container:
    """One sandbox: its state, its keys and its render pool."""

    def __init__(self, options: Options, *, now: Callable[[], float] = time.time) -> None:
        instant = options.render == "instant"
        videos = options.state / "videos"
        try:
            videos.mkdir(parents=True, exist_ok=True)
            given = options.key_file.read_text("utf-8").strip() if options.key_file else None
            self.keyring = Keyring(options.state / "keys.json", given=given, now=now)
            self.database = Database(options.state / "state.sqlite3", credits=options.credits)
        except (OSError, KeyError, ValueError, sqlite3.Error) as error:
            raise OptionRefused(_trouble(options, error)) from error
        self.options = options
        self.videos = videos
        self.now = now
        self.links = Links(self.keyring.signing, options.time_scale)
        self.lifetimes = Lifetimes(options.time_scale)
        self.timing = Timing(options.time_scale, instant=instant)
        self.limits = Limits(options)
        self.render_pool = RenderPool(
            self.database,
            videos,
            instant=instant,
            now=now,
            strike=lambda video: self.faults.strike("render", video=video),
            ready=lambda: self.webhooks.wake(),
        )
        self.calls: Counter[str] = Counter()
        self.names: dict[object, str] = {}
        #: Videos up to this one are not listed.
        self.unlisted = 0
        self.faults = Faults(options.state / "faults.jsonl")
        attempts = DeliveryAttempts(
            self.database,
            WebhookSender(options),
            strike=lambda video: self.faults.strike("webhook", video=video),
            time_scale=options.time_scale,
            now=now,
        )
        self.webhooks = Dispatcher(self.database, attempts, now=now)
        self.origin = ""

    async def close(self) -> None:
        """Stop the renders and the deliveries, then close the state."""
        await self.render_pool.close()
        await self.webhooks.close()
        await self.keyring.keep_uses(self.database)
        self.database.close()

    async def forget_key(self, key: str | None) -> None:
        """Forget that this idempotency key ever came."""
        forgotten = "DELETE FROM idempotency WHERE key = ?"
        await self.database.run(lambda db: db.execute(forgotten, (key,)))

    def operation(self, name: str, scope: str | None) -> Dependency:
        """Count a call of this operation and let it pass only with a key that holds the scope.

        Without a scope any good key will do. The key is in `request.state.key` from then on.
        """

        async def admit(request: Request) -> None:
            self.calls[name] += 1
            request.state.key = self.keyring.admit(request.headers.get("authorization"), scope)

        return self._named(name, admit)

    def counted(self, name: str) -> Dependency:
        """Count a call of this operation, which asks for no key."""

        async def count() -> None:
            self.calls[name] += 1

        return self._named(name, count)

    def _named(self, name: str, dependency: Callable[..., Awaitable[None]]) -> Dependency:
        # By this the fault layer knows what a route is called, before any of it has run.
        self.names[dependency] = name
        wanted: Dependency = Depends(dependency)
        return wanted


def _trouble(options: Options, error: Exception) -> str:
    if "locked" in str(error):
        return f"Another sandbox is using {options.state}: stop it, or choose another --state."
    return f"The state directory {options.state} cannot be used: {error}"


# Owns how an operation of the service becomes a route: counted, scoped and described.


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
