"""Our webhook at the service: the names that others may use."""

from tasks.webhooks.status import Standing, Subscriber, new_nonce
from tasks.webhooks.subscription import ensure_subscription, rotate_subscription

__all__ = ["Standing", "Subscriber", "ensure_subscription", "new_nonce", "rotate_subscription"]
