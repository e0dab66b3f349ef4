"""Where `callsheet login` keeps what it was given. Knows no service and no environment."""

from callsheet.tasks.credentials.keys import Place, choose_place, forget, keep, key_of
from callsheet.tasks.credentials.register import (
    Login,
    Register,
    claim_file,
    file_of,
    fingerprint,
    profile_name,
    read_register,
)
from callsheet.tasks.credentials.secret_files import (
    GIVEN,
    LiveSecrets,
    WebhookSecret,
    drop_webhook_secret,
    keep_webhook_secret,
    make_private_folder,
    read_private,
    read_webhook_secrets,
    write_private,
)
