"""`callsheet logout`: revoke the key that `login` got, forget it, and make sure that it is dead.

A key that came from the environment or a profile is not touched, and neither is one that was
handed in with `login --with-token`, unless --revoke says so: others may be using it.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from callsheet.deployments.key_request import auth_url_of
from callsheet.deployments.signals import run_command
from callsheet.deployments.terminal import console_for, print_json
from callsheet.tasks.credentials import Login, forget, key_of, profile_name
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.service.login import Exchange, key_status, revoke
from callsheet.tasks.settings import Settings, credentials_folder, load_settings
from callsheet.tasks.visible import say, visible


def main(args: Namespace) -> int:
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
