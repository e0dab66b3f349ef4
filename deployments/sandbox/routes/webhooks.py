"""Owns the operations on webhooks: make, look, change, delete, try out, and what was delivered."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Depends, Response

from callsheet.deployments.sandbox.bodies import body_of
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.envelope import Refusal, success
from callsheet.deployments.sandbox.routes.operation import Handlers, add
from callsheet.deployments.sandbox.webhooks import outbox, webhook
from callsheet.deployments.sandbox.webhooks.address import AddressRefused, check_url
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

ASKED = Depends(body_of(CreateWebhook))
CHANGES = Depends(body_of(PatchWebhook))


def router(container: Container) -> APIRouter:
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
