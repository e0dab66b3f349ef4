"""Deliveries of the sandbox, which sends as the service does and spoils some on order."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.credentials import drop_webhook_secret
from tests.faults.production import colleague
from tests.fixtures import sandbox_fixture
from tests.programs import Sandbox
from tests.receiver.hearing import Hearing, hearing, keep

#: Six hours of retries take seconds.
SCALE = "10000"


service = sandbox_fixture(
    "--allow-loopback-webhooks", "--time-scale", SCALE, "--webhook-vendor", "House"
)


@pytest.fixture(scope="module")
def hears(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hearing]:
    given = {"CALLSHEET_WEBHOOK_SECRET": "", "CALLSHEET_WEBHOOK_VENDOR": "House"}
    with hearing(tmp_path_factory.mktemp("receiver"), **given) as one:
        yield one


@dataclass(frozen=True)
class Subscribed:
    """A subscription of the sandbox that leads to a receiver."""

    service: Sandbox
    hears: Hearing
    webhook_id: str

    def make(self) -> str:
        """Have a video made; return its video's id."""
        brief = {"tool": "product-launch", "fields": {"product": "Kettle"}, "duration_seconds": 5}
        return str(self.service.post("videos", {**brief, "start_generation": True})["id"])

    def outcomes(self) -> list[tuple[int, int | None]]:
        """Return attempt and status of everything that was tried, oldest first."""
        path = f"webhooks/{self.webhook_id}/deliveries"
        tried = colleague(self.service, "GET", path)["deliveries"]
        return [(one["attempt"], one["status"]) for one in reversed(tried)]

    def heard(self, video: str) -> list[dict[str, Any]]:
        """Wait until a video is in the inbox and an attempt is listed; return its hints."""
        self.hears.waits_for(lambda: self.hears.inbox(video))
        self.hears.waits_for(lambda: (self.outcomes() or [(0, 0)])[-1][1] == 200)
        return self.hears.inbox(video)


@pytest.fixture
def subscribed(service: Sandbox, hears: Hearing, request: pytest.FixtureRequest) -> Iterator[Any]:
    nonce = f"n{abs(hash(request.node.name)):x}"
    made = service.post(
        "webhooks", {"url": f"{hears.receiver.address}/hooks/{nonce}", "events": ["video.ready"]}
    )
    keep(hears.settings.webhook_secrets, nonce, made["secret"], time.time())
    yield Subscribed(service, hears, made["id"])
    service.clear_faults()
    colleague(service, "DELETE", f"webhooks/{made['id']}")
    drop_webhook_secret(hears.settings.webhook_secrets, nonce)


@pytest.mark.parametrize(
    ("fault", "outcomes", "refused"),
    [
        ("doubled", [(1, 200)], 0),
        ("unsigned", [(1, 401), (2, 200)], 1),
    ],
)
def test_every_delivery_ends_as_one_hint(
    subscribed: Subscribed, fault: str, outcomes: list[tuple[int, int]], refused: int
) -> None:
    before = subscribed.hears.receiver.refused
    subscribed.service.plan_fault(on="webhook", do=fault, nth=1)
    video = subscribed.make()

    (hint,) = subscribed.heard(video)
    assert hint["kind"] == "video.ready"
    assert hint["attempt"] == outcomes[-1][0]
    assert subscribed.outcomes() == outcomes
    assert subscribed.hears.receiver.refused - before == refused
    assert len(subscribed.hears.inbox(video)) == 1


def test_two_subscriptions_at_once_are_heard_and_harm_nobody(
    subscribed: Subscribed, service: Sandbox, hears: Hearing
) -> None:
    url = f"{hears.receiver.address}/hooks/other"
    other = service.post("webhooks", {"url": url, "events": ["video.ready"]})
    keep(hears.settings.webhook_secrets, "other", other["secret"], time.time())
    video = subscribed.make()

    assert 1 <= len(subscribed.heard(video)) <= 2
    both = Subscribed(service, hears, other["id"])
    hears.waits_for(lambda: both.outcomes() == [(1, 200)])
    colleague(service, "DELETE", f"webhooks/{other['id']}")
    drop_webhook_secret(hears.settings.webhook_secrets, "other")


def test_a_receiver_that_was_away_hears_the_retry(service: Sandbox, tmp_path: Path) -> None:
    with hearing(tmp_path) as one:
        address = one.address
    url = f"http://127.0.0.1:{address[1]}/hooks/away"
    made = service.post("webhooks", {"url": url, "events": ["video.ready"]})
    given = {
        "CALLSHEET_RECEIVER": f"127.0.0.1:{address[1]}",
        "CALLSHEET_WEBHOOK_SECRET": made["secret"],
        "CALLSHEET_WEBHOOK_VENDOR": "House",
    }
    later = Subscribed(service, one, made["id"])
    video = later.make()
    one.waits_for(lambda: later.outcomes()[:1] == [(1, None)])
    with hearing(tmp_path, **given) as back:
        back.waits_for(lambda: back.inbox(video))
    colleague(service, "DELETE", f"webhooks/{made['id']}")
