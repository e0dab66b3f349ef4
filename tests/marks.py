"""Marks of tests, read from their source: no test is imported for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.repository import ROOT, files_in


def marked(mark: str) -> Iterator[tuple[str, list[str]]]:
    """Give the name of each test that has a mark, or of its file, with the mark's arguments."""
    for path in files_in("tests"):
        text = path.read_text(encoding="utf-8")
        if f"pytest.mark.{mark}(" not in text:
            continue
        name = str(path.relative_to(ROOT))
        for node in ast.parse(text).body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    for given in node.decorator_list:
                        yield from _of(mark, given, f"{name}::{node.name}")
                case ast.Assign(targets=[ast.Name("pytestmark")], value=ast.List(several)):
                    for given in several:
                        yield from _of(mark, given, name)


def _of(mark: str, given: ast.expr, name: str) -> Iterator[tuple[str, list[str]]]:
    match given:
        case ast.Call(func=ast.Attribute(attr=attr), args=args) if attr == mark:
            yield name, [ast.literal_eval(one) for one in args]
