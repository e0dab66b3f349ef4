"""Downloads sheets from the public internet only, without credentials."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from email.message import Message
from pathlib import PurePosixPath
from urllib.parse import unquote

import httpx

from callsheet.tasks.sheet.formats import SUFFIXES
from callsheet.tasks.sheet.table import Fetched, refused, too_large
from callsheet.tasks.sheet.text import MAX_BYTES

_WHOLE_SECONDS = 120
_MAX_REDIRECTS = 5
_TIMEOUT = httpx.Timeout(30, connect=10)
#: The name in full letters, which servers send besides one in ASCII.
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
    redirect leads: for addresses that come from someone else than who works on this machine.
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


# HTTP that reaches the public internet alone, whatever a name is said to mean.
#
# A name is looked up once and connected to at the very address that was judged: one that answers
# differently the second time gains nothing.


#: Addresses that stand for one of IPv4, which a gateway translates.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: Networks of this machine, of a site or of a provider that `ipaddress` takes for public ones.
_LOCAL = tuple(
    ipaddress.ip_network(network)
    for network in ("::/96", "64:ff9b:1::/48", "fec0::/10", "192.0.0.0/24")
)


class NotPublic(Exception):
    """The address is one of this machine or of a private network."""


class PublicTransport(httpx.AsyncBaseTransport):
    """Sends requests to public addresses; raises NotPublic for any other."""

    def __init__(self) -> None:
        self._plain = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        address = await _address(host, request.url.port or 443)
        # The certificate is still the one of the name.
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address)
        return await self._plain.handle_async_request(request)

    async def aclose(self) -> None:
        await self._plain.aclose()


async def _address(host: str, port: int) -> str:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpx.ConnectError(f"{host} is not known: {error.strerror}") from error
    except UnicodeError as error:
        # Of a part between two dots that is longer than names allow.
        raise httpx.ConnectError(f"{host[:100]} is not a name of a machine") from error
    addresses = [str(one[4][0]) for one in found]
    if not addresses or not all(map(is_public, addresses)):
        raise NotPublic
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address is one that anybody can reach."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if _is_local(ip):
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        # What stands for another one is as public as that is.
        embedded = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None
        ip = embedded or ip.ipv4_mapped or ip.sixtofour or (ip.teredo and ip.teredo[1]) or ip
    return ip.is_global and not ip.is_multicast and not _is_local(ip)


def _is_local(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return any(ip.version == network.version and ip in network for network in _LOCAL)
