"""What one process needs.

Its version and user, the clock, its limit of open files, garbage collection, and names that load
on demand.
"""

from __future__ import annotations

import gc
import getpass
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from callsheet.tasks.runtime.errors import ConfigurationError


def user_name() -> str:
    """Return the name of this user, for the record of what they do."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # In a container a user may have a number only.
        return "the command line"


@cache
def own_version() -> str:
    """Return Callsheet's version, as it is installed; `0` where only its files are."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("callsheet")
    except PackageNotFoundError:
        return "0"


# The clock, sleep and chance that code is given, so that tests need not wait.


#: Says the present moment, aware.
Clock = Callable[[], datetime]
#: Says it in Unix seconds, as the ledger keeps it.
UnixClock = Callable[[], float]
Sleep = Callable[[float], Awaitable[Any]]
Random = Callable[[], float]


def utc_now() -> datetime:
    """Return the present moment, aware."""
    return datetime.now(UTC)


# When Python looks for garbage: not while much is made that has no cycles and is kept anyway.
#
# It walks through all that there is again and again while that grows: a third of the time in which
# a large sheet is read, and a quarter of a second, in which nothing else happens, every few seconds
# while its rows are processed. What no one has any more is freed at once as ever.


_lock = Lock()
_paused = 0
_was_on = False
_kept = 0


@contextmanager
def no_search() -> Iterator[None]:
    """Have no cycles searched for while this is open, in any thread; may be opened inside."""
    global _paused, _was_on
    with _lock:
        if not _paused:
            _was_on = gc.isenabled()
            gc.disable()
        _paused += 1
    try:
        yield
    finally:
        with _lock:
            _paused -= 1
            if not _paused:
                if _kept:
                    # It was made to be kept.
                    gc.freeze()
                if _was_on:
                    gc.enable()


@contextmanager
def lasting() -> Iterator[None]:
    """Have no cycles searched for while this is open, nor ever in what is there at its end."""
    with no_search():
        yield
        gc.freeze()


@contextmanager
def search_of_new() -> Iterator[None]:
    """Have cycles searched for only in what is made from here on; may be open several times."""
    global _kept
    with _lock:
        _kept += 1
        gc.freeze()
    # What it would wait for before it searches again is a part of all that it found last.
    gc.collect()
    try:
        yield
    finally:
        with _lock:
            _kept -= 1
            if not _kept:
                gc.unfreeze()


# How many files, connections among them, this process may have open at once.


#: What is asked for where the system says that there is no limit, and has one (macOS).
UNSAID = 10_240


def raise_file_limit() -> int | None:
    """Raise the limit as far as the system lets us; return what it is then, None for none."""
    if sys.platform == "win32":
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    wanted = max(soft, UNSAID) if hard == resource.RLIM_INFINITY else hard
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


# Libraries that only an extra of the package brings (pyproject.toml).


def check_extra(extra: str, *modules: str, use: str) -> None:
    """Raise ConfigurationError unless these modules are installed; `use` is what needs them."""
    if missing := [module for module in modules if not _is_there(module)]:
        raise ConfigurationError(
            f"{use} needs {' and '.join(missing)}, which is not installed; nothing was spent",
            remedy=f"pip install 'callsheet[{extra}]' brings it, as `make install` does",
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:
        # Someone else has said that it must not be imported.
        return False


# The public names of a package, each loaded with its own module at first use.


_LISTED = re.compile(r"from (\S+) import (?:\(([^)]*)\)|(.*))")


def load_on_demand(room: str, file: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a package (`callsheet`).

    Its first `file` lists the names as imports, which only type checkers execute.
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
