"""When Python looks for garbage: not while much is made that has no cycles and is kept anyway.

It walks through all that there is again and again while that grows: a third of the time in which a
large sheet is read, and a quarter of a second, in which nothing else happens, every few seconds
while its rows are carried. What nobody has any more is freed at once as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

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
