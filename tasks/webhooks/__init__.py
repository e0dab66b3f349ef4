"""Our webhook at the service: the names that others may use."""

from callsheet.tasks.webhooks.inventory import Subscriber, SubscriptionStatus, new_nonce
from callsheet.tasks.webhooks.subscription import ensure_subscription, rotate_subscription
