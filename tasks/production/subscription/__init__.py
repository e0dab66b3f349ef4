"""Our webhook at the service: the names that others may use."""

from tasks.production.subscription.keeping import ensure_subscription, rotate_subscription
from tasks.production.subscription.standing import Standing, Subscriber, new_nonce

__all__ = ["Standing", "Subscriber", "ensure_subscription", "new_nonce", "rotate_subscription"]
