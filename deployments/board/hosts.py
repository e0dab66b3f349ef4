"""Names of machines in addresses: which are numbers, and which lead to this machine alone."""

from __future__ import annotations

import ipaddress

#: What a person is told who makes an address that nobody else can open.
HERE_ONLY = "This address opens on this machine only."
HERE_ONLY_REMEDY = (
    "For other people, put a proxy with https in front of the board and start it with "
    "--behind-proxy --url https://board.example."
)


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is of this machine alone."""
    if host.lower() == "localhost":
        return True
    return is_number(host) and ipaddress.ip_address(host.strip("[]")).is_loopback


def is_number(name: str) -> bool:
    """Whether a host is an address as numbers, which is nobody's name."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
