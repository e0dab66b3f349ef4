"""Calls an address at the start and at the end of a night, for a service that watches over jobs.

Such a service (healthchecks, Cronitor, Uptime Kuma) says what no process can say of itself: that it
never began. The address is a secret; nothing that goes wrong here is an error.
"""

from __future__ import annotations

import logging
from typing import Literal

from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices.addresses import read_ping
from callsheet.tasks.redact import redact

log = logging.getLogger("callsheet.notices")
Moment = Literal["start", "success", "failure"]
#: How a healthchecks-like service is told, after its address.
SUFFIXES = {"start": "/start", "success": "", "failure": "/fail"}
#: How often it is tried, and how long each may take in seconds.
TRIES, TIMEOUT = 3, 5.0


async def ping(inbox: Inbox, moment: Moment, words: str = "") -> bool:
    """Call the inbox's address, if it has one; return whether it answered. Raises nothing.

    An address with `{status}` in it gets `start`, `success` or `failure` there; any other one
    `/start`, nothing, or `/fail` behind it. `words` go along.
    """
    if inbox.ping is None:
        return False
    try:
        address = read_ping(inbox.ping, folder=inbox.folder)
        return await _call(_address(address.url, moment), words)
    except CallsheetError as error:
        log.warning("no ping for %s: %s", inbox.name, error)
    except Exception as error:  # a night does not fail over who watches it
        log.warning("no ping for %s: %s", inbox.name, redact(f"{type(error).__name__}: {error}"))
    return False


def _address(url: str, moment: Moment) -> str:
    if "{status}" in url:
        return url.replace("{status}", moment)
    path, mark, query = url.partition("?")
    return path.rstrip("/") + SUFFIXES[moment] + mark + query


async def _call(url: str, words: str) -> bool:
    import httpx

    async with httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=True) as client:
        for attempt in range(1, TRIES + 1):
            try:
                answer = await client.post(url, content=redact(words)[:10_000].encode())
            except httpx.TransportError as error:
                if attempt == TRIES:
                    log.warning("a ping went unheard: %s", type(error).__name__)
                continue
            if answer.is_success:
                return True
            if answer.status_code < 500:
                log.warning("a ping was answered with %d", answer.status_code)
                return False
    return False
