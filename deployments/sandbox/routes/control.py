"""Owns the sandbox's own doors, which the real service does not have: what was charged, and how
often each operation was called. No key is asked for: only this machine can reach them."""

from fastapi import APIRouter, Response
from starlette.responses import JSONResponse

from deployments.sandbox import charges
from deployments.sandbox.house import House


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/_sandbox", include_in_schema=False)

    @routes.get("/charges")
    async def charge_log() -> Response:
        return JSONResponse(await house.database.run(charges.log))

    @routes.get("/calls")
    async def call_counts() -> Response:
        return JSONResponse(dict(house.calls))

    return routes
