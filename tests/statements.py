"""What ledgers of this process are asked, for tests of how they are asked it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def statements() -> Iterator[dict[str, int]]:
    """Note every statement that a ledger is given, with the number of its parameters."""
    found: dict[str, int] = {}

    def tell(_: Any, __: Any, statement: str, parameters: Any, ___: Any, many: bool) -> None:
        found[statement] = len(parameters[0] if many else parameters)

    event.listen(Engine, "before_cursor_execute", tell)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", tell)
