"""How often, and after what pauses, a download or upload is tried again."""

from __future__ import annotations

from collections.abc import Callable

#: A download that got this much further has not failed in vain.
_PROGRESS = 1024 * 1024


class RetryBudget:
    """So many tries without progress, with growing pauses."""

    def __init__(
        self, attempts: int, *, jitter: Callable[[], float], first: float = 0.5, most: float = 30.0
    ) -> None:
        self._attempts = attempts
        self._jitter = jitter
        self._first = first
        self._most = most
        self._far = 0
        self.failures = 0

    def pause(self, size: int = 0) -> float | None:
        """Count a failure at `size` bytes; return the seconds to wait, None when it is enough."""
        if size >= self._far + _PROGRESS:
            self.failures = 0
            self._far = size
        self.failures += 1
        if self.failures >= self._attempts:
            return None
        longest = min(self._most, self._first * 2.0 ** (self.failures - 1))
        return longest * (0.5 + self._jitter() / 2)
