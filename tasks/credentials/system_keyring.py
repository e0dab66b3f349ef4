"""The keyring of the operating system, asked from a thread since some never answer.

`keyring` is imported here alone, and only when a key is to be fetched or kept: it takes a tenth
of a second and may speak to other programs.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from callsheet.tasks.redact import redact

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
