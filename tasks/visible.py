"""Makes text from outside safe to show: a control character must not reach a terminal or a log.

Escape sequences can clear a screen, write to the clipboard or hide what a line says; characters
that change the direction of text can make it read as something else. Newlines and tabs stay.
"""

from __future__ import annotations

import re
import sys

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_INSTEAD = "\ufffd"


def visible(text: str) -> str:
    """Return text with a replacement character for each control character."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub(_INSTEAD, text)


def visible_json(document: str) -> str:
    """Return JSON with an escape for each control character: programs read the same text."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def say(words: str) -> None:
    """Say something to whoever sits here, whoever reads stdout."""
    print(visible(words), file=sys.stderr, flush=True)


def control_fault(text: str) -> str | None:
    """Return what is wrong with text that has a control character, else None."""
    found = _CONTROLS.search(text.replace("\r\n", "\n"))
    return f"has a control character (U+{ord(found[0]):04X})" if found else None
