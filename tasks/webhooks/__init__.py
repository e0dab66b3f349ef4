"""Our webhook at the service: the names that others may use."""

from tasks.webhooks.subscriber import Subscriber, SubscriptionStatus, new_nonce
from tasks.webhooks.subscription import ensure_subscription, rotate_subscription
