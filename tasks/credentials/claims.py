"""A claim that nobody has approved yet: kept so that a second `login --email` goes on with it.

One a profile, in a file that only its owner may read: the claim token is a secret, and is shown
by the service once (specification, section 5, path 3).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from tasks.credentials.private_file import make_private_folder, read_private, write_private
from tasks.errors import ConfigurationError
from tasks.redact import register_secret


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


def read_claim(folder: Path, profile: str) -> PendingClaim | None:
    """Return the claim under way; None when there is none, or none that can be read."""
    try:
        text = read_private(_path(folder, profile))
        if text is None:
            return None
        document = json.loads(text)
        for moment in _MOMENTS:
            document[moment] = datetime.fromisoformat(document[moment])
        claim = PendingClaim(**document)
        register_secret(claim.token)
    except (ConfigurationError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return claim


def keep_claim(folder: Path, profile: str, claim: PendingClaim) -> None:
    """Keep the claim in place of any earlier one; raise ConfigurationError."""
    document = asdict(claim)
    for moment in _MOMENTS:
        document[moment] = document[moment].isoformat()
    path = _path(folder, profile)
    make_private_folder(path.parent)
    write_private(path, json.dumps(document, indent=1) + "\n")


def drop_claim(folder: Path, profile: str) -> None:
    """Delete the claim, if there is one."""
    _path(folder, profile).unlink(missing_ok=True)


_MOMENTS = ("expires_at", "code_until")


def _path(folder: Path, profile: str) -> Path:
    return folder / "claims" / f"{profile}.json"
