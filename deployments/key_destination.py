"""Where the key of a login goes: kept for later commands, into a file of its own, or nowhere."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from callsheet.tasks.credentials import Login, Place, choose_place, file_of, keep, write_private
from callsheet.tasks.errors import BadInput, ConfigurationError


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
