"""One webhook of a running sandbox, as a test sees it: through the service's own answers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from tests.contract.sandbox.receiver import WITHIN


@dataclass(frozen=True)
class Subscription:
    running: Any
    id: str
    secret: str

    def shown(self) -> dict[str, Any]:
        return dict(self._data(""))

    def patch(self, **changes: Any) -> None:
        answer = self.running.client.patch(f"/webhooks/{self.id}", json=changes)
        assert answer.status_code == 200, answer.text

    def delete(self) -> None:
        assert self.running.client.delete(f"/webhooks/{self.id}").status_code == 200

    def tried(self, number: int) -> list[dict[str, Any]]:
        """Wait until so many attempts are listed, and give them, newest first."""
        until = time.monotonic() + WITHIN
        while len(tried := self._data("/deliveries")["deliveries"]) < number:
            assert time.monotonic() < until, tried
            time.sleep(0.02)
        return list(tried)

    def pending(self) -> list[dict[str, Any]]:
        """Give what is still to be delivered to it."""
        pending = control(self.running)["pending"]
        return [one for one in pending if one["webhook_id"] == self.id]

    def settle(self) -> None:
        """Wait until nothing is to be delivered to it."""
        until = time.monotonic() + WITHIN
        while left := self.pending():
            assert time.monotonic() < until, left
            time.sleep(0.02)

    def _data(self, path: str) -> Any:
        return self.running.client.get(f"/webhooks/{self.id}{path}").json()["data"]


def subscribe(running: Any, url: str, events: list[str] | None = None) -> Subscription:
    """Make a webhook for finished renders, or for the kinds given."""
    body = {"url": url, "events": events or ["video.ready"]}
    made = running.client.post("/webhooks", json=body)
    assert made.status_code == 201, made.text
    data = made.json()["data"]
    return Subscription(running, data["id"], data["secret"])


def control(running: Any) -> dict[str, Any]:
    """Ask the sandbox's own door what is pending, and how deliveries ended."""
    return dict(running.client.get(running.door("webhooks")).json())
