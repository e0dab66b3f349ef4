"""The page of a flow run: a flow writes to it by Prefect, a command by the API of its server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from callsheet.tasks.runtime.errors import CallsheetError


class PageLost(CallsheetError):
    """The server is given up, and that was said."""


class Page(Protocol):
    """What can be written on the page of one flow run."""

    def log(self, words: str, level: int = logging.INFO) -> None:
        """Write a line of its log."""

    def handler(self) -> logging.Handler:
        """Return what writes lines of other loggers to its log."""

    async def publish(
        self,
        kind: Literal["table", "markdown", "progress"],
        data: Any,
        *,
        key: str | None = None,
        words: str | None = None,
    ) -> str | None:
        """Publish an artifact; return its id."""

    async def change(self, artifact: str, data: Any, words: str) -> None:
        """Change an artifact."""

    async def tag(self, tags: Sequence[str]) -> None:
        """Add tags to the flow run."""

    def address(self, path: str, name: object) -> str | None:
        """Return the address of another page of the same server."""
