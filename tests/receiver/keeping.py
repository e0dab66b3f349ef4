"""Secrets as `callsheet webhooks ensure` keeps them."""

from __future__ import annotations

from pathlib import Path

from callsheet.tasks.credentials import WebhookSecret, keep_webhook_secret


def keep(
    folder: Path, nonce: str, secret: str, at: float, *, retired_at: float | None = None
) -> None:
    """Keep the secret of a subscription that was made `at` a moment."""
    url = f"https://hooks.example.com/{nonce}"
    kept = WebhookSecret(
        nonce=nonce, organisation="ours", url=url, secret=secret, made_at=at, retired_at=retired_at
    )
    keep_webhook_secret(folder, kept)
