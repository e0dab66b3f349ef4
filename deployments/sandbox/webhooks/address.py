"""Which addresses a webhook may have: public and https (specification, section 8)."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

LONGEST = 2048
#: Names that never leave a machine or a network (RFC 6761, RFC 6762, RFC 8375).
PRIVATE_NAMES = ("localhost", "local", "internal", "home.arpa")
URL_CHARACTERS = re.compile(r"[!#-;=?-\[\]_a-z~]+")
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: What `ipaddress` takes for global, and yet no receiver of a stranger's lives there.
SPECIAL = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))


class AddressRefused(ValueError):
    """A webhook cannot have this address; the message says why, without repeating it."""


def check_url(url: str, *, allow_loopback: bool) -> None:
    """Pass a public https address, and one of this machine if it is allowed; refuse any other."""
    if len(url) > LONGEST:
        raise AddressRefused(f"must not be longer than {LONGEST} characters")
    if not URL_CHARACTERS.fullmatch(url):
        raise AddressRefused("must be a URL in ASCII, without spaces")
    scheme, host = _parts(url)
    here = _is_here(host)
    if here and allow_loopback and scheme in ("http", "https"):
        return
    if scheme != "https":
        raise AddressRefused("must be an https URL")
    if not _is_public_host(host):
        raise AddressRefused("must have a public host: this one is not reachable from outside")


def is_public(address: IPAddress) -> bool:
    """Say whether an address is one of the open Internet, whatever it is wrapped in."""
    inner = _unwrapped(address)
    if not inner.is_global or any(inner in network for network in SPECIAL):
        return False
    site_local = isinstance(inner, ipaddress.IPv6Address) and inner.is_site_local
    return not (inner.is_multicast or inner.is_reserved or site_local)


def is_loopback(address: IPAddress) -> bool:
    return _unwrapped(address).is_loopback


def _parts(url: str) -> tuple[str, str]:
    try:
        said = urlsplit(url)
        port = said.port
    except ValueError:
        raise AddressRefused("must be a URL") from None
    if "@" in said.netloc:
        raise AddressRefused("must not hold a user name or a password")
    if "#" in url:
        raise AddressRefused("must not hold a fragment")
    if not said.hostname or "%" in said.netloc:
        raise AddressRefused("must name a host")
    if port == 0 or said.netloc.endswith(":"):
        raise AddressRefused("must have a port from 1 to 65535, or none")
    if said.netloc.startswith("[") and ":" not in said.hostname:
        raise AddressRefused("must be a URL")
    # One dot at the end says that a name is whole; resolvers drop it.
    return said.scheme, said.hostname.removesuffix(".")


def _is_here(host: str) -> bool:
    address = _literal(host)
    return host == "localhost" or (address is not None and is_loopback(address))


def _is_public_host(host: str) -> bool:
    address = _literal(host)
    if address is not None:
        return is_public(address)
    labels = host.split(".")
    if len(host) > 253 or len(labels) < 2 or not all(LABEL.fullmatch(one) for one in labels):
        return False
    # No top-level domain is a number: this is an address in disguise, such as 0x7f.1 or 2130706433.
    if NUMBER.fullmatch(labels[-1]):
        return False
    return not any(host.endswith(f".{name}") for name in PRIVATE_NAMES)


def _literal(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _unwrapped(address: IPAddress) -> IPAddress:
    """Take an IPv4 address out of the IPv6 address that stands for it."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address
