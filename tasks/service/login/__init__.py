"""Logging in: the client side of the specification's section 5. Knows no storage and no person."""

from tasks.service.login.browser import Opener, log_in_by_browser
from tasks.service.login.claim import ENDED, Claim, log_in_by_claim
from tasks.service.login.device import UserCode, log_in_by_device
from tasks.service.login.discovery import auth_url_beside, discover, find_auth_url
from tasks.service.login.endpoints import Endpoints, endpoints_of
from tasks.service.login.exchange import Exchange
from tasks.service.login.opening import open_browser
from tasks.service.login.polling import Pace
from tasks.service.login.replies import Grant, is_key
from tasks.service.login.revoke import revoke
from tasks.service.login.standing import Owner, Standing, owner_of, standing_of
from tasks.service.login.ways import Way, fitting_way

__all__ = [
    "ENDED",
    "Claim",
    "Endpoints",
    "Exchange",
    "Grant",
    "Opener",
    "Owner",
    "Pace",
    "Standing",
    "UserCode",
    "Way",
    "auth_url_beside",
    "discover",
    "endpoints_of",
    "find_auth_url",
    "fitting_way",
    "is_key",
    "log_in_by_browser",
    "log_in_by_claim",
    "log_in_by_device",
    "open_browser",
    "owner_of",
    "revoke",
    "standing_of",
]
