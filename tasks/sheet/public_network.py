"""HTTP that reaches the public internet alone, whatever a name is said to mean.

A name is looked up once and connected to at the very address that was judged: one that answers
differently the second time gains nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket

import httpx

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
