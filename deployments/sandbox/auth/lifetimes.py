"""Owns how long codes, claims and tokens last, and how often a program may ask."""

from __future__ import annotations

import math

CODE = 600.0
CLAIM = 86_400.0
TOKEN = 365 * 86_400.0
INTERVAL = 5.0
#: However fast the time: what is gone before a person or a program can use it is of no use.
SHORTEST = 5.0


class Lifetimes:
    """Seconds, divided by the time scale. What is told is what is kept to."""

    def __init__(self, time_scale: float) -> None:
        self.code = max(SHORTEST, CODE / time_scale)
        self.claim = max(3 * SHORTEST, CLAIM / time_scale)
        self.token = max(SHORTEST, TOKEN / time_scale)
        #: Whole seconds, at least 1: how long to wait between polls, and how much longer after
        #: each that came too soon.
        self.interval = max(1, math.ceil(INTERVAL / time_scale))
