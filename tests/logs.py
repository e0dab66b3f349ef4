"""Logging of this process, which a command that is called in it sets up for itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from callsheet.tasks.runtime.logs import log_as


@contextmanager
def logging_as_it_was() -> Iterator[None]:
    """Undo what a command does to logging: the next one may listen, and this one's stderr ends."""
    root, ours = logging.getLogger(), logging.getLogger("callsheet")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    try:
        yield
    finally:
        log_as("text")
        root.handlers[:] = handlers
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
