"""Artifacts of Prefect's: under which key they are found, and what stands in them.

A handful of them however many rows there are, and no secret in any. What Prefect does not take is
told in the log.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from hashlib import sha256
from textwrap import wrap
from typing import Any, ParamSpec
from uuid import UUID

from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact
from prefect.settings import PREFECT_UI_URL

from callsheet.tasks.redact import redact

P = ParamSpec("P")
log = logging.getLogger("callsheet.prefect")

#: Lines of a table at most: its page draws them all at once.
LINES = 1000
#: Characters of a line in a cell.
WIDE = 36
#: Characters of a name in a key at most.
_LONG = 60
#: What Markdown would take for more than a letter: cells are drawn by it.
_MARKS = re.compile(r"[\\`*\[<]|~(?=~)|(?<![^\W_])_|_(?![^\W_])")
_HEADS = re.compile(r"^(\d*)([#>+.)-])(?=#*\s)")


def key_of(name: str, kind: str) -> str:
    """Return the key of an artifact: Prefect takes small letters, digits and dashes alone.

    Two names that would be one in these letters have keys of their own.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONG]
    if slug != name:
        slug = "-".join(filter(None, (slug, sha256(name.encode()).hexdigest()[:6])))
    return f"callsheet-{slug}-{kind}"


def page_of(key: str) -> str | None:
    """Return the address of a page with all versions of an artifact."""
    return _below("artifacts/key", key)


def _below(path: str, name: object) -> str | None:
    address = PREFECT_UI_URL.value()
    return f"{address.rstrip('/')}/{path}/{name}" if address else None


def cell(text: object) -> str:
    """Return words as a cell shows them: one line, no secret, and no letter taken for a mark."""
    flat = " ".join(redact(str(text)).split())
    parts = flat.split("`")
    if len(parts) % 2 == 0:
        return _HEADS.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", flat))
    # What stands in backticks is a command of ours.
    parts[::2] = [_MARKS.sub(r"\\\g<0>", part) for part in parts[::2]]
    return _HEADS.sub(r"\1\\\2", "`".join(parts))


def words_cell(text: object) -> str:
    """Return a sentence as a cell shows it: on several lines, since a cell would not break one."""
    return "  \n".join(cell(line) for line in wrap(redact(str(text)), WIDE))


def link(text: str, address: str) -> str:
    """Return a link as a cell shows it; the address is as it may be seen."""
    safe = address.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
    words = cell(text).replace("]", r"\]")
    return f"[{words}]({safe})"


def table_in_words(columns: Iterable[str], lines: Iterable[Iterable[object]]) -> list[str]:
    """Return the lines of a table in Markdown, of cells that are ready."""
    names = list(columns)
    rows = [names, ["---"] * len(names), *lines]
    return ["| " + " | ".join(str(one).replace("|", r"\|") for one in row) + " |" for row in rows]


async def put_table(key: str, lines: list[dict[str, Any]], *, words: str) -> str | None:
    """Publish a table, with `words` above it on what it is; return the address of its page."""
    made = await acreate_table_artifact(lines, key=key, description=words)
    return _below("artifacts/artifact", made) if isinstance(made, UUID) else None


async def put_words(key: str, lines: Iterable[str], *, words: str | None = None) -> None:
    """Publish lines of Markdown."""
    await acreate_markdown_artifact("\n".join(lines), key=key, description=words)


def out_of_the_way(
    publish: Callable[P, Coroutine[Any, Any, None]],
) -> Callable[P, Coroutine[Any, Any, None]]:
    """Have a publication that fails told in the log, and nothing else come of it."""

    @wraps(publish)
    async def published(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            await publish(*args, **kwargs)
        except Exception as error:
            words = redact(str(error) or repr(error))
            log.warning("Prefect does not show all of this run: %s", words)

    return published
