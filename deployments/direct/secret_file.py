"""A file for a secret that is shown once: made before it is asked for, for its owner alone."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tasks.errors import BadInput


class SecretFile:
    """Holds the place for a secret, so that one that was given can be kept; None keeps nothing.

    Left without a secret, it leaves no file.
    """

    def __init__(self, path: str | None) -> None:
        self._path = None if path is None else Path(path)
        self._handle: int | None = None
        self._kept = False

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError as error:
                raise BadInput(
                    f"--secret-file {self._path} exists and was left alone",
                    remedy="name a file that is not there yet",
                ) from error
            except OSError as error:
                raise BadInput(
                    f"--secret-file {self._path} cannot be made: {error.strerror}"
                ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is None or self._path is None:
            return
        os.close(self._handle)
        if not self._kept:
            with suppress(OSError):
                self._path.unlink()

    def keep(self, secret: str | None) -> None:
        """Write the secret and see it onto the disk."""
        if self._handle is None or secret is None:
            return
        os.write(self._handle, f"{secret}\n".encode())
        os.fsync(self._handle)
        self._kept = True
