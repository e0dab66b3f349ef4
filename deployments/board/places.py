"""Places of the machine that viewers and agents do not learn: local paths by their last parts.

Whoever is not an admin sees `spring/r1.mp4` for `/srv/videos/spring/r1.mp4`; addresses of a bucket
or a database on another machine stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainSerializer

from callsheet.tasks.runtime.known_settings import Settings

#: The folders that are hidden from the person of the request; none for an admin.
_HIDDEN: ContextVar[tuple[str, ...]] = ContextVar("hidden_folders", default=())


def folders_of(settings: Settings) -> tuple[str, ...]:
    """Return the folders of a machine that texts may name, the innermost first."""
    named = [settings.home, settings.home.parent]
    said = [one for one in (settings.store, settings.inbox) if one and "://" not in one]
    named += [Path(one).expanduser().resolve() for one in said]
    whole = {str(one.resolve()).rstrip("/") for one in named} - {""}
    return tuple(sorted(whole, key=len, reverse=True))


def hide_folders(folders: tuple[str, ...]) -> None:
    """Hide these folders in what the request that is answered now shows."""
    _HIDDEN.set(folders)


def shown_place(text: str) -> str:
    """Return a text as the person of the request may read it."""
    return str(without_folders(text, _HIDDEN.get()))


def shown_places(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as the person of the request may read it."""
    return {name: without_folders(one, _HIDDEN.get()) for name, one in said.items()}


def hiding() -> Callable[[Any], Any]:
    """Return what makes a value one that the person of the request may read, in any thread."""
    return partial(without_folders, folders=_HIDDEN.get())


def without_folders(said: Any, folders: tuple[str, ...]) -> Any:
    """Return a text, or all texts of lists and objects, with what is below these folders alone."""
    if isinstance(said, str):
        for folder in folders:
            said = said.replace(f"{folder}/", "").replace(folder, Path(folder).name)
        return said
    if isinstance(said, dict):
        return {name: without_folders(one, folders) for name, one in said.items()}
    if isinstance(said, list | tuple):
        return [without_folders(one, folders) for one in said]
    return said


#: A place, or a sentence that may name one, in an answer.
Place = Annotated[str, PlainSerializer(shown_place, return_type=str)]
