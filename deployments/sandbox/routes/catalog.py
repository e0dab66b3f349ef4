"""Owns what the service says about itself: what there is to choose from, the credits left, and
whose key this is."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from deployments.sandbox import catalog, charges, tools
from deployments.sandbox.auth import people
from deployments.sandbox.auth.key_table import Key
from deployments.sandbox.catalog_records import (
    CharacterList,
    Credits,
    Me,
    TemplateList,
    ToolList,
    VoiceList,
)
from deployments.sandbox.envelope import success
from deployments.sandbox.house import House
from deployments.sandbox.routes.operation import add
from deployments.sandbox.video import stamp

ORGANIZATION = {"id": "org_sandbox", "name": people.ORGANIZATION}


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["Catalog"])
    ops = Catalog(house)
    op = partial(add, routes, house, "GET", scope="read")
    op("/templates", ops.templates, name="templates", answer=TemplateList)
    op("/tools", ops.tools, name="tools", answer=ToolList)
    op("/characters", ops.characters, name="characters", answer=CharacterList)
    op("/voices", ops.voices, name="voices", answer=VoiceList)
    op("/credits", ops.credits, name="credits", answer=Credits)
    # Whoever holds a key may ask what it is good for.
    add(routes, house, "GET", "/me", ops.me, name="me", scope=None, answer=Me)
    return routes


class Catalog:
    """The operations themselves."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def templates(self) -> Response:
        """List the template library."""
        return success({"templates": catalog.TEMPLATES})

    async def tools(self) -> Response:
        """List the tools that write a script from a brief."""
        return success({"tools": tools.listed()})

    async def characters(self) -> Response:
        """List the characters."""
        return success({"characters": catalog.CHARACTERS})

    async def voices(self) -> Response:
        """List the voices."""
        return success({"voices": catalog.VOICES})

    async def credits(self) -> Response:
        """Say what credits there are, and what of them is reserved."""
        return success(await self._house.database.run(charges.account))

    async def me(self, request: Request) -> Response:
        """Say whose key this is and what it may do."""
        key: Key = request.state.key
        shown = {
            "id": key.id,
            "name": key.name,
            "scopes": list(key.scopes),
            "created_at": stamp(key.created_at),
            "expires_at": stamp(key.expires_at),
        }
        return success({"organization": ORGANIZATION, "key": shown})
