"""Logging in: the client side of the specification's section 5. Knows no storage and no person."""

from callsheet.tasks.service.login.browser import (
    Opener,
    Way,
    fitting_way,
    log_in_by_browser,
    open_browser,
)
from callsheet.tasks.service.login.codes import (
    ENDED,
    Claim,
    PollInterval,
    UserCode,
    log_in_by_claim,
    log_in_by_device,
)
from callsheet.tasks.service.login.discovery import (
    Endpoints,
    KeyStatus,
    Owner,
    discover,
    endpoints_of,
    find_auth_url,
    key_status,
    local_auth_url,
    owner_of,
    revoke,
)
from callsheet.tasks.service.login.exchange import Exchange, Grant, is_key
