"""What is told of a login that succeeded: the result on stdout, everything to heed on stderr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deployments.destinations import Destination
from deployments.logging_in import Order
from deployments.scope_words import SCOPES, what_lacks
from deployments.terminal import print_json, say
from tasks.credentials import Login
from tasks.service.login import KeyStatus
from tasks.settings import Settings


@dataclass(frozen=True, kw_only=True)
class LoginResult:
    """A login that succeeded: what was asked, what came of it, and where the key is."""

    order: Order
    login: Login
    status: KeyStatus
    destination: Destination

    @property
    def missing(self) -> list[str]:
        """The scopes that were asked for and not granted, as far as that is known."""
        if self.login.scopes is not None:
            return [scope for scope in self.order.scopes if scope not in self.login.scopes]
        return ["read"] if self.status.may_read is False else []


def show_outcome(outcome: LoginResult, settings: Settings, *, json: bool) -> None:
    """Print the result, then what a person has to know about it."""
    login, destination = outcome.login, outcome.destination
    if json:
        print_json(_document(outcome))
    else:
        scopes = "of unknown scopes" if login.scopes is None else f"for {', '.join(login.scopes)}"
        print(f"logged in to {login.base_url} with {login.fingerprint} {scopes}")
        print(f"the key is {destination.outcome}")
    for words in _to_heed(outcome, settings):
        say(words)


def _to_heed(outcome: LoginResult, settings: Settings) -> list[str]:
    found = what_lacks(outcome.missing)
    if found:
        everything = ",".join(SCOPES)
        found.append(f"for more: `callsheet login --scopes {everything}`, and approve all of them")
    if outcome.status.accepted is None:
        found.append(f"the key could not be tried yet: {outcome.status.words}")
    if outcome.destination.kept_in not in ("keyring", "file"):
        return found
    before = settings.login
    if before and before.fingerprint != outcome.login.fingerprint:
        found.append(
            f"{before.fingerprint}, which was kept before, is kept no more and still good: "
            "revoke it in the service's app under Settings, Advanced, API keys"
        )
    if settings.key_source:
        found.append(f"{settings.key_source} is set, and wins over what was kept")
    return found


def _document(outcome: LoginResult) -> dict[str, Any]:
    login, destination = outcome.login, outcome.destination
    return {
        "profile": login.profile,
        "base_url": login.base_url,
        "auth_url": login.auth_url,
        "key": login.fingerprint,
        "scopes": None if login.scopes is None else list(login.scopes),
        "missing": outcome.missing,
        "accepted": outcome.status.accepted,
        "stored_in": destination.kept_in,
        "where": None if destination.path is None else str(destination.path),
        "exit": 0,
    }
