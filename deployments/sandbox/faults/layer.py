"""Owns the outermost layer of the application: a planned fault meets the request it strikes."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from deployments.sandbox.faults import breaks, spoils, substitutes
from deployments.sandbox.faults.answer import again, whole_body
from deployments.sandbox.faults.call import Call, key_of
from deployments.sandbox.faults.operations import Operations
from deployments.sandbox.house import House

STRIKES = {**breaks.STRIKES, **substitutes.STRIKES, **spoils.STRIKES}


class FaultLayer:
    """Passes every request on, untouched and unread, unless a fault waits for its operation."""

    def __init__(self, app: ASGIApp, house: House, operations: Operations) -> None:
        self._app = app
        self._house = house
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        faults = self._house.faults
        planned = scope["type"] == "http" and not faults.idle
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
        call = Call(
            fault=fault, app=self._app, scope=scope, body=body, receive=receive, send=send,
            house=self._house, video=operation.video,
        )  # fmt: skip
        await STRIKES[fault.do](call)
