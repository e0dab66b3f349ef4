"""The work of a row in the four steps workflow engines are given: quote, create, poll, deliver.

Plain functions over one httpx client that threads share, as each engine's documentation has it. A
video is written and forgotten: no captions, no look, no digest, no sync.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from tests.bench.bare import KEY, brief


class Work:
    """The four steps of a row against the service at `base`, with videos in `folder`."""

    def __init__(self, base: str, folder: str) -> None:
        self._base, self._folder = base, Path(folder)
        self._http = httpx.Client(headers=KEY, limits=httpx.Limits(max_connections=None))

    def quote(self, n: int) -> int:
        """Return what row `n` costs."""
        return int(self._ask("POST", f"{self._base}/videos/estimate", brief(n))["credits"])

    def create(self, n: int) -> str:
        """Have the video made, once per key; return the service's name for it."""
        key = f"peer:{self._folder.name}:{n:05}"
        body = {**brief(n), "start_generation": True, "idempotency_key": key}
        return str(self._ask("POST", f"{self._base}/videos", body)["id"])

    def poll(self, video: str) -> str:
        """Return the address of the finished video."""
        seen = self._ask("GET", f"{self._base}/videos/{video}")
        assert seen["status"] == "completed"
        return str(self._ask("GET", f"{self._base}/videos/{video}/download")["url"])

    def deliver(self, n: int, address: str) -> int:
        """Write the video; return its size in bytes."""
        place = self._folder / f"r{n:03}"
        place.mkdir(parents=True, exist_ok=True)
        return (place / f"r{n:03}-take1.mp4").write_bytes(self._send("GET", address, None))

    def _ask(self, method: str, address: str, body: Any = None) -> Any:
        return json.loads(self._send(method, address, body))["data"]

    def _send(self, method: str, address: str, body: Any) -> bytes:
        answer = self._http.request(method, address, json=body)
        answer.raise_for_status()
        return answer.content
