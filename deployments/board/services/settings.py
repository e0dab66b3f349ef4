"""Settings that an admin sets on the board: what is in force, where it comes from, and changes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.campaign.naming import NameExample, try_names
from callsheet.tasks.engine.context import check_links
from callsheet.tasks.ledger.board_settings import board_settings, set_on_board
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.runtime.known_settings import KNOWN, ON_BOARD
from callsheet.tasks.runtime.settings import with_board

#: Characters of a value at most.
LONGEST = 2_000


@dataclass(frozen=True, kw_only=True)
class ShownSetting:
    """A setting as the page shows it: `value` as it was written, or empty; `source` says where.

    What is set `elsewhere`, in the environment or a profile, cannot be set on the board.
    """

    name: str
    title: str
    words: str
    default: str | None
    value: str
    source: str | None
    elsewhere: bool
    at: float | None = None


async def shown_settings(board: Board) -> Sequence[ShownSetting]:
    """Return every setting that the board may set, in the order of their documentation."""
    kept = await board.read(board_settings)
    shown = []
    for name, title in ON_BOARD.items():
        default, words = KNOWN[name]
        value, source, at = "", None, None
        if (found := board.settings.set_elsewhere.get(name)) is not None:
            value, source = found.value, _where(found.where)
        elif (one := kept.get(name)) is not None:
            value, source, at = one.value, f"set here by {one.by}", one.at
        shown.append(
            ShownSetting(
                name=name, title=title, words=words, default=default, value=value, source=source,
                elsewhere=found is not None, at=at,
            )
        )  # fmt: skip
    return shown


async def change(board: Board, name: str, text: str) -> None:
    """Set a setting for all who use the ledger; an empty text brings back its default.

    Raise BadInput, with nothing changed, for a value that it cannot have, and for a setting that
    the environment or a profile sets; ProblemDetails (404) for one that the board does not set.
    """
    if name not in ON_BOARD:
        raise ProblemDetails(404, "there is no such setting on the board")
    if (found := board.settings.set_elsewhere.get(name)) is not None:
        raise BadInput(f"it is {_where(found.where)}, and cannot be changed here")
    value = text.strip() or None
    kept = {one.name: one.value for one in (await board.read(board_settings)).values()}
    if value == kept.get(name):
        return
    if value is not None:
        # What names files is tried together.
        others = {one: said for one, said in kept.items() if one in ("names", "copies")}
        await _check(board, name, {**others, name: value})
    await board.write(set_on_board, name=name, value=value, by=board.by, at=board.clock())


async def example(board: Board, names: str | None = None) -> NameExample | None:
    """Return what a template calls videos of the newest campaign; BadInput for one that cannot.

    Without a template it is the one in force.
    """
    _check_length(names or "")
    return await board.read(try_names, names=(names or "").strip() or board.settings.names)


async def _check(board: Board, name: str, said: Mapping[str, str]) -> None:
    _check_length(said[name])
    try:
        settings = with_board(board.settings, said, place="")
    except ConfigurationError as error:
        words = str(error).lstrip(": ").removesuffix("; nothing was spent")
        raise BadInput(words, remedy=error.remedy) from None
    if name in ("names", "copies"):
        trying = partial(try_names, names=settings.names, addresses=settings.copies)
        # Who sets copies here may sit anywhere; folders are for the environment and profiles.
        await board.read(trying, local=name != "copies")
    elif name == "links":
        check_links(settings)


def _check_length(value: str) -> None:
    if len(value) > LONGEST:
        raise BadInput(f"is longer than {LONGEST:,} characters")


def _where(where: str) -> str:
    """Return where a setting is written, as words for people: a variable, or a file's line."""
    if not where.startswith("profile "):
        return f"set by {where}"
    place = where.removeprefix("profile ").rpartition(":")[0]
    return f"set in {place.removeprefix(os.getcwd() + os.sep)}"
