"""Owns the root of the MCP server: it takes the same keys as the REST API, and has no tools."""

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from deployments.sandbox.auth.fields import json_of
from deployments.sandbox.auth.metadata import resource_address
from deployments.sandbox.auth.refusals import OAuthError
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.house import House

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
PARSE_ERROR, NO_METHOD = -32700, -32601


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/mcp", methods=METHODS, dependencies=[house.counted("mcp")])
    @routes.api_route("/mcp/", methods=METHODS, dependencies=[house.counted("mcp")])
    async def mcp(request: Request) -> Response:
        _admit(house, request.headers.get("authorization"))
        if request.method != "POST":
            raise Refusal(
                405, "method_not_allowed", "Send JSON-RPC by POST.", headers={"allow": "POST"}
            )
        try:
            call = await json_of(request)
        except OAuthError as error:
            return _refused(None, PARSE_ERROR, error.description, status=400)
        if "id" not in call:
            return Response(status_code=202)
        return _refused(call["id"], NO_METHOD, "The sandbox has no MCP tools: use its REST API.")

    return routes


def _admit(house: House, authorization: str | None) -> None:
    """Let any good key pass; tell any other where to find out how to get one (RFC 9728, 5.1)."""
    try:
        house.keyring.admit(authorization)
    except Refusal as refusal:
        _, _, fault = refusal.headers["www-authenticate"].partition(" ")
        challenge = f'Bearer resource_metadata="{resource_address(house.origin)}"'
        refusal.headers["www-authenticate"] = ", ".join(filter(None, (challenge, fault)))
        raise


def _refused(call_id: object, code: int, message: str, *, status: int = 200) -> Response:
    error = {"code": code, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": call_id, "error": error}, status)
