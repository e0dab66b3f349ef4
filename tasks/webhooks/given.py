"""A webhook made elsewhere, by hand: its secret is in the settings, and it is left as it is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tasks.credentials import GIVEN
from tasks.errors import ServiceError
from tasks.ledger import last_heard
from tasks.service import Webhook
from tasks.webhooks.address import is_same, is_under
from tasks.webhooks.ping import missed_events, silence
from tasks.webhooks.status import Standing, Subscriber, told

#: Where no ping can be asked for, a delivery of the last day shows that hints come through.
LATELY = 86400.0


async def given(at: Subscriber, *, patience: float) -> Standing:
    """Have the webhook pinged, and return how it stands."""
    standing = Standing(nonce=GIVEN)
    trouble = "no webhook at the service leads to CALLSHEET_WEBHOOK_URL, so no ping can be sent"
    try:
        for webhook in await at.service.list_webhooks():
            if not _leads_here(at, webhook):
                continue
            unheard = await silence(at, webhook, GIVEN, patience=patience)
            if unheard is None:
                return await _heard(at, webhook)
            trouble = unheard
            standing = replace(standing, webhook_id=webhook.id, url=webhook.url)
    except ServiceError as error:
        trouble = told(error)
    heard_at = await at.ledger.read(partial(last_heard, nonce=GIVEN))
    if standing.webhook_id is None and heard_at is not None and at.clock() - heard_at < LATELY:
        return standing
    return replace(standing, trouble=trouble)


async def _heard(at: Subscriber, webhook: Webhook) -> Standing:
    off = f"{webhook.id} is disabled: `callsheet webhooks edit {webhook.id} --enable`"
    return Standing(
        nonce=GIVEN,
        webhook_id=webhook.id,
        url=webhook.url,
        heard=True,
        missed=await missed_events(at, webhook),
        trouble=off if webhook.is_active is False else None,
    )


def _leads_here(at: Subscriber, webhook: Webhook) -> bool:
    url = at.settings.webhook_url
    if url is None or webhook.url is None:
        return False
    return is_same(webhook.url, url) or is_under(at.prefix, webhook.url)
