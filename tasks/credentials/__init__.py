"""Where `callsheet login` keeps what it was given. Knows no service and no environment."""

from callsheet.tasks.credentials.keys import Place, choose_place, forget, keep, key_of
from callsheet.tasks.credentials.register import (
    Login,
    PendingClaim,
    Register,
    drop_claim,
    file_of,
    fingerprint,
    keep_claim,
    profile_name,
    read_claim,
    read_register,
)
from callsheet.tasks.credentials.secret_files import (
    GIVEN,
    LiveSecrets,
    WebhookSecret,
    drop_webhook_secret,
    keep_webhook_secret,
    read_webhook_secret,
    read_webhook_secrets,
    retire_webhook_secret,
    write_private,
)
