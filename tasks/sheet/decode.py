"""Bytes to text: a byte order mark, else strict UTF-8, else Windows-1252 with a warning."""

from __future__ import annotations

import codecs
import re

from tasks.errors import shorten
from tasks.sheet.findings import Findings

#: UTF-32 first: its little-endian mark begins with the one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_CELL = re.compile(r"[^,;|\t\r\n]*[^\x00-\x7f][^,;|\t\r\n]*")


def decode(content: bytes, findings: Findings) -> str:
    """Return the text of `content`; say so when the encoding had to be guessed."""
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            findings.give_up(f"is damaged: it begins as {encoding.upper()} but is not")
        text = _windows_text(content, findings)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        findings.give_up("holds a NUL character; save it as CSV UTF-8", line=line)
    return text


def _windows_text(content: bytes, findings: Findings) -> str:
    """Never Latin-1: it accepts every byte and turns curly quotes into control characters."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        findings.give_up("is neither UTF-8 nor Windows-1252; save it as CSV UTF-8", line=line)
    samples = [shorten(match.group().strip(' "')) for match in _CELL.finditer(text)][:3]
    quoted = ", ".join(f'"{sample}"' for sample in samples)
    findings.advise(
        f"is not UTF-8 and was read as Windows-1252: is {quoted} right? If not, save it as UTF-8"
    )
    return text
