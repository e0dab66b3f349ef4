"""Operations on the catalog, the account, and webhooks."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import JSONResponse

from callsheet.deployments.sandbox import accounting, bodies
from callsheet.deployments.sandbox.auth import pages
from callsheet.deployments.sandbox.auth.clients import ApiKey, resource_address
from callsheet.deployments.sandbox.auth.oauth import OAuthError, json_of
from callsheet.deployments.sandbox.container import Container, Handlers, add
from callsheet.deployments.sandbox.envelope import Refusal, body_of, success
from callsheet.deployments.sandbox.video import (
    CharacterList,
    Credits,
    Me,
    TemplateList,
    ToolList,
    VoiceList,
    stamp,
)
from callsheet.deployments.sandbox.webhooks import outbox, webhook
from callsheet.deployments.sandbox.webhooks.sender import AddressRefused, check_url
from callsheet.deployments.sandbox.webhooks.webhook import (
    AttemptList,
    CreateWebhook,
    PatchWebhook,
    PingResult,
    WebhookCreated,
    WebhookDeleted,
    WebhookList,
    WebhookShown,
)

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
    # Anyone who holds a key may ask what it is good for.
    op("/api/v1/me", ops.me, name="me", scope=None, answer=Me)
    mcp = partial(routes.add_api_route, methods=METHODS, include_in_schema=False)
    for path in ("/mcp", "/mcp/"):
        mcp(path, ops.mcp, dependencies=[container.counted("mcp")])
    return routes


class CatalogRoutes(Handlers):
    """The operations themselves."""

    async def templates(self) -> Response:
        """List the template library."""
        return success({"templates": bodies.TEMPLATES})

    async def tools(self) -> Response:
        """List the tools that write a script from a brief."""
        return success({"tools": bodies.listed_tools()})

    async def characters(self) -> Response:
        """List the characters."""
        return success({"characters": bodies.CHARACTERS})

    async def voices(self) -> Response:
        """List the voices."""
        return success({"voices": bodies.VOICES})

    async def credits(self) -> Response:
        """Say what credits there are, and what of them is reserved."""
        return success(await self._run(accounting.account))

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


# Owns the operations on webhooks: make, look, change, delete, try out, and what was delivered.


ASKED = Depends(body_of(CreateWebhook))
CHANGES = Depends(body_of(PatchWebhook))


def webhooks_router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/webhooks", tags=["Webhooks"])
    ops = WebhookRoutes(container)
    op = partial(add, routes, container)
    op("GET", "", ops.list, name="webhooks_list", scope="read", answer=WebhookList)
    op("POST", "", ops.create, name="webhooks_create", scope="write", status=201,
       answer=WebhookCreated, refusals=[400], body=CreateWebhook)  # fmt: skip
    one = partial(op, path="/{webhook_id}")
    one("GET", handler=ops.get, name="webhooks_get", scope="read", answer=WebhookShown,
        refusals=[404])  # fmt: skip
    one("PATCH", handler=ops.patch, name="webhooks_patch", scope="write", answer=WebhookShown,
        refusals=[400, 404], body=PatchWebhook)  # fmt: skip
    one("DELETE", handler=ops.delete, name="webhooks_delete", scope="write",
        answer=WebhookDeleted, refusals=[404])  # fmt: skip
    op("POST", "/{webhook_id}/test", ops.test, name="webhooks_test", scope="write",
       answer=PingResult, refusals=[404])  # fmt: skip
    op("GET", "/{webhook_id}/deliveries", ops.deliveries, name="webhooks_deliveries",
       scope="read", answer=AttemptList, refusals=[404])  # fmt: skip
    return routes


class WebhookRoutes(Handlers):
    """The operations themselves."""

    async def list(self) -> Response:
        """List webhooks, oldest first."""
        found = await self._run(webhook.listed)
        return success({"webhooks": [one.shown() for one in found]})

    async def create(self, asked: CreateWebhook = ASKED) -> Response:
        """Create a webhook; its secret is in this answer alone."""
        self._check(asked.url)
        made = await self._run(webhook.create, asked, now=self._now())
        return success({**made.shown(), "secret": made.secret}, status=201)

    async def get(self, webhook_id: str) -> Response:
        """Give a webhook."""
        return success((await self._run(webhook.get, webhook_id)).shown())

    async def patch(self, webhook_id: str, changes: PatchWebhook = CHANGES) -> Response:
        """Update URL, events or name, switch off or re-enable."""
        if changes.url is not None:
            self._check(changes.url)
        changed = await self._run(webhook.patch, webhook_id, changes, now=self._now())
        if not changed.is_active:
            self._container.webhooks.stop(webhook_id)
        return success(changed.shown())

    async def delete(self, webhook_id: str) -> Response:
        """Delete a webhook."""
        await self._run(webhook.delete, webhook_id)
        self._container.webhooks.stop(webhook_id)
        return success({"id": webhook_id, "deleted": True})

    async def test(self, webhook_id: str) -> Response:
        """Send a signed test ping."""
        found = await self._run(webhook.get, webhook_id)
        event_id, result = await self._container.webhooks.ping(found)
        shown = {name: getattr(result, name) for name in ("status", "error", "milliseconds")}
        return success({"delivered": result.delivered, "event_id": event_id, **shown})

    async def deliveries(self, webhook_id: str) -> Response:
        """List the last 50 delivery attempts, newest first."""
        return success({"deliveries": await self._run(outbox.listed_attempts, webhook_id)})

    def _check(self, url: str) -> None:
        try:
            check_url(url, allow_loopback=self._container.options.allow_loopback_webhooks)
        except AddressRefused as refusal:
            raise Refusal(400, "invalid_request", f"url: {refusal}") from None
