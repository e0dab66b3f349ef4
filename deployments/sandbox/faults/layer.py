"""The outermost layer of the application: a planned fault meets the request it strikes, and the
name of its operation is known before any of it has run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.faults.kinds import kinds_on
from callsheet.deployments.sandbox.faults.struck import StruckCall, again, key_of, whole_body

#: The sandbox's own doors: nothing goes wrong there.
OWN = "/_sandbox"


class FaultLayer:
    """Passes every request on, untouched and unread, unless a fault waits for its operation."""

    def __init__(self, app: ASGIApp, container: Container, operations: Operations) -> None:
        self._app = app
        self._container = container
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        faults = self._container.faults
        planned = scope["type"] == "http"
        operation = self._operations.of(scope) if planned else None
        if operation is None or not faults.watches(operation.name):
            await self._app(scope, receive, send)
            return
        body = await whole_body(receive)
        if body is None:
            return
        fault = faults.strike(operation.name, video=operation.video, key=key_of(body))
        if fault is None:
            await self._app(scope, again(body, receive), send)
            return
        call = StruckCall(
            fault=fault, app=self._app, scope=scope, body=body, receive=receive, send=send,
            service=self._container, video=operation.video,
        )  # fmt: skip
        await kinds_on(operation.name)[fault.do].effect(call)


class CalledOperation(NamedTuple):
    """What a request calls, and the id of the video in its path."""

    name: str
    video: str | None


class Operations:
    """The operations of all routers, in the order in which they are tried.

    A route counted under a name goes by that name; any other by its function's.
    """

    def __init__(self, routers: Sequence[APIRouter], names: Mapping[object, str]) -> None:
        self._routes = [
            (route.methods or set(), route.path_regex, _name_of(route, names))
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and not route.path.startswith(OWN)
        ]
        self.names = list(dict.fromkeys(name for _, _, name in self._routes))

    def of(self, scope: Scope) -> CalledOperation | None:
        """Name what a request calls; None where there is no such route."""
        for methods, path, name in self._routes:
            found: re.Match[str] | None = path.match(scope["path"])
            if found is not None and scope["method"] in methods:
                said = found.groupdict()
                return CalledOperation(name, said.get("video_id") or said.get("name"))
        return None


def _name_of(route: APIRoute, names: Mapping[object, str]) -> str:
    counted = (names.get(depends.dependency) for depends in route.dependencies)
    return next((name for name in counted if name is not None), route.name)
