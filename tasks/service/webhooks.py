"""The operations on webhook subscriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.brief import Json, canonical_json
from tasks.service import operations as ops
from tasks.service import records
from tasks.service.connection import Connection
from tasks.service.reading import find_list
from tasks.service.values import Webhook


class Webhooks(Connection):
    """Webhooks: where the service tells that a film is ready."""

    async def list_webhooks(self) -> list[Webhook]:
        """Return the subscriptions, without their secrets."""
        return await self._ask(ops.LIST_WEBHOOKS, records.webhooks)

    async def create_webhook(
        self, url: str, events: Sequence[str], more: Mapping[str, Json] | None = None
    ) -> Webhook:
        """Subscribe; the answer holds the signing secret, now and never again."""
        body = canonical_json({**(more or {}), "url": url, "events": list(events)})
        return await self._ask(ops.CREATE_WEBHOOK, records.webhook, body=body)

    async def get_webhook(self, webhook_id: str) -> Webhook:
        """Look at one subscription."""
        return await self._ask(ops.GET_WEBHOOK, records.webhook, webhook_id=webhook_id)

    async def edit_webhook(self, webhook_id: str, changes: Mapping[str, Json]) -> Webhook:
        """Change `url`, `events`, `name`; `is_active` true enables a disabled one again."""
        body = canonical_json(changes)
        return await self._ask(ops.EDIT_WEBHOOK, records.webhook, webhook_id=webhook_id, body=body)

    async def delete_webhook(self, webhook_id: str) -> None:
        """End a subscription."""
        await self._call(ops.DELETE_WEBHOOK, records.nothing, webhook_id=webhook_id)

    async def test_webhook(self, webhook_id: str) -> Json:
        """Have a signed ping sent; return what the service says became of it."""
        return await self._call(ops.TEST_WEBHOOK, records.opaque, webhook_id=webhook_id)

    async def deliveries(self, webhook_id: str) -> list[Json]:
        """Return the last 50 attempts at delivery, each in whatever shape."""
        return await self._ask(ops.DELIVERIES, find_list, webhook_id=webhook_id)
