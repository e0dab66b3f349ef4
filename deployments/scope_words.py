"""What each scope is for, in the words of this command line."""

from __future__ import annotations

from collections.abc import Iterable

from tasks.errors import BadInput

SCOPES = ("read", "write", "ai")
_LACKS = {
    "read": "nothing can be quoted, looked at or downloaded: `callsheet plan` and `run` need it",
    "write": "no film can be made: `callsheet run` needs it",
    "ai": "`callsheet run` cannot make rows that animate an image, let an avatar speak or swap a "
    "character",
}


def parse_scopes(text: str | None) -> tuple[str, ...]:
    """Return the scopes of `--scopes read,write`, all of them without; raise BadInput."""
    if text is None:
        return SCOPES
    asked = {part.strip() for part in text.replace(",", " ").split()}
    strange = sorted(asked - set(SCOPES))
    if strange or not asked:
        raise BadInput(
            f'--scopes "{text}" is not a list of read, write and ai',
            remedy="write it like --scopes read,write,ai",
        )
    return tuple(scope for scope in SCOPES if scope in asked)


def what_lacks(missing: Iterable[str]) -> list[str]:
    """Return a sentence for each scope that was not granted."""
    found = [scope for scope in missing if scope in _LACKS]
    return [f"without `{scope}` {_LACKS[scope]}" for scope in found]
