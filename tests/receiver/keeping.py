"""Secrets as `callsheet webhooks ensure` keeps them."""

from __future__ import annotations

from pathlib import Path

from callsheet.tasks.credentials import WebhookSecret, keep_webhook_secret


def keep(folder: Path, nonce: str, secret: str, at: float) -> None:
    """Keep the secret of a subscription that was made `at` a moment."""
    kept = WebhookSecret(nonce=nonce, organisation="ours", secret=secret, made_at=at)
    keep_webhook_secret(folder, kept)
