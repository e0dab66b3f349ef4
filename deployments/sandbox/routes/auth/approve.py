"""Owns answering user codes without a browser: a door of the sandbox's own, for scripts and tests.
No key is asked for: only this machine can reach it, and no page of another site may."""

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field
from starlette.responses import JSONResponse

from deployments.sandbox.auth import approvals, people
from deployments.sandbox.auth.approvals import Approval
from deployments.sandbox.auth.user_codes import normal
from deployments.sandbox.bodies import Body, body_of
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.house import House


class Answer(Body):
    """Yes with these scopes, by default all that the program asked for; or no."""

    user_code: Annotated[str, Field(min_length=1)]
    email: str | None = None
    approve: bool = True
    scopes: list[str] | None = None


ANSWER = Depends(body_of(Answer))


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/_sandbox", include_in_schema=False)

    @routes.get("/pending")
    async def pending() -> Response:
        now = house.now()
        waiting = await house.database.run(lambda db: approvals.waiting(db, now=now))
        return JSONResponse([_shown(one, expires_in=one.expires_at - now) for one in waiting])

    @routes.post("/approve")
    async def approve(request: Request, said: Answer = ANSWER) -> Response:
        # A browser names the site a form or script comes from; nothing else sends an origin.
        if request.headers.get("origin", house.origin) != house.origin:
            raise Refusal(403, "forbidden", "This is not for pages of other sites.")
        if said.approve and said.scopes == []:
            raise Refusal(400, "invalid_scope", "Grant at least one scope, or do not approve.")
        now = house.now()
        answered = await house.database.run(lambda db: _answer(db, said, now=now))
        return JSONResponse(_shown(answered))

    return routes


def _answer(db: Connection, said: Answer, *, now: float) -> Approval:
    user_code = normal(said.user_code)
    email = _email(said, approvals.find(db, user_code))
    approval = approvals.open_to(db, user_code, email, now=now)
    granted: Sequence[str] = approval.scopes if said.scopes is None else said.scopes
    return approvals.answer(db, user_code, email, granted if said.approve else (), now=now)


def _email(said: Answer, approval: Approval | None) -> str:
    if said.email is None:
        expected = None if approval is None else approval.email
        return expected or people.PEOPLE[0].email
    email = people.email_of(said.email)
    if email is None:
        raise Refusal(400, "invalid_request", "email: is not an e-mail address")
    return email


def _shown(approval: Approval, **more: object) -> dict[str, object]:
    return {
        "user_code": approval.user_code,
        "state": approval.state,
        "app": approval.app,
        "email": approval.email,
        "asked": approval.scopes,
        "granted": approval.granted,
        **more,
    }
