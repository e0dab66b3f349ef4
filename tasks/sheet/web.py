"""Sheets published on the web. Sends no credentials and never leaves https but on this machine."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
from email.message import Message
from pathlib import PurePosixPath
from urllib.parse import unquote

import httpx

from callsheet.tasks.sheet.fetched import Fetched, refused, too_large
from callsheet.tasks.sheet.formats import SUFFIXES
from callsheet.tasks.sheet.limits import MAX_BYTES
from callsheet.tasks.sheet.public_network import NotPublic, PublicTransport

_WHOLE_SECONDS = 120
_MAX_REDIRECTS = 5
_TIMEOUT = httpx.Timeout(30, connect=10)
#: The name in full letters, which servers send beside one in ASCII.
_STARRED = re.compile(r"filename\*\s*=\s*utf-8'[^']*'([^;\s]+)", re.IGNORECASE)
_TYPES = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
    "application/yaml": ".yaml",
    "application/x-yaml": ".yaml",
    "text/yaml": ".yaml",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}
_REASONS = {
    401: "needs a login; publish the sheet, or download it",
    403: "may not be read without a login; publish the sheet, or download it",
    404: "is not there (404); is the address right?",
    410: "is no longer there (410)",
}


async def fetch_web(address: str, *, public: bool = False) -> Fetched:
    """Return a sheet from https://; messages show neither query nor password of the address.

    With `public` nothing is asked of this machine or a private network, wherever a name or a
    redirect leads: for addresses that come from somebody else than who works on this machine.
    """
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, UnicodeError):
        shown = address.partition("?")[0][:200]
        raise refused(shown, "is not an address that can be read") from None
    shown = f"{url.scheme}://{url.netloc.decode()}{url.path}"
    if url.userinfo:
        raise refused(url.host, "has a password in its address, which would end up in logs")
    try:
        async with asyncio.timeout(_WHOLE_SECONDS):
            return await _follow(url, shown, public=public)
    except NotPublic:
        raise refused(shown, "is not in the public internet, and only that is read") from None
    except (TimeoutError, httpx.TimeoutException):
        raise refused(shown, "did not answer in time; try again later") from None
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, UnicodeError) as error:
        reason = str(error) or type(error).__name__
        raise refused(shown, f"cannot be reached: {reason.partition('?')[0]}") from None


async def _follow(url: httpx.URL, shown: str, *, public: bool) -> Fetched:
    transport = PublicTransport() if public else None
    headers = {"accept": "*/*"}
    async with httpx.AsyncClient(timeout=_TIMEOUT, headers=headers, transport=transport) as client:
        for _ in range(_MAX_REDIRECTS + 1):
            here = url.scheme == "http" and _is_here(url.host) and not public
            if url.scheme != "https" and not here:
                but = "" if public else ", and only this machine may do without"
                raise refused(shown, f"is not https://{but}")
            async with client.stream("GET", url) as response:
                if response.has_redirect_location:
                    url = url.join(response.headers["location"])
                    continue
                return Fetched(content=await _body(response, shown), name=_name(response, url))
    raise refused(shown, f"redirects more than {_MAX_REDIRECTS} times")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _body(response: httpx.Response, shown: str) -> bytes:
    if response.status_code != 200:
        told = _REASONS.get(response.status_code)
        raise refused(shown, told or f"answered {response.status_code}; try again later")
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_BYTES:
            raise too_large(shown)
    return bytes(content)


def _name(response: httpx.Response, url: httpx.URL) -> str:
    """Return a file name that tells the format: as sent, else from the address and its type."""
    message = Message()
    message["content-disposition"] = response.headers.get("content-disposition", "")
    message["content-type"] = response.headers.get("content-type", "application/octet-stream")
    starred = _STARRED.search(message["content-disposition"])
    sent = unquote(starred[1]) if starred else message.get_filename() or ""
    name = PurePosixPath(sent.replace("\\", "/")).name or PurePosixPath(unquote(url.path)).name
    name = name or url.host
    if PurePosixPath(name).suffix.lower() in SUFFIXES:
        return name
    return f"{name}{_TYPES.get(message.get_content_type(), '')}"
