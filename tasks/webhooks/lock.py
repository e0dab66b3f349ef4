"""One process at a time works on the webhooks whose secrets are in one folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tasks.credentials.private_file import make_private_folder
from tasks.errors import ConfigurationError
from tasks.store.lock import try_open_locked
from tasks.webhooks.status import Subscriber

#: Seconds between two tries.
PAUSE = 0.1


@asynccontextmanager
async def alone(at: Subscriber, *, patience: float) -> AsyncIterator[bool]:
    """Hold the folder for us alone, or yield False when somebody else keeps it for too long.

    The lock is the system's and ends with its process. Raises ConfigurationError when the folder
    cannot be used.
    """
    make_private_folder(at.folder)
    held = None
    try:
        for _ in range(max(1, round(patience / PAUSE))):
            held = try_open_locked(at.folder / "lock")
            if held is not None:
                break
            await at.sleep(PAUSE)
    except OSError as error:
        raise ConfigurationError(
            f"{at.folder} cannot be used to keep webhook secrets: {error.strerror}",
            remedy="give yourself the right to write there",
        ) from None
    try:
        yield held is not None
    finally:
        if held is not None:
            held.close()
