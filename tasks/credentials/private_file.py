"""Files that only their owner may read: written whole or not at all, refused when others can.

A file is 0600 from its first byte on; a folder of our own is 0700.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from callsheet.tasks.errors import ConfigurationError


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
            remedy="mend or delete it, then ask for a new secret (`callsheet login`, "
            "`callsheet webhooks ensure`)",
        ) from None


def write_private(path: Path, text: str) -> None:
    """Put `text` in place as a whole; raise ConfigurationError when it cannot be written.

    The folder has to be there.
    """
    import tempfile

    try:
        number, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(number, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
        _sync_folder(path.parent)
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


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "it is not text"
