"""Where `callsheet login` keeps what it was given. Knows no service and no environment."""

from tasks.credentials.claims import PendingClaim, drop_claim, keep_claim, read_claim
from tasks.credentials.keeping import Place, choose_place, forget, keep, key_of
from tasks.credentials.login import Login, fingerprint
from tasks.credentials.private_file import write_private
from tasks.credentials.register import Register, file_of, profile_name, read_register
from tasks.credentials.webhook_secrets import (
    GIVEN,
    LiveSecrets,
    WebhookSecret,
    drop_webhook_secret,
    keep_webhook_secret,
    read_webhook_secret,
    read_webhook_secrets,
    retire_webhook_secret,
)
