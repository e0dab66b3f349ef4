"""Requests a key at login and stores it where you asked.

Everything for people goes to stderr, since a program may read stdout. Keeps nothing but a claim
that waits between two calls of `callsheet login --email`, until someone approves it.
"""

from __future__ import annotations

import os
import platform
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from callsheet.deployments.terminal import at_terminal, read_line
from callsheet.tasks.credentials import (
    Login,
    Place,
    choose_place,
    claim_file,
    file_of,
    fingerprint,
    keep,
    make_private_folder,
    read_private,
    write_private,
)
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError, LoginError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import register_secret, say
from callsheet.tasks.service.login import (
    ENDED,
    Claim,
    Endpoints,
    Exchange,
    Grant,
    UserCode,
    discover,
    find_auth_url,
    fitting_way,
    local_auth_url,
    log_in_by_browser,
    log_in_by_claim,
    log_in_by_device,
    open_browser,
    revoke,
)
from callsheet.tasks.values.amounts import say_duration

CLIENT_NAME = "Callsheet"


@dataclass(frozen=True, kw_only=True)
class Order:
    """What was asked for; `way` is None where the fitting one is to be found."""

    way: str | None
    scopes: tuple[str, ...]
    email: str | None
    base_url: str
    profile: str
    folder: Path | None


@dataclass(frozen=True, kw_only=True)
class Obtained:
    """A key and its auth server; `given` for a key made elsewhere, which may be used elsewhere."""

    grant: Grant
    auth_url: str | None
    given: bool = False


async def obtain(order: Order, settings: Settings) -> Obtained:
    """Return what was granted; raise LoginError or Parked."""
    async with Exchange() as exchange:
        auth_url = await auth_url_of(exchange, settings)
        endpoints = await discover(exchange, auth_url)
        way = order.way or _fitting(auth_url)
        if way == "email":
            grant = await _by_claim(exchange, endpoints, order, settings)
        elif way == "browser":
            grant = await log_in_by_browser(
                exchange,
                endpoints,
                client_name=client_name(),
                scopes=order.scopes,
                open_browser=open_browser,
                say=say,
            )
        else:
            grant = await _by_device(exchange, endpoints, order)
        return Obtained(grant=grant, auth_url=auth_url)


async def auth_url_of(exchange: Exchange, settings: Settings) -> str:
    """Return the auth root: set, named by the MCP server, or next to a service on this machine.

    Raises ConfigurationError naming the setting that is missing; nothing is guessed for a service
    that is not on this machine.
    """
    if settings.auth_url:
        return settings.auth_url
    if settings.mcp_url:
        found = await find_auth_url(exchange, settings.mcp_url)
        say(f"{settings.mcp_url} names {found} as its auth server")
        return found
    local = local_auth_url(settings.base_url or "")
    if local is None:
        raise ConfigurationError(
            "CALLSHEET_AUTH_URL is not set, so there is nowhere to log in",
            remedy="set CALLSHEET_AUTH_URL to the service's login root (or CALLSHEET_MCP_URL), "
            "or create a key in the service's app and use `callsheet login --with-token`",
        )
    say(f"CALLSHEET_AUTH_URL is not set; the service is on this machine, so {local} is used")
    return local


async def take_back(got: Obtained) -> None:
    """Revoke a key that a login made and no one will have; never one that was passed in."""
    if got.given or got.auth_url is None:
        return
    async with Exchange() as exchange:
        await revoke(exchange, got.auth_url, got.grant.key)
    say(f"the auth server was asked to revoke {fingerprint(got.grant.key)}: it is kept nowhere")


def client_name() -> str:
    """Return what the person who approves is shown: the program, and the machine it runs on."""
    machine = "".join(c for c in platform.node() if c.isalnum() or c in "-._")[:40]
    return f"{CLIENT_NAME} on {machine}" if machine else CLIENT_NAME


def _fitting(auth_url: str) -> str:
    way, why = fitting_way(os.environ, platform=sys.platform, terminal=at_terminal())
    how = "in a browser here" if way == "browser" else "with a code for a browser anywhere"
    say(f"logging in at {auth_url} {how}, because {why} (--browser, --device or --email chooses)")
    return way


def _show(code: UserCode) -> None:
    say(f"open  {code.address}\nenter {code.code}")
    if code.complete:
        say(f"(or open {code.complete}, and compare the code)")
    say(f"waiting up to {say_duration(code.polling.lifetime)} for the approval; Ctrl+C stops")


async def _by_device(exchange: Exchange, endpoints: Endpoints, order: Order) -> Grant:
    while True:
        try:
            return await log_in_by_device(
                exchange,
                endpoints,
                client_name=client_name(),
                scopes=order.scopes,
                show=_show,
                say=say,
            )
        except LoginError as error:
            if error.code != "expired_token" or not at_terminal():
                raise
        say("that code ran out; press Enter for a fresh one, Ctrl+C to stop")
        if not await read_line(sys.stdin):
            raise LoginError("the code ran out before it was approved")


async def _by_claim(
    exchange: Exchange, endpoints: Endpoints, order: Order, settings: Settings
) -> Grant:
    email = order.email or ""
    file = claim_file(order.folder, order.profile) if order.folder else None
    pending = _waiting(file, endpoints.issuer, email, now=exchange.clock())
    say(
        f"{'going on with' if pending else 'beginning'} a login of {email}; "
        "for a day the same command takes it up again"
    )
    try:
        grant = await log_in_by_claim(
            exchange,
            endpoints,
            email=email,
            client_name=client_name(),
            scopes=order.scopes,
            grant_type=settings.claim_grant,
            show=_show,
            say=say,
            pending=pending,
            keep=partial(_keep_waiting, file, endpoints.issuer, email),
        )
    except LoginError as error:
        if error.code in ENDED and file is not None:
            file.unlink(missing_ok=True)
        raise
    if file is not None:
        file.unlink(missing_ok=True)
    return grant


@dataclass(frozen=True, kw_only=True)
class WaitingClaim:
    """A claim that no one has approved yet, as the next `login --email` takes it up again.

    Its file is for its owner alone: the token is a secret, and is shown by the service once
    (specification, section 5, path 3).
    """

    auth_url: str
    email: str
    claim: Claim


_WAITING = TypeAdapter(WaitingClaim)


def _waiting(file: Path | None, issuer: str, email: str, *, now: datetime) -> Claim | None:
    """Return the claim in a file, if it is for this server and person, and still good."""
    try:
        text = read_private(file) if file is not None else None
        kept = None if text is None else _WAITING.validate_json(text)
    except (ConfigurationError, ValueError):
        return None
    if kept is None or kept.claim.expires_at <= now:
        return None
    if (kept.auth_url, kept.email) != (issuer, email):
        return None
    register_secret(kept.claim.token)
    return kept.claim


def _keep_waiting(file: Path | None, issuer: str, email: str, claim: Claim) -> None:
    """Keep a claim in place of any other; raise ConfigurationError when that fails."""
    if file is not None:
        make_private_folder(file.parent)
        kept = WaitingClaim(auth_url=issuer, email=email, claim=claim)
        write_private(file, _WAITING.dump_json(kept, indent=1).decode() + "\n")


# Where the key of a login goes: kept for later commands, into a file of its own, or nowhere.


@dataclass(frozen=True, kw_only=True)
class Destination:
    """One place for a key: what is said before and after, and how it gets there.

    `kept_in` is "keyring", "file", "token-file", or None where the key is kept nowhere.
    """

    kept_in: str | None
    path: Path | None
    announcement: str
    outcome: str
    keep: Callable[[Login, str], None]


def choose_destination(
    args: Namespace, folder: Path | None, profile: str, wanted: str | None
) -> Destination:
    """Return where the key will go, as the options say; raise BadInput or ConfigurationError."""
    if args.token_file is not None:
        return _token_file(Path(args.token_file))
    if args.no_store:
        return Destination(
            kept_in=None,
            path=None,
            announcement="the key will not be kept"
            + ("" if args.with_token else ": it is revoked once it was tried"),
            outcome="not kept" + ("" if args.with_token else ", and revoked again"),
            keep=lambda _login, _key: None,
        )
    if folder is None:
        raise ConfigurationError(
            "there is no home folder to keep a login in",
            remedy="set XDG_CONFIG_HOME, or use --token-file FILE",
        )
    place = choose_place(folder, profile, wanted)
    return Destination(
        kept_in=place.kept_in,
        path=file_of(folder, profile) if place.kept_in == "file" else None,
        announcement=f"the key will be kept {place.words}",
        outcome=f"kept {place.words}",
        keep=partial(_keep, folder, place),
    )


def _keep(folder: Path, place: Place, login: Login, key: str) -> None:
    keep(folder, replace(login, kept_in=place.kept_in), key)


def _token_file(path: Path) -> Destination:
    if not path.parent.is_dir():
        raise BadInput(f"--token-file {path} is in a folder that is not there")
    if path.exists() and not _holds_a_key(path):
        raise BadInput(
            f"--token-file {path} already exists and holds something else than a key",
            remedy="name a file that is not there yet",
        )
    return Destination(
        kept_in="token-file",
        path=path,
        announcement=f"the key will be written as plain text to {path}, which only you may read",
        outcome=f"written to {path} (for CALLSHEET_API_KEY_FILE)",
        keep=lambda _login, key: write_private(path, key + "\n"),
    )


def _holds_a_key(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return not head.strip() or (head.startswith(b"mav_") and len(head.split()) == 1)
