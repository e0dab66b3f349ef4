"""The public names of a room, each loaded with its own file once somebody asks for it.

A command that reads two figures in the ledger need not load what keeps nights, reviews and plans.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

_LISTED = re.compile(r"from (\S+) import (?:\(([^)]*)\)|(.*))")


def load_on_demand(room: str, file: str) -> Callable[[str], object]:
    """Return what a room (`tasks.ledger`) has for its `__getattr__`.

    Its first `file` lists the names as imports, which nothing but type checkers carries out.
    """
    homes = {
        name: home
        for home, several, one in _LISTED.findall(Path(file).read_text(encoding="utf-8"))
        if home.startswith(f"{room}.")
        for name in (several or one).replace(",", " ").split()
    }

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[room], name, value)
        return value

    return load
