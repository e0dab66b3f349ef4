"""Stores a key in the system keyring, or in a private file."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from callsheet.tasks.credentials.register import (
    KeptIn,
    Login,
    file_of,
    read_register,
    write_register,
)
from callsheet.tasks.credentials.secret_files import make_private_folder
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.redact import redact, register_secret


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
            name = keyring_name()
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
            put(_account(login), key)
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
        key = fetch(_account(login))
    except KeyringTrouble as trouble:
        raise ConfigurationError(
            f"the key of the login is in the keyring, and {trouble}",
            remedy="set CALLSHEET_API_KEY, or unlock the keyring and run the same command again",
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
            delete(_account(login))
        except KeyringTrouble as error:
            trouble = str(error)
    write_register(read_register(folder, login.profile).without(login))
    return trouble


def _account(login: Login) -> str:
    return f"{login.profile} {login.base_url}"


# The keyring of the operating system, asked from a thread since some never answer.
#
# `keyring` is imported here alone, and only when a key is to be fetched or kept: it takes a tenth
# of a second and may speak to other programs.


T = TypeVar("T")

#: A keyring that takes longer is taken for one that is not there, in seconds.
LIMIT = 3.0
_SERVICE = "callsheet"


class KeyringTrouble(Exception):
    """There is no keyring, it did not answer in time, or it refused."""


def keyring_name() -> str:
    """Return what the keyring calls itself once it has answered; raise KeyringTrouble."""

    def ask(keyring: Any) -> str:
        backend = keyring.get_keyring()
        # 0 and less are the stand-ins for a keyring that is not there.
        if backend.priority <= 0:
            raise KeyringTrouble("this machine has no keyring")
        backend.get_password(_SERVICE, "is it there?")
        return str(backend.name)

    return _asked(ask)


def fetch(account: str) -> str | None:
    """Return the key kept for `account`, or None; raise KeyringTrouble."""

    def ask(keyring: Any) -> str | None:
        found = keyring.get_password(_SERVICE, account)
        return None if found is None else str(found)

    return _asked(ask)


def put(account: str, key: str) -> None:
    """Keep a key for `account`, and make sure that it is there; raise KeyringTrouble."""

    def ask(keyring: Any) -> bool:
        keyring.set_password(_SERVICE, account, key)
        return bool(keyring.get_password(_SERVICE, account) == key)

    if not _asked(ask):
        raise KeyringTrouble("the keyring did not keep the key")


def delete(account: str) -> None:
    """Delete what is kept for `account`; raise KeyringTrouble when it is still there."""

    def ask(keyring: Any) -> None:
        if keyring.get_password(_SERVICE, account) is not None:
            keyring.delete_password(_SERVICE, account)

    _asked(ask)


def _asked(ask: Callable[[Any], T]) -> T:
    answers: queue.SimpleQueue[T | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            import keyring

            answers.put(ask(keyring))
        except Exception as error:  # a keyring may raise anything at all
            answers.put(error)

    # A daemon: one that hangs must not keep the program from ending.
    threading.Thread(target=work, name="keyring", daemon=True).start()
    try:
        answer = answers.get(timeout=LIMIT)
    except queue.Empty:
        raise KeyringTrouble(f"the keyring did not answer within {LIMIT:g} s") from None
    if isinstance(answer, KeyringTrouble):
        raise answer
    if isinstance(answer, Exception):
        words = redact(f"{type(answer).__name__}: {answer}").splitlines()[0][:200]
        raise KeyringTrouble(f"the keyring refused ({words})")
    return answer
