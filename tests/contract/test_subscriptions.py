"""Our webhook at the service: made once, found again, proved, replaced when it cannot be used.

The sandbox, the receiver and the ledger are real; only the hours are short.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.credentials import WebhookSecret, keep_webhook_secret, read_webhook_secrets
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.webhook_events import hinted_at, latest_hint
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.service import operations as ops
from callsheet.tasks.webhooks import SubscriptionStatus, new_nonce, rotate_subscription
from tests.contract.sandbox.receiver import receiving as answering
from tests.contract.sandbox.receiver import status as answering_with
from tests.contract.sandboxes import clear_faults, finished, made, new_key, plan_fault
from tests.contract.subscribing import SHORT, Place, place
from tests.unit.service.asked import subscribe
from tests.web import free_port

WITHIN = 30.0
Opening = Callable[..., AbstractAsyncContextManager[Place]]


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "empty.db"

    async def make() -> None:
        await (await open_ledger(f"sqlite:///{path}")).aclose()

    asyncio.run(make())
    return path


@pytest.fixture
def opening(tmp_path: Path, running: dict, empty_ledger: Path) -> Opening:
    """Open places that share a ledger and an address, unless a test says otherwise."""
    ledger, port = tmp_path / "ledger.db", free_port()
    shutil.copy(empty_ledger, ledger)

    def opened(name: str = "here", **more: object) -> AbstractAsyncContextManager[Place]:
        given = {"ready": running, "ledger": ledger, "port": port} | more
        return place(tmp_path / name, **given)

    return opened


@pytest.fixture
async def here(opening: Opening) -> AsyncIterator[Place]:
    async with opening() as one:
        yield one


async def until(true: Callable[[], Awaitable[object]]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + WITHIN
    while not await true():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


def keep(place: Place, nonce: str, **more: Any) -> None:
    """Keep the secret of a webhook as one does that makes it; without a `secret`, its place."""
    given = {"url": place.at.prefix + nonce, "made_at": time.time()} | more
    made = WebhookSecret(nonce=nonce, organisation=place.at.organisation, **given)
    keep_webhook_secret(place.at.folder, made)


def kept_here(place: Place) -> dict[str, WebhookSecret]:
    return {one.nonce: one for one in read_webhook_secrets(place.at.folder)}


async def briefly(seconds: float) -> None:
    """Sleep, but not as long as deliveries on their way may take where there are none."""
    await asyncio.sleep(min(seconds, 0.1))


async def subscribed(here: Place) -> SubscriptionStatus:
    """Subscribe while a receiver is at work."""
    async with here.receiver():
        return await here.ensure()


async def test_it_is_made_once_and_found_again_by_every_process_key_and_place(
    here, opening, running
):
    # Another address of the service stands for another key: both change the fingerprint.
    other = {**running, "base_url": running["base_url"].replace("127.0.0.1", "localhost")}
    async with here.receiver():
        first = await here.ensure()
        (webhook,), (secret,) = await here.webhooks(), here.secrets()
        async with opening() as process, opening("there") as there:
            found = [await one.ensure() for one in (here, process, there)]
            refused = await rotate_subscription(there.at)
            assert there.secrets() == []
        async with opening(ready=other) as renewed:
            found.append(await renewed.ensure())

    assert (first.made, first.heard, first.trouble) == (True, True, None)
    assert {replace(one, made=True) for one in found} == {first}
    assert webhook.url == first.url == here.at.prefix + str(first.nonce)
    assert (webhook.id, webhook.events) == (first.webhook_id, ("video.ready",))
    assert (secret.stem, secret.stat().st_mode & 0o077) == (first.nonce, 0)
    assert "made by another machine" in str(refused.trouble)
    kept = kept_here(here)[str(first.nonce)]
    assert kept.organisation == renewed.at.organisation != here.at.organisation
    assert [one.id for one in await here.webhooks()] == [first.webhook_id]


async def test_two_at_once_make_one(here, opening):
    async with here.receiver(), opening() as other:
        both = await asyncio.gather(here.ensure(), other.ensure())

    assert sorted(status.made for status in both) == [False, True]
    assert both[0].nonce == both[1].nonce
    assert all(status.heard for status in both)
    assert len(await here.webhooks()) == 1


async def test_a_create_that_was_cut_off_leaves_nothing_behind(here):
    """As a kill leaves it between the create and its answer: its secret is nobody's."""
    nonce = new_nonce()
    keep(here, nonce)
    lost = await subscribe(here.at.service, here.at.prefix + nonce)
    status = await subscribed(here)

    assert (status.made, status.heard) == (True, True)
    assert [webhook.id for webhook in await here.webhooks()] == [status.webhook_id] != [lost.id]
    assert [secret.stem for secret in here.secrets()] == [status.nonce]


@pytest.mark.parametrize("fault", ["drop-after", "shapeless"])
async def test_a_lost_answer_is_mended_the_next_time(here, running, fault):
    plan_fault(running, "webhooks_create", fault)
    lost = await subscribed(here)
    assert len(await here.webhooks()) == 1
    status = await subscribed(here)

    assert (bool(lost.trouble), lost.heard) == (True, False)
    assert (status.made, status.heard) == (True, True)
    assert [webhook.id for webhook in await here.webhooks()] == [status.webhook_id]


async def test_a_refused_create_leaves_nothing_behind(here, running):
    plan_fault(running, "webhooks_create", "status", status=400)
    refused = await subscribed(here)

    assert "400" in str(refused.trouble)
    assert (await here.webhooks(), here.secrets()) == ([], [])
    assert (await subscribed(here)).heard


async def test_a_webhook_whose_secret_is_lost_is_told_and_replaced_by_a_person(here):
    async with here.receiver():
        first = await here.ensure()
        (here.at.folder / f"{first.nonce}.json").unlink()
        lost = await here.ensure(SHORT)
        kept = [webhook.id for webhook in await here.webhooks()]
        await here.at.service.ask(ops.DELETE_WEBHOOK, str(first.webhook_id))
        status = await here.ensure()

    assert (lost.made, lost.heard) == (False, False)
    assert f"callsheet webhooks delete {first.webhook_id}" in str(lost.trouble)
    assert kept == [first.webhook_id]
    assert (status.made, status.heard) == (True, True)
    assert [webhook.id for webhook in await here.webhooks()] == [status.webhook_id]


async def test_a_webhook_deleted_at_the_service_is_replaced(here):
    first = await subscribed(here)
    await here.at.service.ask(ops.DELETE_WEBHOOK, str(first.webhook_id))
    status = await subscribed(here)

    assert (status.made, status.heard) == (True, True)
    assert status.nonce != first.nonce
    old = kept_here(here)[str(first.nonce)]
    assert old.retired_at is not None
    assert old.lives(time.time())


@pytest.mark.merge
async def test_disabled_after_twenty_failures_it_is_enabled_once_it_is_heard(here):
    first = await subscribed(here)
    service = here.at.service
    # Each is tried several times; of the attempts the service lists the last 50.
    await asyncio.gather(*(made(service, new_key()) for _ in range(10)))

    async def is_off() -> bool:
        return (await service.ask(ops.GET_WEBHOOK, str(first.webhook_id))).is_active is False

    await until(is_off)
    down = await here.ensure(SHORT)
    assert await is_off(), "it is enabled only when somebody hears it"
    up, settled = await subscribed(here), await subscribed(here)

    assert (down.heard, down.enabled) == (False, False)
    assert "disabled until a ping arrives" in str(down.trouble)
    assert (up.heard, up.enabled, up.made, up.trouble) == (True, True, False, None)
    assert up.webhook_id == first.webhook_id
    assert not settled.enabled
    assert not await is_off()


async def test_a_receiver_that_is_down_is_a_trouble(here):
    await subscribed(here)
    down, up = await here.ensure(SHORT), await subscribed(here)

    assert (down.heard, down.made) == (False, False)
    assert "was not heard within 1.5 s" in str(down.trouble)
    assert "callsheet receive" in str(down.trouble)
    assert (up.heard, up.trouble) == (True, None)


async def test_a_receiver_with_another_ledger_is_not_heard(here, opening, tmp_path, empty_ledger):
    shutil.copy(empty_ledger, tmp_path / "other.db")
    async with opening(ledger=tmp_path / "other.db") as other, other.receiver():
        status = await here.ensure(SHORT)

    assert (status.made, status.heard) == (True, False)
    assert "with this ledger" in str(status.trouble)


async def test_a_webhook_of_another_place_that_is_not_heard_is_left_alone(here, opening):
    first = await subscribed(here)
    async with opening("there") as there:
        status = await there.ensure(SHORT)

    assert not status.made
    assert "made by another machine" in str(status.trouble)
    assert f"callsheet webhooks delete {first.webhook_id}" in str(status.trouble)
    assert len(await here.webhooks()) == 1


async def test_of_two_after_a_rotation_that_was_cut_off_the_newer_one_stays(here):
    async with here.receiver():
        first = await here.ensure()
        nonce = new_nonce()
        hook = await subscribe(here.at.service, here.at.prefix + nonce)
        keep(here, nonce, secret=str(hook.secret), made_at=time.time() + 1)
        status = await here.ensure()

    assert (status.nonce, status.heard) == (nonce, True)
    assert [webhook.id for webhook in await here.webhooks()] == [hook.id] != [first.webhook_id]


@pytest.mark.merge
async def test_rotation_refuses_no_delivery_and_loses_none(here):
    async with here.receiver() as receiver:
        first = await here.ensure()
        videos: list[str] = []

        async def video() -> None:
            for _ in range(8):
                videos.append((await made(here.at.service, new_key())).video_id)

        producing = asyncio.gather(*(video() for _ in range(3)))
        status = await rotate_subscription(here.at, ping_timeout=WITHIN)
        await producing

        async def all_told() -> bool:
            told = await here.at.ledger.read(hinted_at, videos=videos)
            return told.keys() == set(videos)

        await until(all_told)
        assert receiver.refused == 0

    assert (status.made, status.heard, status.trouble) == (True, True, None)
    assert status.nonce != first.nonce
    assert [webhook.id for webhook in await here.webhooks()] == [status.webhook_id]
    old = kept_here(here)[str(first.nonce)]
    assert old.lives(time.time()), "what the old one has sent may still be on its way"


@pytest.mark.merge
async def test_rotation_waits_for_what_is_on_its_way_through_the_old_one(here, running):
    async with here.receiver():
        await here.ensure()
        plan_fault(running, "webhook", "late", nth="1-99", seconds=2.0)
        video_id = (await made(here.at.service, new_key())).video_id
        assert await finished(here.at.service, video_id)
        status = await rotate_subscription(here.at, ping_timeout=WITHIN)
        clear_faults(running)
        told = await here.at.ledger.read(hinted_at, videos=[video_id])

    assert status.made
    assert told.keys() == {video_id}


async def test_a_rotation_that_is_not_heard_keeps_the_old_one(here):
    first = await subscribed(here)
    status = await rotate_subscription(here.at, ping_timeout=SHORT)

    assert (status.made, status.webhook_id) == (False, first.webhook_id)
    assert "the old one kept" in str(status.trouble)
    assert [webhook.id for webhook in await here.webhooks()] == [first.webhook_id]


async def test_webhooks_of_others_are_left_alone(here):
    service = here.at.service
    by_hand = await subscribe(service, here.at.prefix + "made-by-hand")
    deeper = await subscribe(service, f"{here.at.prefix}team/{new_nonce()}")
    beside = await subscribe(service, here.at.prefix.replace("/hooks/", f"/hooks-2/{new_nonce()}"))
    async with here.receiver():
        status = await here.ensure()
        rotated = await rotate_subscription(replace(here.at, sleep=briefly))

    assert (status.made, rotated.made) == (True, True)
    listed = {webhook.id for webhook in await service.ask(ops.LIST_WEBHOOKS)}
    assert {by_hand.id, deeper.id, beside.id} < listed
    for webhook in (by_hand, deeper, beside):
        await service.ask(ops.DELETE_WEBHOOK, webhook.id)


async def test_a_key_without_the_write_scope_is_a_trouble(opening, running):
    async with opening(key=running["keys"]["read"]) as reader:
        status = await reader.ensure()
        left = (await reader.webhooks(), reader.secrets())

    assert "`write` scope" in str(status.trouble)
    assert "callsheet login --scopes" in str(status.trouble)
    assert left == ([], [])


@pytest.mark.parametrize(
    ("on", "status"), [("webhooks_list", 429), ("webhooks_create", 503), ("webhooks_test", 429)]
)
async def test_a_service_in_trouble_is_a_trouble(here, running, on, status):
    plan_fault(running, on, "status", status=status, retry_after=3600)
    status = await subscribed(here)
    assert (bool(status.trouble), status.heard) == (True, False)


async def test_a_webhook_made_elsewhere_is_only_listened_to(here, opening):
    url = here.at.prefix.rstrip("/")
    hook = await subscribe(here.at.service, url)
    given = {"CALLSHEET_WEBHOOK_SECRET": str(hook.secret)}
    async with opening("there", more=given) as there:
        silent = await there.ensure(SHORT)
        async with there.receiver():
            status = await there.ensure()
        left = there.secrets()
        refused = await rotate_subscription(there.at)
    await here.at.service.ask(ops.DELETE_WEBHOOK, hook.id)

    assert not silent.heard
    assert "was not heard" in str(silent.trouble)
    assert (status.nonce, status.heard, status.trouble) == ("given", True, None)
    assert status.webhook_id == hook.id
    assert left == []
    assert refused.trouble


async def test_a_secret_that_others_can_read_is_a_fault_of_the_configuration(here):
    first = await subscribed(here)
    file = here.at.folder / f"{first.nonce}.json"
    file.chmod(0o644)
    with pytest.raises(ConfigurationError, match="can be read by others"):
        await here.ensure()
    file.chmod(0o600)
    assert (await subscribed(here)).webhook_id == first.webhook_id


async def test_a_delivery_that_nobody_signed_does_not_count_as_heard(here):
    """A program at our address that says 200 to everything is no receiver."""
    with answering() as other:
        other.answer = answering_with(200)
        settings = here.at.settings.model_copy(update={"webhook_url": other.url})
        status = await Place(replace(here.at, settings=settings)).ensure(SHORT)
    assert (status.made, status.heard) == (True, False)
    assert await here.at.ledger.read(latest_hint) == 0


async def test_nothing_is_made_while_its_secret_would_have_no_place(here):
    def stuck() -> str:
        (here.at.folder / "stuck.json").mkdir()
        return "stuck"

    async with here.receiver():
        with pytest.raises(ConfigurationError, match="cannot be written"):
            await replace(here, at=replace(here.at, nonce=stuck)).ensure()
    assert await here.webhooks() == []
