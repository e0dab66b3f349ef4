"""One stored login: which addresses it is for, what was granted, and where its key is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

KeptIn = Literal["keyring", "file"]


@dataclass(frozen=True, kw_only=True)
class Login:
    """A key of one organisation at one service, under a profile's name.

    `scopes` is None where nobody said what the key may do; `key` is None where the keyring has it.
    `given` is True for a key that somebody made elsewhere and handed in, and may use elsewhere.
    """

    profile: str
    base_url: str
    auth_url: str | None
    mcp_url: str | None
    scopes: tuple[str, ...] | None
    kept_in: KeptIn
    fingerprint: str
    at: datetime
    given: bool = False
    expires_at: datetime | None = None
    key: str | None = field(default=None, repr=False)

    def document(self) -> dict[str, Any]:
        """Return the login as it stands in its file."""
        return {
            "auth_url": self.auth_url,
            "mcp_url": self.mcp_url,
            "scopes": None if self.scopes is None else list(self.scopes),
            "kept_in": self.kept_in,
            "fingerprint": self.fingerprint,
            "at": self.at.isoformat(),
            "given": self.given,
            "expires_at": self.expires_at.isoformat() if self.expires_at else None,
            "key": self.key,
        }

    @classmethod
    def read(cls, profile: str, base_url: str, document: Mapping[str, Any]) -> Login:
        """Return the login that `document` holds; raise KeyError, TypeError or ValueError."""
        scopes, until = document["scopes"], document["expires_at"]
        kept_in = document["kept_in"]
        if kept_in not in ("keyring", "file") or (kept_in == "file") is not bool(document["key"]):
            raise ValueError("a login without its key")
        return cls(
            profile=profile,
            base_url=base_url,
            auth_url=document["auth_url"],
            mcp_url=document["mcp_url"],
            scopes=None if scopes is None else tuple(str(scope) for scope in scopes),
            kept_in=kept_in,
            fingerprint=str(document["fingerprint"]),
            given=bool(document["given"]),
            at=datetime.fromisoformat(document["at"]),
            expires_at=datetime.fromisoformat(until) if until else None,
            key=document["key"],
        )


def fingerprint(key: str) -> str:
    """Return what may be shown of a key: `mav_…a1b2`; without its end where the key is short."""
    kind, _, rest = key.partition("_")
    head = f"{kind}_" if rest and kind.isalpha() and len(kind) < 8 else ""
    return f"{head}…{key[-4:] if len(rest) >= 16 else ''}"
