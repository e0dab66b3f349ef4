"""`callsheet whoami`: which key is in force, where it comes from, and what it may do.

Asks with free reads alone: whether a key may write can only be found out by spending.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from callsheet.deployments.commands.login import SCOPES
from callsheet.deployments.signals import run_command
from callsheet.deployments.terminal import console_for, print_json
from callsheet.tasks.credentials import fingerprint, profile_name
from callsheet.tasks.service.login import KeyStatus, Owner, key_status, owner_of
from callsheet.tasks.settings import Settings, load_settings
from callsheet.tasks.visible import say, visible


def main(args: Namespace) -> int:
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
    """Return the scopes that the key is known to hold, and those nobody told us about."""
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
        "organisation": document["organisation"] or "the service does not say",
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
