"""Owns what the service says about itself: what there is to choose from, the credits left, and
whose key this is; and the root of the MCP server, which takes the same keys and has no tools."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from callsheet.deployments.sandbox import catalog, credits
from callsheet.deployments.sandbox.auth import pages
from callsheet.deployments.sandbox.auth.clients import resource_address
from callsheet.deployments.sandbox.auth.keys import ApiKey
from callsheet.deployments.sandbox.auth.oauth import OAuthError, json_of
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.envelope import Refusal, success
from callsheet.deployments.sandbox.records import (
    CharacterList,
    Credits,
    Me,
    TemplateList,
    ToolList,
    VoiceList,
)
from callsheet.deployments.sandbox.routes.operation import Handlers, add
from callsheet.deployments.sandbox.video import stamp

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
PARSE_ERROR, NO_METHOD = -32700, -32601
ORGANIZATION = {"id": "org_sandbox", "name": pages.ORGANIZATION}


def router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(tags=["Catalog"])
    ops = CatalogRoutes(container)
    op = partial(add, routes, container, "GET", scope="read")
    op("/api/v1/templates", ops.templates, name="templates", answer=TemplateList)
    op("/api/v1/tools", ops.tools, name="tools", answer=ToolList)
    op("/api/v1/characters", ops.characters, name="characters", answer=CharacterList)
    op("/api/v1/voices", ops.voices, name="voices", answer=VoiceList)
    op("/api/v1/credits", ops.credits, name="credits", answer=Credits)
    # Whoever holds a key may ask what it is good for.
    op("/api/v1/me", ops.me, name="me", scope=None, answer=Me)
    mcp = partial(routes.add_api_route, methods=METHODS, include_in_schema=False)
    for path in ("/mcp", "/mcp/"):
        mcp(path, ops.mcp, dependencies=[container.counted("mcp")])
    return routes


class CatalogRoutes(Handlers):
    """The operations themselves."""

    async def templates(self) -> Response:
        """List the template library."""
        return success({"templates": catalog.TEMPLATES})

    async def tools(self) -> Response:
        """List the tools that write a script from a brief."""
        return success({"tools": catalog.listed_tools()})

    async def characters(self) -> Response:
        """List the characters."""
        return success({"characters": catalog.CHARACTERS})

    async def voices(self) -> Response:
        """List the voices."""
        return success({"voices": catalog.VOICES})

    async def credits(self) -> Response:
        """Say what credits there are, and what of them is reserved."""
        return success(await self._run(credits.account))

    async def me(self, request: Request) -> Response:
        """Say whose key this is and what it may do."""
        key: ApiKey = request.state.key
        shown = {
            "id": key.id,
            "name": key.name,
            "scopes": list(key.scopes),
            "created_at": stamp(key.created_at),
            "expires_at": stamp(key.expires_at),
        }
        return success({"organization": ORGANIZATION, "key": shown})

    async def mcp(self, request: Request) -> Response:
        """Answer the root of the MCP server."""
        self._admit(request.headers.get("authorization"))
        if request.method != "POST":
            message, allowed = "Send JSON-RPC by POST.", {"allow": "POST"}
            raise Refusal(405, "method_not_allowed", message, headers=allowed)
        try:
            said = await json_of(request)
        except OAuthError as error:
            return _refused(None, PARSE_ERROR, error.description, status=400)
        if "id" not in said:
            return Response(status_code=202)
        return _refused(said["id"], NO_METHOD, "The sandbox has no MCP tools: use its REST API.")

    def _admit(self, authorization: str | None) -> None:
        """Let any good key pass; tell any other where to find out how to get one (RFC 9728)."""
        try:
            self._container.keyring.admit(authorization)
        except Refusal as refusal:
            _, _, fault = refusal.headers["www-authenticate"].partition(" ")
            challenge = f'Bearer resource_metadata="{resource_address(self._container.origin)}"'
            refusal.headers["www-authenticate"] = ", ".join(filter(None, (challenge, fault)))
            raise


def _refused(call_id: object, code: int, message: str, *, status: int = 200) -> Response:
    error = {"code": code, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": call_id, "error": error}, status)
