"""Keeps a key, gives it back, forgets it: in the keyring if there is one, else in a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from callsheet.tasks.credentials import system_keyring
from callsheet.tasks.credentials.private_file import make_private_folder
from callsheet.tasks.credentials.register import (
    KeptIn,
    Login,
    file_of,
    read_register,
    write_register,
)
from callsheet.tasks.credentials.system_keyring import KeyringTrouble
from callsheet.tasks.errors import ConfigurationError
from callsheet.tasks.redact import register_secret


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a key will be kept; `words` say it to a person, before it is written there."""

    kept_in: KeptIn
    words: str


def choose_place(folder: Path, profile: str, wanted: str | None) -> Place:
    """Return where a key will be kept, having made sure that it can be.

    `wanted` is "keyring", "file" or None for the best there is. Raises ConfigurationError.
    """
    make_private_folder(folder)
    path = file_of(folder, profile)
    if trouble := read_register(folder, profile).trouble:
        raise trouble
    why = "as CALLSHEET_CREDENTIALS says"
    if wanted != "file":
        try:
            name = system_keyring.keyring_name()
            return Place(kept_in="keyring", words=f"in the keyring ({name})")
        except KeyringTrouble as silence:
            if wanted == "keyring":
                raise ConfigurationError(
                    f"the key cannot be kept in the keyring: {silence}",
                    remedy="unlock the keyring, or set CALLSHEET_CREDENTIALS=file",
                ) from None
            why = str(silence)
    words = f"as plain text in {path}, which only you may read ({why})"
    return Place(kept_in="file", words=words)


def keep(folder: Path, login: Login, key: str) -> None:
    """Keep a key where `login` says; raise ConfigurationError when that fails."""
    register = read_register(folder, login.profile)
    if register.trouble:
        raise register.trouble
    if login.kept_in == "keyring":
        try:
            system_keyring.put(_account(login), key)
        except KeyringTrouble as trouble:
            raise ConfigurationError(
                f"the key could not be kept: {trouble}",
                remedy="set CALLSHEET_CREDENTIALS=file to keep it in a file instead",
            ) from None
    kept = replace(login, key=key if login.kept_in == "file" else None)
    write_register(register.with_login(kept))


def key_of(login: Login) -> str:
    """Return the key of a login; raise ConfigurationError when the keyring does not have it."""
    if login.key is not None:
        register_secret(login.key)
        return login.key
    try:
        key = system_keyring.fetch(_account(login))
    except KeyringTrouble as trouble:
        raise ConfigurationError(
            f"the key of the login is in the keyring, and {trouble}",
            remedy="unlock the keyring and run this again, or set CALLSHEET_API_KEY",
        ) from None
    if not key:
        raise ConfigurationError(
            "the key of the login is no longer in the keyring", remedy="run `callsheet login`"
        )
    register_secret(key)
    return key


def forget(folder: Path, login: Login) -> str | None:
    """Delete a login and its key; return what is wrong when the keyring would not let it go."""
    trouble: str | None = None
    if login.kept_in == "keyring":
        try:
            system_keyring.delete(_account(login))
        except KeyringTrouble as error:
            trouble = str(error)
    write_register(read_register(folder, login.profile).without(login))
    return trouble


def _account(login: Login) -> str:
    return f"{login.profile} {login.base_url}"
