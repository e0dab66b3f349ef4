"""Tests that other tests point at, as `tests/unit/test_key.py::test_a_key_is_short_and_plain`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


def missing(names: Iterable[str]) -> list[str]:
    """Return those of the names that no test has."""
    return [name for name in names if not _exists(*name.split("::"))]


def _exists(path: str, function: str) -> bool:
    return function.startswith("test_") and function in _functions(path)


@cache
def _functions(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(
        node.name for node in ast.parse(file.read_text()).body if isinstance(node, kinds)
    )
