"""A claim that nobody has approved yet: kept so that a second `login --email` goes on with it.

One a profile, in a file that only its owner may read: the claim token is a secret, and is shown
by the service once (specification, section 5, path 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter

from callsheet.tasks.credentials.private_file import (
    make_private_folder,
    read_private,
    write_private,
)
from callsheet.tasks.errors import ConfigurationError
from callsheet.tasks.redact import register_secret


@dataclass(frozen=True, kw_only=True)
class PendingClaim:
    """A claim under way at one auth server for one person, and the code that person was given.

    `token` is good until `expires_at`, `user_code` until `code_until`; `interval` is in seconds.
    """

    auth_url: str
    email: str
    token: str = field(repr=False)
    expires_at: datetime
    user_code: str
    address: str
    code_until: datetime
    interval: float


_CLAIM = TypeAdapter(PendingClaim)


def read_claim(folder: Path, profile: str) -> PendingClaim | None:
    """Return the claim under way; None when there is none, or none that can be read."""
    try:
        text = read_private(_path(folder, profile))
        if text is None:
            return None
        claim = _CLAIM.validate_json(text)
        register_secret(claim.token)
    except (ConfigurationError, ValueError):
        return None
    return claim


def keep_claim(folder: Path, profile: str, claim: PendingClaim) -> None:
    """Keep the claim in place of any earlier one; raise ConfigurationError."""
    path = _path(folder, profile)
    make_private_folder(path.parent)
    write_private(path, _CLAIM.dump_json(claim, indent=1).decode() + "\n")


def drop_claim(folder: Path, profile: str) -> None:
    """Delete the claim, if there is one."""
    _path(folder, profile).unlink(missing_ok=True)


def _path(folder: Path, profile: str) -> Path:
    return folder / "claims" / f"{profile}.json"
