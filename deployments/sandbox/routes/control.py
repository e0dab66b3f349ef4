"""The sandbox's own doors, which the real service does not have: what was charged, how often each
operation was called, what is to go wrong, and user codes, answered without a browser.

No key is asked for: only this machine can reach them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import isawaitable
from sqlite3 import Connection
from typing import Annotated

from pydantic import Field
from starlette.responses import JSONResponse, Response

from callsheet.deployments.sandbox import accounting, video
from callsheet.deployments.sandbox.auth import login
from callsheet.deployments.sandbox.auth.login import Approval, normal_code
from callsheet.deployments.sandbox.database import every
from callsheet.deployments.sandbox.envelope import Refusal, RequestBody, invalid
from callsheet.deployments.sandbox.faults.kinds import listed_kinds
from callsheet.deployments.sandbox.faults.planned import FaultRefused
from callsheet.deployments.sandbox.operations import Call, public
from callsheet.deployments.sandbox.video import Report
from callsheet.deployments.sandbox.webhooks import webhook

#: Where they are.
OWN = "/_sandbox/"


class ApproveCode(RequestBody):
    """Yes with these scopes, by default all that the program asked for; or no."""

    user_code: Annotated[str, Field(min_length=1)]
    email: Annotated[str, Field(pattern=login.EMAIL)] | None = None
    approve: bool = True
    scopes: list[str] | None = None


#: What can be looked at, by where it is.
LOOKS: dict[str, Callable[[Call], object]] = {
    "charges": lambda call: call.run(accounting.charge_log),
    "reports": lambda call: call.run(_reports),
    "calls": lambda call: call.service.calls,
    "webhooks": lambda call: call.run(webhook.counts),
    "faults": lambda call: call.service.faults.listed(),
    "faults/log": lambda call: call.service.faults.log(),
    "faults/kinds": lambda _: listed_kinds(),
    "pending": lambda call: call.run(_pending, now=call.now),
}


async def look(call: Call) -> Response:
    """Show one of them."""
    said = LOOKS[call.operation.path.removeprefix(OWN)](call)
    return JSONResponse(await said if isawaitable(said) else said)


for _name in LOOKS:
    public("", "GET", f"{OWN}{_name}")(look)


@public("", "DELETE", f"{OWN}list")
async def empty_list(call: Call) -> Response:
    """Take every video off the list of videos."""
    call.service.unlisted = await call.run(video.newest)
    return JSONResponse({"unlisted": call.service.unlisted})


@public("", "POST", f"{OWN}faults")
async def plan_faults(call: Call) -> Response:
    """Add one fault or a list of them to the plan."""
    try:
        said = json.loads(await call.request.body())
        entries = said if isinstance(said, list) else [said]
        return JSONResponse(call.service.faults.plan(entries), 201)
    except ValueError:
        raise Refusal(400, "invalid_fault", "The body is not JSON.") from None
    except FaultRefused as refusal:
        raise Refusal(400, "invalid_fault", str(refusal)) from None


@public("", "DELETE", f"{OWN}faults")
@public("", "DELETE", OWN + "faults/{number}")
async def clear_faults(call: Call) -> Response:
    """Take all faults out of the plan, or the one with this number."""
    number = call.path.get("number")
    if number is None:
        return JSONResponse({"cleared": call.service.faults.clear()})
    if not number.isdecimal():
        raise invalid("A fault is cleared by its number.")
    return JSONResponse({"cleared": call.service.faults.clear(int(number))})


@public("", "POST", f"{OWN}approve", body=ApproveCode)
async def approve(call: Call) -> Response:
    """Answer a user code without a browser."""
    said: ApproveCode = call.body
    if said.approve and said.scopes == []:
        raise Refusal(400, "invalid_scope", "Grant at least one scope, or do not approve.")
    return JSONResponse(_shown(await call.run(_answer, said, now=call.now)))


def _answer(db: Connection, said: ApproveCode, *, now: float) -> Approval:
    user_code = normal_code(said.user_code)
    approval = login.open_to(db, user_code, now=now)
    email = said.email or approval.email or ""
    granted = approval.scopes if said.scopes is None else said.scopes
    return login.answer(db, user_code, email, granted if said.approve else (), now=now)


def _reports(db: Connection) -> list[dict[str, object]]:
    return [one.model_dump(mode="json") for one in every(db, Report)]


def _pending(db: Connection, *, now: float) -> list[dict[str, object]]:
    waiting = login.waiting(db, now=now)
    return [{**_shown(one), "expires_in": one.expires_at - now} for one in waiting]


def _shown(approval: Approval) -> dict[str, object]:
    return {
        "user_code": approval.id,
        "state": approval.state,
        "app": approval.app,
        "email": approval.email,
        "asked": approval.scopes,
        "granted": approval.granted,
    }
