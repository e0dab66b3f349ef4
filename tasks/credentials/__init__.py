"""Where `callsheet login` keeps what it was given. Knows no service and no environment."""

from callsheet.tasks.credentials.claims import PendingClaim, drop_claim, keep_claim, read_claim
from callsheet.tasks.credentials.keeping import Place, choose_place, forget, keep, key_of
from callsheet.tasks.credentials.private_file import write_private
from callsheet.tasks.credentials.register import (
    Login,
    Register,
    file_of,
    fingerprint,
    profile_name,
    read_register,
)
from callsheet.tasks.credentials.webhook_secrets import (
    GIVEN,
    LiveSecrets,
    WebhookSecret,
    drop_webhook_secret,
    keep_webhook_secret,
    read_webhook_secret,
    read_webhook_secrets,
    retire_webhook_secret,
)
