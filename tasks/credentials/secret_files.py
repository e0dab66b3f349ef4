"""Files that only their owner may read, and the webhook secrets in them.

The service shows a secret once, in the answer to a create, so its file has a place before the
create is sent. A receiver takes every live one: two while a subscription is being replaced.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import SecretStr

from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.files import write_whole
from callsheet.tasks.runtime.redact import register_secret

#: A retired secret is taken for so long: the last retry of a delivery comes after some six hours
#: (specification, section 6).
AFTERLIFE = 8 * 3600.0
#: The clock of a file system has ticks: what changed this many seconds ago may change once more
#: within the same one, and is read again.
TICK = 1.0
#: Who signed, where the secret was given in the settings and not made here.
GIVEN = "given"


@dataclass(frozen=True, kw_only=True)
class WebhookSecret:
    """What signs the deliveries of one webhook; moments are Unix seconds.

    `url` is the address that it was made with, and ends in `nonce`. An empty `secret` holds the
    place of one that is being asked for; without a `webhook_id` it is not known whether the service
    made it.
    """

    nonce: str
    organisation: str
    url: str
    made_at: float
    secret: str = field(default="", repr=False)
    webhook_id: str | None = None
    retired_at: float | None = None

    def lives(self, now: float) -> bool:
        """Whether deliveries that it signed are taken."""
        return bool(self.secret) and (self.retired_at is None or now < self.retired_at + AFTERLIFE)


def keep_webhook_secret(folder: Path, kept: WebhookSecret) -> None:
    """Put a secret onto the disk, whole; raise ConfigurationError when that cannot be done."""
    make_private_folder(folder)
    register_secret(kept.secret)
    write_private(_file(folder, kept.nonce), json.dumps(asdict(kept)))


def drop_webhook_secret(folder: Path, nonce: str) -> None:
    """Forget a secret at once."""
    _file(folder, nonce).unlink(missing_ok=True)


def read_webhook_secrets(folder: Path) -> list[WebhookSecret]:
    """Return all that are kept, the newest first.

    Raises ConfigurationError for a file that is not for us alone, or no secret any more.
    """
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    found = [one for file in files if (one := _read_webhook_secret(file))]
    return sorted(found, key=lambda one: -one.made_at)


def _read_webhook_secret(path: Path) -> WebhookSecret | None:
    text = read_private(path)
    if text is None:
        return None
    try:
        found = WebhookSecret(**json.loads(text))
    except (ValueError, TypeError):
        raise ConfigurationError(
            f"{path} is not a webhook's secret any more",
            remedy="delete it, then run `callsheet webhooks ensure`",
        ) from None
    register_secret(found.secret)
    return found


class LiveSecrets:
    """The secrets that a receiver takes, read again whenever the folder has changed.

    Called, it returns pairs of nonce and secret; those given in the settings come first.
    """

    def __init__(
        self, folder: Path, given: Sequence[SecretStr], *, clock: Callable[[], float]
    ) -> None:
        self._folder = folder
        plain = [secret.get_secret_value() for secret in given]
        self._given = [(GIVEN, secret.encode()) for secret in plain]
        self._clock = clock
        self._changed: int | None = -1
        self._kept: list[WebhookSecret] = []
        for secret in plain:
            register_secret(secret)

    def __call__(self) -> list[tuple[str, bytes]]:
        now = self._clock()
        changed = self._folder.stat().st_mtime_ns if self._folder.is_dir() else None
        if changed != self._changed:
            self._kept = read_webhook_secrets(self._folder)
            settled = changed is None or changed / 1e9 < now - TICK
            self._changed = changed if settled else -1
        kept = [(one.nonce, one.secret.encode()) for one in self._kept if one.lives(now)]
        return [*self._given, *kept]


def _file(folder: Path, nonce: str) -> Path:
    return folder / f"{nonce}.json"


# Files that only their owner may read: written whole or not at all, refused when others can.
#
# A file is 0600 from its first byte on; a folder of our own is 0700.


def read_private(path: Path) -> str | None:
    """Return the text, or None when there is no such file.

    Raises ConfigurationError when it cannot be read, or others than its owner can read it.
    """
    try:
        with path.open(encoding="utf-8") as file:
            _refuse_open(path, os.fstat(file.fileno()).st_mode)
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read: {_reason(error)}",
            remedy="fix or delete it, then ask for a new secret (`callsheet login`, "
            "`callsheet webhooks ensure`)",
        ) from None


def write_private(path: Path, text: str) -> None:
    """Put `text` in place as a whole; raise ConfigurationError when it cannot be written.

    The folder has to be there.
    """
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {_reason(error)}") from None


def make_private_folder(folder: Path) -> None:
    """Make a folder of ours, closed to others even if it was open; raise ConfigurationError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be used to keep a secret: {error.strerror}",
            remedy="make it writable, or keep logins elsewhere: XDG_CONFIG_HOME, --token-file FILE",
        ) from None


def _refuse_open(path: Path, mode: int) -> None:
    # Windows keeps rights elsewhere and shows every file as open.
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise ConfigurationError(
            f"{path} can be read by others than you, so the secret in it is not used",
            remedy=f"close it with `chmod 600 {path}`; if others may have read it, replace it",
        )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "it is not text"
