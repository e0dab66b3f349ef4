"""Owns the codes people type (RFC 8628, 6.1): letters, form, and the limit on guesses."""

from __future__ import annotations

import secrets
from collections import defaultdict, deque

#: Consonants only: no code spells a word, and none looks like a digit.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
MOST_WRONG = 10


def new_code() -> str:
    """Make a code such as `WDJB-MJHT`."""
    drawn = "".join(secrets.choice(LETTERS) for _ in range(8))
    return f"{drawn[:4]}-{drawn[4:]}"


def normal(typed: str) -> str:
    """Bring what was typed into the form codes are kept in, whatever its case and dashes."""
    letters = "".join(letter for letter in typed.upper() if letter.isalnum())[:9]
    return f"{letters[:4]}-{letters[4:]}"


class Guesses:
    """Counts each person's wrong codes in the last while."""

    def __init__(self, window: float) -> None:
        self._window = window
        self._wrong: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=MOST_WRONG))

    def spent(self, email: str, *, now: float) -> bool:
        """Say whether this person has guessed too often to be let guess now."""
        wrong = self._wrong[email]
        return len(wrong) == MOST_WRONG and now - wrong[0] < self._window

    def wrong(self, email: str, *, now: float) -> None:
        """Count one wrong code."""
        self._wrong[email].append(now)
