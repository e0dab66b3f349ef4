"""Owns the operations on webhooks: make, look, change, delete, try out, and what was delivered."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response
from starlette.responses import JSONResponse

from deployments.sandbox.bodies import body_of, described
from deployments.sandbox.envelope import Refusal, success
from deployments.sandbox.house import House
from deployments.sandbox.openapi import answers
from deployments.sandbox.webhooks import attempts, outbox, webhook
from deployments.sandbox.webhooks.address import AddressRefused, check_url
from deployments.sandbox.webhooks.bodies import (
    AttemptList,
    CreateWebhook,
    PatchWebhook,
    PingResult,
    WebhookCreated,
    WebhookDeleted,
    WebhookList,
    WebhookShown,
)

ALL = "/api/v1/webhooks"
ONE = f"{ALL}/{{webhook_id}}"
ASKED = Depends(body_of(CreateWebhook))
CHANGES = Depends(body_of(PatchWebhook))


def router(house: House) -> APIRouter:
    """Make the routes."""
    # One router, not several within it: the fault layer names an operation by its routes.
    routes = APIRouter(tags=["Webhooks"])
    _collection(routes, house)
    _one(routes, house)
    _deliveries(routes, house)
    _control(routes, house)
    return routes


def _collection(routes: APIRouter, house: House) -> None:
    @routes.get(
        ALL,
        dependencies=[house.operation("webhooks_list", "read")],
        responses=answers(200, WebhookList),
    )
    async def list_webhooks() -> Response:
        found = await house.database.run(webhook.listed)
        return success({"webhooks": [one.shown() for one in found]})

    @routes.post(
        ALL,
        status_code=201,
        dependencies=[house.operation("webhooks_create", "write")],
        responses=answers(201, WebhookCreated, 400),
        openapi_extra=described(CreateWebhook),
    )
    async def create_webhook(asked: CreateWebhook = ASKED) -> Response:
        _check(house, asked.url)
        made = await house.database.run(lambda db: webhook.create(db, asked, now=house.now()))
        return success({**made.shown(), "secret": made.secret}, status=201)


def _one(routes: APIRouter, house: House) -> None:
    @routes.get(
        ONE,
        dependencies=[house.operation("webhooks_get", "read")],
        responses=answers(200, WebhookShown, 404),
    )
    async def get_webhook(webhook_id: str) -> Response:
        found = await house.database.run(lambda db: webhook.get(db, webhook_id))
        return success(found.shown())

    @routes.patch(
        ONE,
        dependencies=[house.operation("webhooks_patch", "write")],
        responses=answers(200, WebhookShown, 400, 404),
        openapi_extra=described(PatchWebhook),
    )
    async def patch_webhook(webhook_id: str, changes: PatchWebhook = CHANGES) -> Response:
        if changes.url is not None:
            _check(house, changes.url)
        changed = await house.database.run(
            lambda db: webhook.patch(db, webhook_id, changes, now=house.now())
        )
        if not changed.is_active:
            house.webhooks.stop(webhook_id)
        return success(changed.shown())

    @routes.delete(
        ONE,
        dependencies=[house.operation("webhooks_delete", "write")],
        responses=answers(200, WebhookDeleted, 404),
    )
    async def delete_webhook(webhook_id: str) -> Response:
        await house.database.run(lambda db: webhook.delete(db, webhook_id))
        house.webhooks.stop(webhook_id)
        return success({"id": webhook_id, "deleted": True})


def _deliveries(routes: APIRouter, house: House) -> None:
    @routes.post(
        f"{ONE}/test",
        dependencies=[house.operation("webhooks_test", "write")],
        responses=answers(200, PingResult, 404),
    )
    async def test_webhook(webhook_id: str) -> Response:
        found = await house.database.run(lambda db: webhook.get(db, webhook_id))
        event_id, answer = await house.webhooks.ping(found)
        return success(
            {
                "delivered": answer.delivered,
                "event_id": event_id,
                "status": answer.status,
                "error": answer.error,
                "milliseconds": answer.milliseconds,
            }
        )

    @routes.get(
        f"{ONE}/deliveries",
        dependencies=[house.operation("webhooks_deliveries", "read")],
        responses=answers(200, AttemptList, 404),
    )
    async def list_deliveries(webhook_id: str) -> Response:
        tried = await house.database.run(lambda db: attempts.listed(db, webhook_id))
        return success({"deliveries": tried})


def _control(routes: APIRouter, house: House) -> None:
    @routes.get("/_sandbox/webhooks", include_in_schema=False)
    async def webhook_counts() -> Response:
        return JSONResponse(await house.database.run(outbox.counts))


def _check(house: House, url: str) -> None:
    try:
        check_url(url, allow_loopback=house.options.allow_loopback_webhooks)
    except AddressRefused as refusal:
        raise Refusal(400, "invalid_request", f"url: {refusal}") from None
