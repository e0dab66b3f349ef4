"""The size of the program in figures, counted from its source: `make stats`.

A line of code is a line that is not blank and no part of a comment, a docstring or an import.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = ("flows", "tasks", "deployments")
#: A file is small with fewer lines of code than this and at most one public class or function.
SMALL = 60
ENTRY = re.compile(r"^\| (?!word )([^|]*\w[^|]*?) \| [^|]+ \|$", re.MULTILINE)


def stats() -> Mapping[str, str]:
    """Return each figure by its name."""
    program = [path.read_text(encoding="utf-8") for path in files_of(*PROGRAM)]
    tests = [path.read_text(encoding="utf-8") for path in files_of("tests")]
    lines = sum(len(text.splitlines()) for text in program)
    imports = sum(len(imports_in(text)) for text in program)
    words = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    return {
        "lines of code in flows, tasks and deployments": f"{sum(map(code_in, program)):,}",
        "Python files in flows, tasks and deployments": f"{len(program):,}",
        "share of their lines that are imports": f"{imports / lines:.1%}",
        f"small files (under {SMALL} lines of code, at most one public definition)": str(
            sum(map(is_small, program))
        ),
        "lines of tests": f"{sum(len(text.splitlines()) for text in tests):,}",
        "entries of the glossary": str(len(ENTRY.findall(words))),
    }


def files_of(*folders: str) -> Iterator[Path]:
    """Yield every Python file below some folders."""
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def imports_in(text: str) -> set[int]:
    """Return the numbers of the lines that imports are on."""
    return {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def code_in(text: str) -> int:
    """Return how many lines of code a file has."""
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    written = {
        number
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in (*nothing, tokenize.ENDMARKER)
        for number in range(token.start[0], token.end[0] + 1)
    }
    return len(written - imports_in(text) - docstrings_in(text))


def docstrings_in(text: str) -> set[int]:
    """Return the numbers of the lines that docstrings are on."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, kinds) and ast.get_docstring(node) is not None
        for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }


def is_small(text: str) -> bool:
    """Return whether a file has little code and at most one public definition."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    public = [
        node
        for node in ast.parse(text).body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]
    return code_in(text) < SMALL and len(public) <= 1


def main() -> None:
    """Print each figure on a line of its own."""
    found = stats()
    width = max(map(len, found))
    for name, figure in found.items():
        print(f"{name:<{width}}  {figure:>7}")


if __name__ == "__main__":
    main()
