"""Registered programs, and the keys of the organization."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlencode, urlsplit

from callsheet.deployments.sandbox.auth.oauth import SCOPES, Fields, OAuthError
from callsheet.deployments.sandbox.database import Database, insert
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.options import is_loopback

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
        # A program that asks for nothing may also use the device grant, which needs no address.
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


# Owns who may call: every key of the organization by its digest, in memory for every request and
# in a table where none is ever deleted, and four fixed ones in a file only its owner can read.


#: The keys that are there from the start, and what they hold.
FIXED: dict[str, tuple[str, ...]] = {
    "all": SCOPES,
    "read": ("read",),
    "write": ("write",),
    "ai": ("ai",),
}


def new_secret(prefix: str) -> str:
    """Make a secret that no one can guess; its prefix says what it is for."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def digest(secret: str) -> str:
    """Give what is kept and looked up, so that the time a look-up takes says nothing."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """A key of the organization. Moments are Unix seconds; without `expires_at` it has no end."""

    id: str
    digest: str
    name: str
    scopes: tuple[str, ...]
    made_by: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None
    revoked_at: float | None = None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> ApiKey:
        return cls(**{**dict(row), "scopes": tuple(row["scopes"].split())})


def issue_key(
    db: sqlite3.Connection,
    *,
    name: str,
    scopes: Sequence[str],
    made_by: str,
    now: float,
    lifetime: float | None = None,
    value: str | None = None,
) -> tuple[ApiKey, str]:
    """Make a key and keep it; give it and its value, which is not kept."""
    value = value or new_secret("mav")
    key = ApiKey(
        id=f"key_{secrets.token_hex(8)}",
        digest=digest(value),
        name=name,
        scopes=tuple(scopes),
        made_by=made_by,
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )
    insert(db, "api_keys", **{**vars(key), "scopes": " ".join(key.scopes)})
    return key, value


def all_keys(db: sqlite3.Connection) -> list[ApiKey]:
    """Give every key there ever was, oldest first."""
    return [ApiKey.from_row(row) for row in db.execute("SELECT * FROM api_keys ORDER BY rowid")]


def revoke_key(db: sqlite3.Connection, key_id: str, *, now: float) -> ApiKey | None:
    """Take a key back for good; the first time counts. None: there is no such key."""
    db.execute(
        "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, key_id)
    )
    row = db.execute("SELECT * FROM api_keys WHERE id = ?", (key_id,)).fetchone()
    return None if row is None else ApiKey.from_row(row)


def note_uses(db: sqlite3.Connection, uses: Mapping[str, float]) -> None:
    """Write down when keys were last used."""
    db.executemany(
        "UPDATE api_keys SET last_used_at = ? WHERE id = ?",
        [(moment, key_id) for key_id, moment in uses.items()],
    )


class Keyring:
    """The keys of one organization and the scopes each of them has.

    The key that holds all of them may be `given`.
    """

    def __init__(
        self, path: Path, *, given: str | None = None, now: Callable[[], float] = time.time
    ) -> None:
        if not path.exists():
            made = {name: new_secret("mav") for name in FIXED}
            _write(path, {**made, "signing": secrets.token_hex(32)})
        kept = json.loads(path.read_text("utf-8"))
        self.signing: bytes = bytes.fromhex(kept["signing"])
        self._fixed: dict[str, str] = {name: kept[name] for name in FIXED}
        if given:
            self._fixed["all"] = given
        self._path = path
        self._now = now
        self._keys: dict[str, ApiKey] = {}
        self._used: dict[str, float] = {}

    @property
    def all_scopes(self) -> str:
        """The fixed key that holds every scope."""
        return self._fixed["all"]

    @property
    def by_scope(self) -> dict[str, str]:
        """The fixed keys that hold one scope each."""
        return {scope: self._fixed[scope] for scope in SCOPES}

    async def open(self, database: Database) -> None:
        """Learn every key from the state; a fixed key that was revoked is made again."""
        for key in await database.run(all_keys):
            self.put(key)
        revoked = [name for name, value in self._fixed.items() if self._is_revoked(value)]
        if revoked:
            self._fixed |= {name: new_secret("mav") for name in revoked}
            _write(self._path, {**self._fixed, "signing": self.signing.hex()})
        missing = [name for name, value in self._fixed.items() if self.find(value) is None]
        # All in one transaction: each alone would be flushed to the disk by itself.
        for key in await database.run(self._issue_fixed, missing):
            self.put(key)

    def put(self, key: ApiKey) -> None:
        """Know a key as it now is, new or revoked; call it when that is on the disk."""
        self._keys[key.digest] = key

    def admit(self, authorization: str | None, scope: str | None = None) -> ApiKey:
        """Let a request pass whose key holds the scope (any key, without one); refuse any other.

        Gives the key, which says who is calling. Raises 401 or 403 (specification, section 5).
        """
        kind, _, token = (authorization or "").partition(" ")
        key = self._keys.get(digest(token.strip()))
        if authorization is None:
            raise _unauthorized("is missing", fault="")
        if kind.lower() != "bearer" or key is None:
            raise _unauthorized("is not valid")
        now = self._now()
        if key.revoked_at is not None:
            raise _unauthorized("was revoked")
        if key.expires_at is not None and key.expires_at <= now:
            raise _unauthorized("has expired")
        if scope is not None and scope not in key.scopes:
            message = f"This key lacks the {scope} scope; issue a key that holds it."
            raise Refusal(403, "forbidden", message)
        self._used[key.id] = now
        return key

    def find(self, value: str) -> ApiKey | None:
        """Give the key with this value, whatever has become of it."""
        return self._keys.get(digest(value))

    async def keep_uses(self, database: Database) -> None:
        """Write down when keys were last used; doing so at every request would slow each down."""
        used, self._used = self._used, {}
        if used:
            await database.run(note_uses, used)

    def _issue_fixed(self, db: sqlite3.Connection, names: Sequence[str]) -> list[ApiKey]:
        return [
            issue_key(db, name=f"Printed at the start ({name})", scopes=FIXED[name],
                      value=self._fixed[name], made_by="the sandbox", now=self._now())[0]
            for name in names
        ]  # fmt: skip

    def _is_revoked(self, value: str) -> bool:
        key = self.find(value)
        return key is not None and key.revoked_at is not None


def _unauthorized(trouble: str, *, fault: str = ' error="invalid_token"') -> Refusal:
    message = (
        f"The API key {trouble}: send 'Authorization: Bearer mav_...' with a key that is good."
    )
    return Refusal(401, "unauthorized", message, headers={"www-authenticate": f"Bearer{fault}"})


def _write(path: Path, kept: dict[str, str]) -> None:
    # Written next to it and then moved in place: a kill in between must not leave half a file.
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    with open(
        os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(kept, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
