"""Owns the sandbox's own doors, which the real service does not have: what was charged, how often
each operation was called, what is to go wrong, and user codes, answered without a browser.

No key is asked for: only this machine can reach them.
"""

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field
from starlette.responses import JSONResponse

from callsheet.deployments.sandbox import accounting, video
from callsheet.deployments.sandbox.auth import oauth, pages
from callsheet.deployments.sandbox.auth.oauth import CodeApproval, normal_code
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.envelope import Refusal, RequestBody, body_of
from callsheet.deployments.sandbox.faults.kinds import listed_kinds
from callsheet.deployments.sandbox.faults.planned import FaultRefused
from callsheet.deployments.sandbox.webhooks import outbox


class ApproveCode(RequestBody):
    """Yes with these scopes, by default all that the program asked for; or no."""

    user_code: Annotated[str, Field(min_length=1)]
    email: str | None = None
    approve: bool = True
    scopes: list[str] | None = None


APPROVE = Depends(body_of(ApproveCode))


def router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/_sandbox", include_in_schema=False)

    @routes.get("/charges")
    async def charge_log() -> Response:
        return JSONResponse(await container.database.run(accounting.charge_log))

    @routes.get("/reports")
    async def reports_kept() -> Response:
        return JSONResponse(await container.database.run(video.listed_reports))

    @routes.get("/calls")
    async def call_counts() -> Response:
        return JSONResponse(dict(container.calls))

    @routes.delete("/list")
    async def empty_list() -> Response:
        container.unlisted = await container.database.run(video.newest)
        return JSONResponse({"unlisted": container.unlisted})

    @routes.get("/webhooks")
    async def webhook_counts() -> Response:
        return JSONResponse(await container.database.run(outbox.counts))

    @routes.get("/faults")
    async def planned_faults() -> Response:
        return JSONResponse(container.faults.listed())

    @routes.post("/faults")
    async def plan_faults(request: Request) -> Response:
        try:
            said = await request.json()
        except ValueError:
            raise Refusal(400, "invalid_fault", "The body is not JSON.") from None
        entries = said if isinstance(said, list) else [said]
        try:
            return JSONResponse(container.faults.plan(entries), 201)
        except FaultRefused as refusal:
            raise Refusal(400, "invalid_fault", str(refusal)) from None

    @routes.delete("/faults")
    async def clear_faults() -> Response:
        return JSONResponse({"cleared": container.faults.clear()})

    @routes.delete("/faults/{number}")
    async def clear_fault(number: int) -> Response:
        return JSONResponse({"cleared": container.faults.clear(number)})

    @routes.get("/faults/log")
    async def fault_log() -> Response:
        return JSONResponse(container.faults.log())

    @routes.get("/faults/kinds")
    async def fault_kinds() -> Response:
        return JSONResponse(listed_kinds())

    @routes.get("/pending")
    async def pending() -> Response:
        now = container.now()
        waiting = await container.database.run(oauth.waiting, now=now)
        return JSONResponse(
            [_shown_approval(one, expires_in=one.expires_at - now) for one in waiting]
        )

    @routes.post("/approve")
    async def approve(request: Request, said: ApproveCode = APPROVE) -> Response:
        # A browser names the site a form or script comes from; nothing else sends an origin.
        if request.headers.get("origin", container.origin) != container.origin:
            raise Refusal(403, "forbidden", "This is not for pages of other sites.")
        if said.approve and said.scopes == []:
            raise Refusal(400, "invalid_scope", "Grant at least one scope, or do not approve.")
        now = container.now()
        answered = await container.database.run(_answer, said, now=now)
        return JSONResponse(_shown_approval(answered))

    return routes


def _answer(db: Connection, said: ApproveCode, *, now: float) -> CodeApproval:
    user_code = normal_code(said.user_code)
    email = _email(said, oauth.find(db, user_code))
    approval = oauth.open_to(db, user_code, email, now=now)
    granted: Sequence[str] = approval.scopes if said.scopes is None else said.scopes
    return oauth.answer(db, user_code, email, granted if said.approve else (), now=now)


def _email(said: ApproveCode, approval: CodeApproval | None) -> str:
    if said.email is None:
        expected = None if approval is None else approval.email
        return expected or pages.PEOPLE[0].email
    email = pages.email_of(said.email)
    if email is None:
        raise Refusal(400, "invalid_request", "email: is not an e-mail address")
    return email


def _shown_approval(approval: CodeApproval, **more: object) -> dict[str, object]:
    return {
        "user_code": approval.user_code,
        "state": approval.state,
        "app": approval.app,
        "email": approval.email,
        "asked": approval.scopes,
        "granted": approval.granted,
        **more,
    }
