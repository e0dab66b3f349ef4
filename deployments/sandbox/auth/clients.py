"""Owns the programs that registered themselves (RFC 7591), public clients without a secret; their
redirect addresses; and the two documents a program finds its way by (RFC 8414 and RFC 9728)."""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlencode, urlsplit

from callsheet.deployments.sandbox.auth.oauth import SCOPES, Fields, OAuthError
from callsheet.deployments.sandbox.options import is_loopback
from callsheet.deployments.sandbox.tables import insert

CODE_GRANT = "authorization_code"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CLAIM_GRANT = "urn:service:agent-auth:grant-type:claim"
GRANTS = (CODE_GRANT, DEVICE_GRANT, CLAIM_GRANT)
NAMELESS = "A program without a name"
LONGEST_NAME = 100
MOST_REDIRECTS = 10
LONGEST_REDIRECT = 2048
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'()*+,\-./:;=?@\[\]_~]+")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|[0-9a-f:.]+")
LISTS = ("redirect_uris", "grant_types")


@dataclass(frozen=True, kw_only=True)
class Client:
    """One registered program."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    grant_types: tuple[str, ...]
    created_at: float

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Client:
        lists = {name: tuple(json.loads(row[name])) for name in LISTS}
        return cls(**{**dict(row), **lists})

    def shown(self) -> dict[str, object]:
        """Give the answer to the registration."""
        return {
            "client_id": self.id,
            "client_id_issued_at": int(self.created_at),
            "client_name": self.name,
            "redirect_uris": list(self.redirect_uris),
            "grant_types": list(self.grant_types),
            "response_types": ["code"] if CODE_GRANT in self.grant_types else [],
            "token_endpoint_auth_method": "none",
        }


def read_registration(said: dict[str, object], *, now: float) -> Client:
    """Make a client of what a program says about itself. Raises the errors of RFC 7591 (3.2.2)."""
    if said.get("token_endpoint_auth_method", "none") != "none":
        raise _invalid("token_endpoint_auth_method: only none, there are no client secrets.")
    uris = _texts(said, "redirect_uris")
    grants = _grants(said, uris)
    if CODE_GRANT in grants and not uris:
        raise _bad_redirect("is missing: a program without one registers for the device grant")
    if len(uris) > MOST_REDIRECTS:
        raise _bad_redirect(f"holds more than {MOST_REDIRECTS} addresses")
    for uri in uris:
        if trouble := redirect_complaint(uri):
            raise _bad_redirect(trouble)
    return Client(
        id=f"client_{secrets.token_hex(12)}",
        name=app_name(said.get("client_name"), "invalid_client_metadata"),
        redirect_uris=uris,
        grant_types=grants,
        created_at=now,
    )


def keep_client(db: sqlite3.Connection, client: Client) -> None:
    """Keep a client."""
    lists = {name: json.dumps(getattr(client, name)) for name in LISTS}
    insert(db, "oauth_clients", **{**vars(client), **lists})


def find_client(db: sqlite3.Connection, client_id: str) -> Client | None:
    """Look a client up."""
    row = db.execute("SELECT * FROM oauth_clients WHERE id = ?", (client_id,)).fetchone()
    return None if row is None else Client.from_row(row)


def presented_client(db: sqlite3.Connection, said: Fields, grant: str) -> Client | None:
    """Give the client a request names, if it names one.

    Raises invalid_client (401) for an unknown one, unauthorized_client for another grant than
    it registered for.
    """
    if "client_id" not in said:
        return None
    client = find_client(db, said["client_id"])
    if client is None:
        message = "client_id: no program is registered under it; register at /api/oauth/register."
        raise OAuthError("invalid_client", message, status=401)
    if grant not in client.grant_types:
        raise OAuthError("unauthorized_client", "client_id: it is not registered for this grant.")
    return client


def app_name(said: object, error: str = "invalid_request") -> str:
    """Read a program's name, which a person will be shown: nothing invisible may be in it."""
    if said is None:
        return NAMELESS
    name = said.strip() if isinstance(said, str) else ""
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        message = f"client_name: has to be a printable text of 1 to {LONGEST_NAME} characters."
        raise OAuthError(error, message)
    return name


def _grants(said: dict[str, object], uris: tuple[str, ...]) -> tuple[str, ...]:
    if "grant_types" not in said:
        # Whoever asks for nothing may also use the device grant, which needs no address.
        return (CODE_GRANT, DEVICE_GRANT)
    # What is not known here is left out, and the answer says what is left (RFC 7591, 3.2.1).
    wanted = _texts(said, "grant_types")
    known = tuple(grant for grant in GRANTS if grant in wanted)
    if not known:
        raise _invalid(f"grant_types: none of them is known here; there are {', '.join(GRANTS)}.")
    return known


def _texts(said: dict[str, object], name: str) -> tuple[str, ...]:
    values = said.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _invalid(f"{name}: has to be a list of texts.")
    return tuple(values)


def _invalid(description: str) -> OAuthError:
    return OAuthError("invalid_client_metadata", description)


def _bad_redirect(trouble: str) -> OAuthError:
    return OAuthError("invalid_redirect_uri", f"redirect_uris: {trouble}.")


def redirect_complaint(uri: str) -> str | None:
    """Say what keeps this address from being registered; None: nothing.

    https anywhere, http on this machine alone (RFC 8252, 7.3); a fragment could never come back.
    """
    if len(uri) > LONGEST_REDIRECT or not _ADDRESS.fullmatch(uri):
        return "is not an address, or is too long"
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        return "has to begin with https:// or, on a loopback address, with http://"
    if parts.scheme == "http" and not is_loopback(host):
        return "may be http only on a loopback address: use https"
    if "#" in uri or "@" in parts.netloc:
        return "may hold neither a fragment nor a user"
    return None


def with_answer(uri: str, answer: Mapping[str, str | None]) -> str:
    """Add the members of an answer that there are to the query of an address."""
    query = urlencode({name: value for name, value in answer.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def redirect_origin(uri: str) -> str:
    """Give an address's origin as a content security policy can name it."""
    parts = urlsplit(uri)
    # Such a policy knows no IPv6 address; the scheme is as near as it comes.
    return f"{parts.scheme}:" if "[" in parts.netloc else f"{parts.scheme}://{parts.netloc}"


def redirect_place(uri: str) -> str:
    """Say where an address leads, for a person."""
    parts: SplitResult = urlsplit(uri)
    return f"{parts.netloc} on this machine" if is_loopback(parts.hostname or "") else parts.netloc


def authorization_server(origin: str) -> dict[str, object]:
    """Describe the authorization server; the issuer is `auth_url`, to the letter."""
    return {
        "issuer": origin,
        "authorization_endpoint": f"{origin}/api/oauth/authorize",
        "token_endpoint": f"{origin}/api/oauth/token",
        "registration_endpoint": f"{origin}/api/oauth/register",
        "device_authorization_endpoint": f"{origin}/api/oauth/device_authorization",
        "revocation_endpoint": f"{origin}/api/oauth/revoke",
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANTS),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
    }


def protected_resource(origin: str) -> dict[str, object]:
    """Describe the MCP server as a resource that takes our tokens."""
    return {
        "resource": f"{origin}/mcp",
        "authorization_servers": [origin],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "Video Generation Service",
    }


def resource_address(origin: str) -> str:
    """Say where the resource is described."""
    return f"{origin}/mcp/.well-known/oauth-protected-resource"
