"""What each error of the auth server means to a person, and what to do next (specification,
section 5, and RFC 6749, 7591, 8628).
"""

from __future__ import annotations

from tasks.errors import LoginError
from tasks.service.login.replies import error_code, error_words, plain
from tasks.service.response import Response

_AGAIN = "run `callsheet login` again for a fresh code"
_IN_APP = "in the service's app under Settings, Advanced, API keys"

_SENTENCES: dict[str, tuple[str, str]] = {
    "expired_token": ("the code ran out before it was approved", _AGAIN),
    "access_denied": (
        "the login was declined by whoever was asked to approve it",
        "run `callsheet login` again if that was not meant",
    ),
    "invalid_grant": (
        "the code is unknown to the auth server, or was used before",
        f"{_AGAIN}; a key that was made and never arrived can be revoked {_IN_APP}",
    ),
    "anonymous_not_enabled": (
        "the service lets nobody in without a person's e-mail address",
        "name one: `callsheet login --email ADDRESS`",
    ),
    "issuer_not_enabled": (
        "the service takes no identity of another issuer",
        "use `callsheet login --device`, or --email ADDRESS",
    ),
    "invalid_claim_token": (
        "the auth server does not know this claim",
        "run `callsheet login --email ADDRESS` again: it begins a new one",
    ),
    "claimed_or_in_flight": (
        "this claim is used up, or is being approved at this moment",
        "wait a minute and run the same command again; a key that was made and never arrived "
        f"can be revoked {_IN_APP}",
    ),
    "claim_expired": (
        "this claim ran out: nobody approved it in time",
        "run `callsheet login --email ADDRESS` again: it begins a new one",
    ),
    "invalid_scope": (
        "the service does not grant these scopes",
        "ask for some of read, write and ai with --scopes",
    ),
    "unsupported_grant_type": (
        "the auth server does not know this way of logging in",
        "for --email set CALLSHEET_CLAIM_GRANT to the service's own grant type; "
        "else try --browser or --device",
    ),
    "invalid_client": (
        "the auth server does not know this client any more",
        "run `callsheet login` again: it registers anew",
    ),
    "invalid_redirect_uri": (
        "the auth server does not let a browser come back to this machine",
        "use `callsheet login --device`",
    ),
}


def is_known(code: str) -> bool:
    """Return whether the code has a meaning, whatever status it comes with."""
    return code in _SENTENCES


def refusal(answer: Response, doing: str) -> LoginError:
    """Return the error for a refusal met while `doing` something, in words that read on."""
    code, status = error_code(answer), answer.status
    lost = status in (404, 405) and not (code and is_known(code))
    if code is None or lost:
        did = "redirected" if 300 <= status < 400 else f"answered {status}"
        return LoginError(
            f"the auth server {did} when asked to {doing}",
            remedy="check CALLSHEET_AUTH_URL: it is the root of the service's login",
        )
    return told(code, error_words(answer))


def told(code: str, words: str = "") -> LoginError:
    """Return the error for a code of the auth server; `words` are its own explanation."""
    known = _SENTENCES.get(code)
    if known:
        sentence, remedy = known
        return LoginError(f"{sentence} ({code})", code=code, remedy=remedy)
    said = f": {plain(words)}" if words else ""
    return LoginError(
        f'the auth server refused the login with "{plain(code)}"{said}',
        code=code,
        remedy="run `callsheet login` again, or another way: --browser, --device, --email ADDRESS",
    )
