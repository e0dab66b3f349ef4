"""Operations on the catalog, the account, and webhooks."""

from __future__ import annotations

from callsheet.deployments.sandbox import accounting
from callsheet.deployments.sandbox.answers import (
    Credits,
    Deleted,
    Me,
    list_of,
)
from callsheet.deployments.sandbox.auth import pages
from callsheet.deployments.sandbox.bodies import CATALOG
from callsheet.deployments.sandbox.database import every
from callsheet.deployments.sandbox.envelope import invalid
from callsheet.deployments.sandbox.operations import Call, operation
from callsheet.deployments.sandbox.webhooks import webhook
from callsheet.deployments.sandbox.webhooks.webhook import (
    AddressRefused,
    Attempt,
    CreateWebhook,
    PatchWebhook,
    Webhook,
    WebhookShown,
    check_url,
)

Shown = dict[str, object]
ONE = "/webhooks/{webhook_id}"
ATTEMPTS = list_of("deliveries", Attempt)


async def catalog(call: Call) -> Shown:
    """List what a request can choose from."""
    name = call.operation.name
    return {name: CATALOG[name]}


for _name in CATALOG:
    operation(_name, "GET", f"/{_name}", "read", list_of(_name))(catalog)


@operation("credits", "GET", "/credits", "read", Credits)
async def credits(call: Call) -> dict[str, int]:
    """Say what credits there are, and what of them is reserved."""
    return await call.run(accounting.account)


@operation("me", "GET", "/me", None, Me)
async def me(call: Call) -> Shown:
    """Say whose key this is and what it may do."""
    organization = {"id": "org_sandbox", "name": pages.ORGANIZATION}
    return {"organization": organization, "key": call.key}


@operation("webhooks_list", "GET", "/webhooks", "read", list_of("webhooks", WebhookShown))
async def list_webhooks(call: Call) -> Shown:
    """List webhooks, oldest first."""
    return {"webhooks": await call.run(every, Webhook)}


@operation("webhooks_create", "POST", "/webhooks", "write", Webhook, status=201, body=CreateWebhook)
async def create_webhook(call: Call) -> Webhook:
    """Create a webhook; its secret is in this answer alone."""
    _check(call, call.body.url)
    return await call.run(webhook.create, call.body, now=call.now)


@operation("webhooks_get", "GET", ONE, "read", WebhookShown)
async def get_webhook(call: Call) -> Webhook:
    """Give a webhook."""
    return await call.run(webhook.get, call.path["webhook_id"])


@operation("webhooks_patch", "PATCH", ONE, "write", WebhookShown, body=PatchWebhook)
async def patch_webhook(call: Call) -> Webhook:
    """Update URL, events or name, switch off or re-enable."""
    changes: PatchWebhook = call.body
    if changes.url is not None:
        _check(call, changes.url)
    changed = await call.run(webhook.patch, call.path["webhook_id"], changes, now=call.now)
    if not changed.is_active:
        call.service.webhooks.stop(changed.id)
    return changed


@operation("webhooks_delete", "DELETE", ONE, "write", Deleted)
async def delete_webhook(call: Call) -> Shown:
    """Delete a webhook."""
    webhook_id = call.path["webhook_id"]
    await call.run(webhook.delete, webhook_id)
    call.service.webhooks.stop(webhook_id)
    return {"id": webhook_id, "deleted": True}


@operation("webhooks_test", "POST", f"{ONE}/test", "write", Attempt)
async def test_webhook(call: Call) -> Attempt:
    """Send a signed test ping."""
    found = await call.run(webhook.get, call.path["webhook_id"])
    return await call.service.webhooks.ping(found)


@operation("webhooks_deliveries", "GET", f"{ONE}/deliveries", "read", ATTEMPTS)
async def deliveries(call: Call) -> Shown:
    """List the last 50 delivery attempts, newest first."""
    return {"deliveries": await call.run(webhook.attempts_at, call.path["webhook_id"])}


def _check(call: Call, url: str) -> None:
    try:
        check_url(url, allow_loopback=call.service.options.allow_loopback_webhooks)
    except AddressRefused as refusal:
        raise invalid(f"url: {refusal}") from None
