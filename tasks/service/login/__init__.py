"""Logging in: the client side of the specification's section 5. Knows no storage and no person."""

from callsheet.tasks.service.login.browser import (
    Opener,
    Way,
    fitting_way,
    log_in_by_browser,
    open_browser,
)
from callsheet.tasks.service.login.discovery import (
    Endpoints,
    auth_url_beside,
    discover,
    endpoints_of,
    find_auth_url,
)
from callsheet.tasks.service.login.exchange import Exchange
from callsheet.tasks.service.login.key_status import KeyStatus, Owner, key_status, owner_of, revoke
from callsheet.tasks.service.login.polling import PollInterval
from callsheet.tasks.service.login.responses import Grant, is_key
from callsheet.tasks.service.login.user_code import (
    ENDED,
    Claim,
    UserCode,
    log_in_by_claim,
    log_in_by_device,
)
