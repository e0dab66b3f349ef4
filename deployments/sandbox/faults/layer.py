"""The outermost layer of the application: a planned fault meets the request it strikes."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.faults.kinds import kinds_on
from callsheet.deployments.sandbox.faults.struck import StruckCall, again, key_of, whole_body
from callsheet.deployments.sandbox.operations import Operations


class FaultLayer:
    """Passes every request on, untouched and unread, unless a fault waits for its operation."""

    def __init__(self, app: ASGIApp, container: Container, operations: Operations) -> None:
        self._app = app
        self._container = container
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        faults, called = self._container.faults, self._operations.of(scope)
        if called is None or not called.name or not faults.watches(called.name):
            await self._app(scope, receive, send)
            return
        body = await whole_body(receive)
        if body is None:
            return
        fault = faults.strike(called.name, video=called.video, key=key_of(body))
        if fault is None:
            await self._app(scope, again(body, receive), send)
            return
        call = StruckCall(
            fault=fault, app=self._app, scope=scope, body=body, receive=receive, send=send,
            service=self._container, video=called.video,
        )  # fmt: skip
        await kinds_on(called.name)[fault.do].effect(call)
