"""The secrets of webhooks as a receiver reads them while others are made."""

from __future__ import annotations

import os
import time
from pathlib import Path

from callsheet.tasks.credentials import WebhookSecret, keep_webhook_secret
from callsheet.tasks.credentials.secret_files import LiveSecrets


def test_a_secret_of_the_same_moment_is_read_as_well(tmp_path: Path) -> None:
    """File systems count in ticks: what is written twice within one shows one change."""
    folder, now = tmp_path / "secrets", time.time()
    live = LiveSecrets(folder, [], clock=lambda: now)
    made = {"organisation": "studio", "url": "https://hooks.example.com/x", "made_at": now}
    keep_webhook_secret(folder, WebhookSecret(nonce="first", secret="one", **made))
    moment = folder.stat().st_mtime_ns
    assert [secret for _, secret in live()] == [b"one"]

    keep_webhook_secret(folder, WebhookSecret(nonce="second", secret="two", **made))
    os.utime(folder, ns=(moment, moment))

    assert sorted(secret for _, secret in live()) == [b"one", b"two"]
