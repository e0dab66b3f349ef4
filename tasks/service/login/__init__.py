"""Logging in: the client side of the specification's section 5. Knows no storage and no person."""

from tasks.service.login.browser import Opener, Way, fitting_way, log_in_by_browser, open_browser
from tasks.service.login.discovery import (
    Endpoints,
    auth_url_beside,
    discover,
    endpoints_of,
    find_auth_url,
)
from tasks.service.login.exchange import Exchange
from tasks.service.login.key_status import KeyStatus, Owner, key_status, owner_of, revoke
from tasks.service.login.polling import PollInterval
from tasks.service.login.responses import Grant, is_key
from tasks.service.login.user_code import (
    ENDED,
    Claim,
    UserCode,
    log_in_by_claim,
    log_in_by_device,
)
