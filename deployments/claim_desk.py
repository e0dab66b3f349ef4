"""Where a claim lies between two calls of `callsheet login --email`, until somebody approves it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tasks.credentials import PendingClaim, drop_claim, keep_claim, read_claim
from tasks.service.login import Claim, PollInterval, UserCode


@dataclass(frozen=True, kw_only=True)
class ClaimDesk:
    """The one place for a claim of a profile; `folder` is None where nothing can be kept."""

    folder: Path | None
    profile: str
    issuer: str
    email: str

    def take_up(self, *, now: datetime) -> Claim | None:
        """Return the claim that lies here, if it is for this server and person and still good."""
        kept = read_claim(self.folder, self.profile) if self.folder else None
        if kept is None or kept.expires_at <= now:
            return None
        if (kept.auth_url, kept.email) != (self.issuer, self.email):
            return None
        polling = PollInterval(seconds=kept.interval)
        return Claim(
            token=kept.token,
            expires_at=kept.expires_at,
            code=UserCode(code=kept.user_code, address=kept.address, polling=polling),
            code_until=kept.code_until,
        )

    def put_down(self, claim: Claim) -> None:
        """Keep the claim in place of any other; raise ConfigurationError when that fails."""
        if self.folder is None:
            return
        kept = PendingClaim(
            auth_url=self.issuer,
            email=self.email,
            token=claim.token,
            expires_at=claim.expires_at,
            user_code=claim.code.code,
            address=claim.code.address,
            code_until=claim.code_until,
            interval=claim.code.polling.seconds,
        )
        keep_claim(self.folder, self.profile, kept)

    def clear(self) -> None:
        """Take away what lies here."""
        if self.folder is not None:
            drop_claim(self.folder, self.profile)
