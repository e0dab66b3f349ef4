"""`callsheet login`, `logout` and `whoami`: get a key, revoke it, show which one is used.

Where the key will go is settled, and said, before anybody is asked to approve anything.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from callsheet.deployments.keys import (
    Destination,
    Obtained,
    Order,
    auth_url_of,
    choose_destination,
    obtain,
    take_back,
)
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import console_for, print_json
from callsheet.tasks.credentials import Login, fingerprint, forget, key_of, profile_name
from callsheet.tasks.runtime.errors import (
    BadInput,
    CallsheetError,
    ConfigurationError,
    LoginError,
    Parked,
)
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import register_secret, say, visible
from callsheet.tasks.runtime.settings import credentials_folder, load_settings
from callsheet.tasks.runtime.suggest import again_with, suggest
from callsheet.tasks.service.login import (
    Exchange,
    Grant,
    KeyStatus,
    Owner,
    is_key,
    key_status,
    owner_of,
    revoke,
)

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
    """Log in; return 0. Raises LoginError, ConfigurationError or Parked when no one was."""
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
            remedy="set CALLSHEET_BASE_URL to the service's REST root, which ends in /api/v1, or "
            "write it into a profile: `callsheet init`",
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
            remedy=again_with("--scopes", "read,write,ai"),
        )
    return tuple(scope for scope in SCOPES if scope in asked)


def _what_lacks(missing: Iterable[str]) -> list[str]:
    """Return a sentence for each scope that was not granted."""
    found = [scope for scope in missing if scope in _LACKS]
    return [f"without `{scope}` {_LACKS[scope]}" for scope in found]


# `callsheet logout`: revoke the key that `login` got, forget it, and make sure that it is dead.
#
# A key that came from the environment or a profile is not touched, and neither is one that was
# passed in with `login --with-token`, unless --revoke says so: others may be using it.


def logout(args: Namespace) -> int:
    """Log out; return 0, or 3 when a person has to see to it that the key is revoked."""
    console_for(args)
    settings = load_settings(profile=args.profile, logging_in=True)
    login, folder = settings.login, credentials_folder()
    if login is None or folder is None:
        return _nobody(args, settings)
    spared = login.given and not args.revoke
    key, locked = _key(login)
    dead = key is not None and not spared and run_command(_revoked(login, settings, key))
    stuck = forget(folder, login)
    status = 0 if dead or spared else 3
    document = {"logged_out": True, "key": login.fingerprint, "revoked": dead, "exit": status}
    _print(args, document, login.base_url, _words(login, dead=dead, spared=spared))
    if locked or stuck:
        say(f"look for {login.fingerprint} in the keyring yourself: {locked or stuck}")
    _tell_of_others(settings, login)
    return status


def _nobody(args: Namespace, settings: Settings) -> int:
    if settings.kept_logins and settings.kept_logins.trouble:
        raise settings.kept_logins.trouble
    document = {"logged_out": False, "key": None, "revoked": False, "exit": 0}
    _print(args, document, settings.base_url, "you are not logged in: nothing to do")
    _tell_of_others(settings, None)
    return 0


def _key(login: Login) -> tuple[str | None, str | None]:
    """Return the key, or None and why it cannot be had."""
    try:
        return key_of(login), None
    except CallsheetError as error:
        return None, str(error)


async def _revoked(login: Login, settings: Settings, key: str) -> bool:
    """Revoke the key; return whether it is proved to be dead.

    The auth server's answer proves nothing (it is always 200): a read of the service does.
    """
    async with Exchange() as exchange:
        try:
            auth_url = login.auth_url or await auth_url_of(exchange, settings)
        except CallsheetError as error:
            say(f"{error}: the key cannot be revoked from here")
        else:
            await revoke(exchange, auth_url, key)
    status = await key_status(login.base_url, key)
    return status.accepted is False


def _words(login: Login, *, dead: bool, spared: bool) -> str:
    shown = login.fingerprint
    if dead:
        return f"logged out: {shown} is revoked, the service answers it with 401"
    if spared:
        return (
            f"logged out: {shown} is forgotten here, and not revoked since it was handed in and "
            "may be used elsewhere (--revoke revokes such a key)"
        )
    return (
        f"logged out: {shown} is forgotten here, but may still be good: revoke it in the "
        "service's app under Settings, Advanced, API keys"
    )


def _print(args: Namespace, document: dict[str, Any], base_url: str | None, words: str) -> None:
    if args.json:
        print_json({"profile": profile_name(args.profile), "base_url": base_url, **document})
        say(words)
    else:
        print(visible(words))


def _tell_of_others(settings: Settings, gone: Login | None) -> None:
    if settings.key_source:
        say(f"the key in {settings.key_source} is not touched, and stays in force")
    logins = settings.kept_logins.logins if settings.kept_logins else {}
    others = [url for url in logins if gone is None or url != gone.base_url]
    if others:
        say(f"still logged in to {', '.join(others)} (set CALLSHEET_BASE_URL to leave one)")


# `callsheet whoami`: which key is in force, where it comes from, and what it may do.
#
# Asks with free reads alone: whether a key may write can only be found out by spending.


def whoami(args: Namespace) -> int:
    """Show it; return 0, 2 when the service does not accept the key, 5 when it cannot be asked."""
    console_for(args)
    settings = load_settings(profile=args.profile)
    base_url, key = settings.service()
    status, owner = run_command(_ask(base_url, key))
    known, unknown = _scopes(settings, status, owner)
    code = 2 if status.accepted is False else 0
    if status.accepted is None:
        code = 5 if status.later else 2
    source, where = _origin(settings)
    document: dict[str, Any] = {
        "profile": profile_name(args.profile),
        "key": fingerprint(key),
        "source": source,
        "where": where,
        "base_url": base_url,
        "organisation": owner.organisation,
        "scopes": known,
        "unknown_scopes": unknown,
        "accepted": status.accepted,
        "exit": code,
    }
    if args.json:
        print_json(document)
    else:
        _show(document)
    _advise(settings, status)
    return code


async def _ask(base_url: str, key: str) -> tuple[KeyStatus, Owner]:
    status = await key_status(base_url, key)
    return status, await owner_of(base_url, key) if status.accepted else Owner()


def _origin(settings: Settings) -> tuple[str, str]:
    """Return where the key comes from: environment, profile, keyring or file, and where exactly."""
    source = settings.key_source
    if source:
        kind = "environment" if source.startswith("CALLSHEET_") else "profile"
        return kind, source
    assert settings.login is not None
    assert settings.kept_logins is not None
    if settings.login.kept_in == "keyring":
        return "keyring", "the keyring of this machine"
    return "file", str(settings.kept_logins.path)


def _scopes(settings: Settings, status: KeyStatus, owner: Owner) -> tuple[list[str], list[str]]:
    """Return the scopes that the key is known to hold, and those no one told us about."""
    login = None if settings.key_source else settings.login
    told = owner.scopes
    if told is None and login:
        told = login.scopes
    if told is not None:
        return list(told), []
    known = ["read"] if status.may_read else []
    open_questions = SCOPES if status.may_read is None else SCOPES[1:]
    return known, list(open_questions)


def _show(document: dict[str, Any]) -> None:
    accepted = {True: "yes", False: "no", None: "not known"}[document["accepted"]]
    scopes = ", ".join(document["scopes"]) or "none that is known"
    if document["unknown_scopes"]:
        scopes += f" (not known: {', '.join(document['unknown_scopes'])})"
    lines = {
        "key": document["key"],
        "from": f"{document['source']}: {document['where']}",
        "service": document["base_url"],
        "organization": document["organisation"] or "the service does not say",
        "scopes": scopes,
        "accepted": accepted,
    }
    for name, value in lines.items():
        print(visible(f"{name:<13}{value}"))


def _advise(settings: Settings, status: KeyStatus) -> None:
    if status.accepted is False:
        where = f"set {settings.key_source} to a good key" if settings.key_source else ""
        say(f"{status.words}: {where or 'run `callsheet login`'}")
    elif status.accepted is None:
        later = "; run this again later" if status.later else "; check CALLSHEET_BASE_URL"
        say(f"whether the key is good could not be found out: {status.words}{later}")
