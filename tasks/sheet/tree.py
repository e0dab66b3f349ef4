"""The tree a YAML or JSON sheet is read into."""

from __future__ import annotations

from typing import Any


class Object(dict[str, Any]):
    """An object of a document and the line it begins on."""

    def __init__(self, *, line: int) -> None:
        super().__init__()
        self.line = line
