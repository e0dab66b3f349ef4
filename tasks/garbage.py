"""When Python looks for garbage: not while much is made that has no cycles and is kept anyway.

It walks through all that there is again and again while that grows: a third of the time in which a
large sheet is read. What nobody has any more is freed at once as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_paused = 0
_was_on = False


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
            if not _paused and _was_on:
                gc.enable()
