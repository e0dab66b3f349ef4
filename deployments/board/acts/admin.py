"""Whoever starts the board: its first admin, whose token is kept in a private file beside it.

Whoever can start the board has the ledger anyway; the file saves them a new token every time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

from callsheet.deployments.board.acts.people import invite
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.tokens import digest_of, make_token
from callsheet.tasks.errors import ConfigurationError
from callsheet.tasks.ledger.people import Person, all_people, person_of_token, renew_token

NAME = "admin"


async def admin_token(board: Board) -> tuple[Person, str] | None:
    """Return the first admin and their token, made anew where it was lost; None once revoked."""
    file = board.folder / "token"
    token = _kept(file)
    if token is not None:
        known = await board.read(partial(person_of_token, digest=digest_of(token)))
        if known is not None:
            return known, token
    there = {one.person.name: one for one in await board.read(all_people)}
    if NAME not in there:
        made = await invite(board, "the board", name=NAME, role="admin")
        _keep(file, made.token)
        return made.person, made.token
    if there[NAME].revoked_at is not None:
        return None
    token = make_token(board.token)
    person = there[NAME].person
    await board.write(partial(renew_token, person=person.id, token=digest_of(token)))
    _keep(file, token)
    return person, token


async def others(board: Board) -> int:
    """Return how many people may come in besides the first admin."""
    found = await board.read(all_people)
    return sum(one.person.name != NAME and one.revoked_at is None for one in found)


def keep_address(board: Board) -> None:
    """Write down where the board is, for invitations that are made beside it."""
    _keep(board.folder / "address", board.origin)


def kept_address(folder: Path) -> str | None:
    """Return where the board was last."""
    return _kept(folder / "address")


def kept_token(folder: Path) -> str | None:
    """Return the first admin's token, if it is kept."""
    return _kept(folder / "token")


def _kept(file: Path) -> str | None:
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text("utf-8").strip() or None
    return None


def _keep(file: Path, text: str) -> None:
    """Write a file that nobody else may read, whole or not at all."""
    half = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(made, "w", encoding="utf-8") as out:
            out.write(f"{text}\n")
        half.replace(file)
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from error
