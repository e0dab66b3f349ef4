"""Where the auth server is spoken to: the addresses of one issuer, and which may be used at all.

A code or a token goes to nothing but https, save for an auth server that is itself on this machine
and speaks http, as the sandbox does.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tasks.errors import ConfigurationError
from tasks.service.login.replies import plain

#: Our name: (the name in the metadata of RFC 8414, the path of the specification's section 5).
_PATHS = {
    "authorize": ("authorization_endpoint", "/api/oauth/authorize"),
    "token": ("token_endpoint", "/api/oauth/token"),
    "register": ("registration_endpoint", "/api/oauth/register"),
    "device": ("device_authorization_endpoint", "/api/oauth/device_authorization"),
    "revoke": ("revocation_endpoint", "/api/oauth/revoke"),
}


@dataclass(frozen=True, kw_only=True)
class Endpoints:
    """The addresses of one auth server."""

    issuer: str
    authorize: str
    token: str
    register: str
    device: str
    revoke: str
    #: Whether the server takes the one challenge method that is safe; so says the specification.
    takes_s256: bool = True

    @property
    def identity(self) -> str:
        """Where a claim begins."""
        return f"{self.issuer}/agent/identity"

    @property
    def claim(self) -> str:
        """Where a claim gets a fresh user code."""
        return f"{self.issuer}/agent/identity/claim"

    @property
    def verification(self) -> str:
        """The page where a person enters a user code."""
        return f"{self.issuer}/device"


def endpoints_of(issuer: str, metadata: Mapping[str, Any] | None = None) -> Endpoints:
    """Return the addresses `metadata` names, and the specification's where it names none.

    Raises ConfigurationError for an address that no secret may be sent to.
    """
    metadata = metadata or {}
    found = {}
    for name, (member, path) in _PATHS.items():
        named = metadata.get(member)
        found[name] = f"{issuer}{path}" if named is None else _checked(issuer, member, named)
    methods = metadata.get("code_challenge_methods_supported")
    takes_s256 = not isinstance(methods, list) or "S256" in methods
    return Endpoints(issuer=issuer, takes_s256=takes_s256, **found)


def check_issuer(auth_url: str) -> None:
    """Raise ConfigurationError for an auth server that no secret may be sent to."""
    if not is_safe(auth_url, beside=auth_url):
        raise ConfigurationError(
            f"the auth server {plain(auth_url)} is not reached over https",
            remedy="set CALLSHEET_AUTH_URL to its https address; http is for this machine alone",
        )


def is_safe(url: object, *, beside: str) -> bool:
    """Return whether secrets may go to `url`: https, or loopback where `beside` is that too."""
    if not isinstance(url, str) or not url.isprintable() or not url.isascii():
        return False
    try:
        parts, near = urlsplit(url), urlsplit(beside)
        _ = parts.port
    except ValueError:
        return False
    if parts.username is not None or parts.fragment or not parts.hostname:
        return False
    if parts.scheme == "https":
        return True
    loopback = is_loopback(url) and is_loopback(beside)
    return loopback and parts.scheme == near.scheme == "http"


def is_loopback(url: str) -> bool:
    """Return whether an address is this very machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked(issuer: str, member: str, url: object) -> str:
    if is_safe(url, beside=issuer):
        return str(url)
    raise ConfigurationError(
        f'the auth server names an address that is not https: {member} "{plain(str(url))}"',
        remedy="nothing was sent there; check CALLSHEET_AUTH_URL, or ask the service's operator",
    )
