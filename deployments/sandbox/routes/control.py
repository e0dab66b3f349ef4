"""Owns the sandbox's own doors, which the real service does not have: what was charged, how often
each operation was called, and what is to go wrong. No key is asked for: only this machine can
reach them."""

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from deployments.sandbox import charges, reports
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.faults.entry import FaultRefused
from deployments.sandbox.faults.kinds import listed
from deployments.sandbox.house import House


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/_sandbox", include_in_schema=False)

    @routes.get("/charges")
    async def charge_log() -> Response:
        return JSONResponse(await house.database.run(charges.log))

    @routes.get("/reports")
    async def reports_kept() -> Response:
        return JSONResponse(await house.database.run(reports.listed))

    @routes.get("/calls")
    async def call_counts() -> Response:
        return JSONResponse(dict(house.calls))

    @routes.get("/faults")
    async def planned_faults() -> Response:
        return JSONResponse(house.faults.listed())

    @routes.post("/faults")
    async def plan_faults(request: Request) -> Response:
        try:
            said = await request.json()
        except ValueError:
            raise Refusal(400, "invalid_fault", "The body is not JSON.") from None
        entries = said if isinstance(said, list) else [said]
        try:
            return JSONResponse(house.faults.plan(entries), 201)
        except FaultRefused as refusal:
            raise Refusal(400, "invalid_fault", str(refusal)) from None

    @routes.delete("/faults")
    async def clear_faults() -> Response:
        return JSONResponse({"cleared": house.faults.clear()})

    @routes.delete("/faults/{number}")
    async def clear_fault(number: int) -> Response:
        return JSONResponse({"cleared": house.faults.clear(number)})

    @routes.get("/faults/log")
    async def fault_log() -> Response:
        return JSONResponse(house.faults.log())

    @routes.get("/faults/kinds")
    async def fault_kinds() -> Response:
        return JSONResponse(listed())

    return routes
