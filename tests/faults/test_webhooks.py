"""Deliveries of webhooks that are spoilt, late, lost or a lie: none costs a video or a credit.

Hints shorten waits and are never believed, so that every campaign here ends as one without them.
What the receiver itself does with such deliveries is in `tests/receiver`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.production import Production, colleague
from tests.fixtures import sandbox_fixture
from tests.receiver.hearing import Hearing, body_about, hearing, post, signature

pytestmark = pytest.mark.merge

FAULTS = ("doubled", "replayed", "late", "forged", "unsigned", "reserialized", "missing")


#: A sandbox that sends to this machine, and retries within a second.
service = sandbox_fixture("--allow-loopback-webhooks", "--time-scale", "100")


@contextmanager
def subscribed(production: Production, secret: str | None = None) -> Iterator[tuple[Hearing, str]]:
    """Have the ledger's deliveries heard, under the true secret unless another is given."""
    folder: Path = production.desk.folder
    with hearing(folder) as idle:
        port = idle.address[1]
    url = f"http://127.0.0.1:{port}/hooks/nonce"
    made = production.service.post("webhooks", {"url": url, "events": ["video.ready"]})
    given = {
        "CALLSHEET_RECEIVER": f"127.0.0.1:{port}",
        "CALLSHEET_WEBHOOK_SECRET": secret or made["secret"],
    }
    with hearing(folder, **given) as one:
        yield one, made["id"]
    colleague(production.service, "DELETE", f"webhooks/{made['id']}")


def struck(production: Production) -> set[str]:
    return {strike["do"] for strike in production.service.strikes() if strike["on"] == "webhook"}


def test_whatever_befalls_deliveries_every_video_is_paid_once(production: Production) -> None:
    production.asks_for(len(FAULTS) + 2)
    for number, fault in enumerate(FAULTS, start=1):
        more = {"seconds": 1} if fault == "late" else {}
        production.service.plan_fault(on="webhook", do=fault, nth=number, **more)

    with subscribed(production) as (hears, _):
        ended = production.run()

        assert ended.status == 0, ended.err
        production.waits_for(lambda: len(hears.inbox()) == production.videos - 1)
        production.waits_for(lambda: struck(production) == set(FAULTS))
        named = [video for hint in hears.inbox() for video in hint["videos"]]
        ours = {row["video_id"] for row in production.desk.rows(production.name).values()}
        assert len(named) == len(set(named)), "each was heard once"
        assert set(named) <= ours
        production.ends_well()


def test_a_subscription_that_the_service_gives_up_costs_no_video(production: Production) -> None:
    production.asks_for(8)
    with subscribed(production, secret="not the true one") as (hears, webhook_id):
        ended = production.run()

        assert ended.status == 0, ended.err
        # Each is tried again, until twenty failures in a row are enough.
        path = f"webhooks/{webhook_id}"
        production.waits_for(lambda: not colleague(production.service, "GET", path)["is_active"])
        assert hears.inbox() == []
        production.ends_well()


def test_a_signed_lie_is_not_believed(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="render", nth=1, do="slow", seconds=4)
    with subscribed(production) as (hears, _):
        parked = production.run("--max-wait", "1s")
        assert parked.status == 5
        video = production.row()["video_id"]
        secret = hears.settings.webhook_secret[0].get_secret_value()
        for number, said in enumerate((video, "vid_of_a_stranger", "no video at all")):
            body = body_about(said, kind="video.deleted", number=number)
            assert post(hears.address, body, signed=signature(body, secret)).status == 200
        again = production.run("--max-wait", "1s")

        assert again.status == 5, "it was looked at, and was not ready"
        assert production.states() == {"rendering": 1}
        assert production.count("reserve") == 1
        production.ends_well()
