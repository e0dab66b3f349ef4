"""What to tell a person about each answer that is not a success: which error, and what to do."""

from __future__ import annotations

from urllib.parse import urlsplit

from tasks.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    InsufficientCredits,
    NotFound,
    OtherRefusal,
    RateLimited,
    Refused,
    Unauthenticated,
)
from tasks.redact import redact
from tasks.service.answer import Answer
from tasks.service.operations import Operation

CLASSES: dict[int, type[Refused]] = {
    400: BadRequest,
    401: Unauthenticated,
    402: InsufficientCredits,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}
_ADDRESS = "check CALLSHEET_BASE_URL: it is the service's REST root and ends in /api/v1"
_REMEDIES = {
    401: "run `callsheet login`, or set CALLSHEET_API_KEY to a key that is not revoked",
    402: "add credits or renew the subscription in the service's app, then run this again",
    422: "nothing is sent again under another key; see what the service says of this one",
    429: "run the same command again after that moment; nothing is lost",
}


def class_of(status: int) -> type[Refused]:
    """Return the error class of a 3xx or 4xx status."""
    return CLASSES.get(status, OtherRefusal)


def message_of(answer: Answer, operation: Operation) -> str:
    """Return one sentence: the operation, the status and the service's own words."""
    if 300 <= answer.status < 400:
        return (
            f"{operation.name}: the service redirected ({answer.status}) to "
            f"{_host(answer)}, which is not followed: the key must not go to another address"
        )
    what = operation.conflict if answer.status == 409 else None
    head = f"{operation.name} was refused ({answer.status}{f', {what}' if what else ''})"
    return f"{head}: {answer.words}"


def remedy_of(answer: Answer, operation: Operation) -> str | None:
    """Return what a person can do about it."""
    if 300 <= answer.status < 400 or (answer.status == 404 and "{id}" not in operation.path):
        return _ADDRESS
    if answer.status == 403:
        return (
            f"this needs a key with the `{operation.scope}` scope: get one with "
            f"`callsheet login --scopes read,write,ai`, or issue one in the service's app and set "
            f"CALLSHEET_API_KEY to it"
        )
    return _REMEDIES.get(answer.status)


def _host(answer: Answer) -> str:
    location = answer.headers.get("location", "")
    try:
        host = urlsplit(location).netloc.rpartition("@")[2]
    except ValueError:
        host = ""
    return redact(host) or ("another path of its own" if location else "nowhere")
