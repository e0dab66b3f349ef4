"""`callsheet login`: get a key, make sure that the service takes it, keep it.

Where the key will go is settled, and said, before anybody is asked to approve anything.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from callsheet.deployments.key_destination import Destination, choose_destination
from callsheet.deployments.key_request import Obtained, Order, obtain, take_back
from callsheet.deployments.signals import run_command
from callsheet.deployments.terminal import console_for, print_json
from callsheet.tasks.credentials import Login, fingerprint, profile_name
from callsheet.tasks.errors import BadInput, ConfigurationError, LoginError, Parked
from callsheet.tasks.redact import register_secret
from callsheet.tasks.service.login import Grant, KeyStatus, is_key, key_status, owner_of
from callsheet.tasks.settings import Settings, credentials_folder, load_settings
from callsheet.tasks.suggest import suggest
from callsheet.tasks.visible import say, visible

SCOPES = ("read", "write", "ai")
_LACKS = {
    "read": "nothing can be quoted, looked at or downloaded: `plan` and `run` need it",
    "write": "no video can be made: `run` needs it",
    "ai": "`run` cannot make rows that animate an image, let an avatar speak or swap a character",
}


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


def main(args: Namespace) -> int:
    """Log in; return 0. Raises LoginError, ConfigurationError or Parked when nobody was."""
    console_for(args)
    settings = load_settings(profile=args.profile, logging_in=True)
    order = _order(args, settings)
    destination = choose_destination(args, order.folder, order.profile, settings.credentials)
    say(destination.announcement)
    key = _read_key() if args.with_token else None
    outcome = run_command(_log_in(order, settings, destination, key))
    _show_outcome(outcome, settings, json=args.json)
    return 0


def _order(args: Namespace, settings: Settings) -> Order:
    if not settings.base_url:
        raise ConfigurationError(
            "CALLSHEET_BASE_URL is not set, so there is no service to log in to",
            remedy="set CALLSHEET_BASE_URL to the service's REST root, which ends in /api/v1",
        )
    if args.email is not None and "@" not in args.email.strip("@"):
        raise BadInput(f'--email "{args.email}" is not an e-mail address')
    if args.with_token and args.scopes is not None:
        raise BadInput("the scopes of a key are settled where it is made: leave out --scopes")
    ways = {"browser": args.browser, "device": args.device, "email": args.email is not None}
    return Order(
        way=next((way for way, chosen in ways.items() if chosen), None),
        scopes=_parse_scopes(args.scopes),
        email=args.email,
        base_url=settings.base_url,
        profile=profile_name(args.profile),
        folder=credentials_folder(),
    )


def _read_key() -> str:
    """Read a key from standard input: there no list of processes and no history shows it."""
    if sys.stdin.isatty():
        import getpass

        key = getpass.getpass("key (it is not shown): ", stream=sys.stderr).strip()
    else:
        key = sys.stdin.read(4096).strip()
    register_secret(key)
    if not is_key(key):
        raise BadInput(
            "what standard input holds is no key: one begins with mav_ and has no spaces"
            if key
            else "standard input holds no key",
            remedy="`callsheet login --with-token < FILE` reads it from a file",
        )
    return key


async def _log_in(
    order: Order, settings: Settings, destination: Destination, key: str | None
) -> LoginResult:
    if key is None:
        got = await obtain(order, settings)
    else:
        got = Obtained(grant=Grant(key=key), auth_url=settings.auth_url, given=True)
    try:
        status = await _tried(order.base_url, got)
        login = await _login(order, settings, got, status)
        destination.keep(login, got.grant.key)
    except BaseException:
        # Ctrl+C too: a key that is kept nowhere would live on unseen.
        await take_back(got)
        raise
    if destination.kept_in is None:
        await take_back(got)
    return LoginResult(order=order, login=login, status=status, destination=destination)


async def _tried(base_url: str, got: Obtained) -> KeyStatus:
    """Return how the key stands; raise when it cannot be the right one to keep."""
    status = await key_status(base_url, got.grant.key)
    if status.accepted is False:
        raise LoginError(
            f"{base_url} does not accept the key (401); it was not kept",
            remedy="check the key, and that it belongs to the service at CALLSHEET_BASE_URL"
            if got.given
            else "CALLSHEET_AUTH_URL and CALLSHEET_BASE_URL have to be the same service's",
        )
    if status.accepted is None and got.given:
        words = f"the key could not be tried ({status.words}); it was not kept"
        if status.later:
            raise Parked(words, until=datetime.now(UTC) + timedelta(minutes=1))
        raise ConfigurationError(words, remedy="check CALLSHEET_BASE_URL")
    return status


async def _login(order: Order, settings: Settings, got: Obtained, status: KeyStatus) -> Login:
    now, grant = datetime.now(UTC), got.grant
    if grant.scopes is None and status.accepted:
        owner = await owner_of(order.base_url, grant.key)
        grant = replace(grant, scopes=owner.scopes)
    return Login(
        profile=order.profile,
        base_url=order.base_url,
        auth_url=got.auth_url,
        mcp_url=settings.mcp_url,
        scopes=grant.scopes,
        kept_in="file",
        fingerprint=fingerprint(grant.key),
        at=now,
        given=got.given,
        expires_at=now + timedelta(seconds=grant.lifetime) if grant.lifetime else None,
    )


def _show_outcome(outcome: LoginResult, settings: Settings, *, json: bool) -> None:
    """Print the result, then what a person has to know about it."""
    login, destination = outcome.login, outcome.destination
    if json:
        print_json(_document(outcome))
    else:
        scopes = "of unknown scopes" if login.scopes is None else f"for {', '.join(login.scopes)}"
        print(visible(f"logged in to {login.base_url} with {login.fingerprint} {scopes}"))
        print(visible(f"the key is {destination.outcome}"))
    for words in _to_heed(outcome, settings):
        say(words)


def _to_heed(outcome: LoginResult, settings: Settings) -> list[str]:
    found = _what_lacks(outcome.missing)
    if found:
        everything = ",".join(SCOPES)
        found.append(
            f"for more: `{suggest('login', '--scopes', everything)}`, and approve all of them"
        )
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


def _parse_scopes(text: str | None) -> tuple[str, ...]:
    """Return the scopes of `--scopes read,write`, all of them without; raise BadInput."""
    if text is None:
        return SCOPES
    asked = {part.strip() for part in text.replace(",", " ").split()}
    strange = sorted(asked - set(SCOPES))
    if strange or not asked:
        raise BadInput(
            f'--scopes "{text}" is not a list of read, write and ai',
            remedy="write it like --scopes read,write,ai",
        )
    return tuple(scope for scope in SCOPES if scope in asked)


def _what_lacks(missing: Iterable[str]) -> list[str]:
    """Return a sentence for each scope that was not granted."""
    found = [scope for scope in missing if scope in _LACKS]
    return [f"without `{scope}` {_LACKS[scope]}" for scope in found]
