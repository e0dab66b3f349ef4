"""Crash points: named places before and after everything durable, where a test ends the process.

Free when off: one global is compared with None. Nothing in the program sets it and nothing in the
environment does; a test arms the process that it is about to kill.
"""

from __future__ import annotations

from collections.abc import Callable

#: Takes the name of a point and what is being done there; need not return.
Hook = Callable[[str, object], None]

_hook: Hook | None = None


def crashpoint(name: str, of: object = None) -> None:
    """Tell the hook, if there is one, that the program is at `name`, at work on `of`."""
    if _hook is not None:
        _hook(name, of)


def arm(hook: Hook) -> None:
    """Have every point of this process told to `hook`, from any thread, from now on."""
    global _hook
    _hook = hook
