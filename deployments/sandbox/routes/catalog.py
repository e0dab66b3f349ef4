"""Owns what the service says about itself: its tools and the credits left."""

from fastapi import APIRouter, Response

from deployments.sandbox import charges, tools
from deployments.sandbox.envelope import success
from deployments.sandbox.house import House


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["Catalog"])

    @routes.get("/tools", dependencies=[house.operation("tools", "read")])
    async def list_tools() -> Response:
        return success({"tools": tools.listed()})

    @routes.get("/credits", dependencies=[house.operation("credits", "read")])
    async def get_credits() -> Response:
        return success(await house.database.run(charges.account))

    return routes
