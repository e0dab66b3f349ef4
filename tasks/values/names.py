"""Names of delivered files: what a template may say, and what no file may be called.

A row's name has its columns filled in; `{campaign}` and `{take}` stay until a file is delivered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from string import Formatter

#: The template of rows whose sheet and profile set none.
DEFAULT_NAMES = "{campaign}/{row}/{row}-take{take}.mp4"
#: Filled when a file is delivered: a campaign may get another name, and a row more takes.
LATER = ("campaign", "take")
#: Filled then in the address of a copy: the name of the file, without its folders and suffix.
FILE = "name"
#: Bytes of one part between slashes, and of all; a take of many digits and a suffix still fit.
SEGMENT_LIMIT, NAME_LIMIT = 180, 760

_SUFFIX = re.compile(r"\.(?:mp4|srt|vtt)$", re.IGNORECASE)
_PADDED = re.compile(r"0?([1-9])d?")
_LATER = re.compile(r"\{(campaign|row|take|name)(?::([1-9]))?\}")
_PLACE = re.compile(r"(s3://[A-Za-z0-9][A-Za-z0-9._-]+|file:(?://)?)/(?:[^{}]*/)?")
#: What no name may have on Windows, and control characters.
_ILLEGAL = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff<>:"/\\|?*]')
#: What S3 consoles and address bars stumble over.
_AWKWARD = re.compile(r"[#%{}^~\[\]`]")
_RATIO = re.compile(r"(\d+):(\d+)")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)", re.I)


def fold(text: str) -> str:
    """Return the form in which two names are the same file on some system."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def as_spelled(name: str, names: Collection[str]) -> str:
    """Return which of these names is meant; the name itself where that is none of them.

    People type capitals, blanks and accents as they like.
    """
    if name in names:
        return name
    typed = _alike(name)
    return next((one for one in names if _alike(one) == typed), name)


@lru_cache(maxsize=1000)
def _alike(name: str) -> str:
    """Return the form in which two names are the same to people."""
    return " ".join(fold(name).split())


def parts_of(template: str) -> list[tuple[str, str | None, str]]:
    """Return text, word and digits of each part of a template; ValueError says what is wrong."""
    stem = _SUFFIX.sub("", template.strip())
    found: list[tuple[str, str | None, str]] = []
    try:
        parts = list(Formatter().parse(stem))
    except ValueError:
        raise ValueError("has a brace without its partner") from None
    for text, word, form, conversion in parts:
        digits = _PADDED.fullmatch(form or "")
        if conversion or (form and not (word == "take" and digits)):
            raise ValueError(f"has {{{word}}} in a form; only {{take:02}} has one")
        if _AWKWARD.search(text):
            raise ValueError("has a brace or another of # % ^ ~ [ ] ` outside its placeholders")
        found.append((unicodedata.normalize("NFC", text), word, digits[1] if digits else ""))
    return found


def split_copy(template: str) -> tuple[str, str]:
    """Return the place of a copy, to its last folder without a placeholder, and the name in it.

    Raises ValueError in words for what is no address in a bucket or folder.
    """
    found = _PLACE.match(template)
    if found is None or not found[0].strip("/") or "?" in template or "#" in template:
        raise ValueError(
            "is not an address like s3://bucket/{campaign}/{name}.mp4 or file:/folder/{name}.mp4"
        )
    place = found[0].rstrip("/")
    if any(part in (".", "..") for part in place.split("/")):
        raise ValueError("has a part that begins with a dot")
    return place, template[found.end() :]


def name_part(text: str) -> str:
    """Return the text of a cell as a part of a name: `9:16` as `9x16`, and no blanks.

    Raises ValueError in words for text that no name may have.
    """
    seen = (c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c) != "Cf")
    plain = re.sub(r"\s+", "-", _RATIO.sub(r"\1x\2", "".join(seen)).strip())
    if illegal := _ILLEGAL.search(plain):
        raise ValueError(f"cannot be in the name of a file: it has {illegal[0]!r}")
    return _AWKWARD.sub("-", plain)


def name_fault(name: str) -> str | None:
    """Return why no file may have a name, which has its folders and no suffix; None if one may."""
    for part in name.split("/"):
        if not part:
            return "has a folder without a name"
        if part.startswith("."):
            return "has a part that begins with a dot"
        if part != part.strip(". "):
            return "has a part that begins with a blank, or ends in a dot or a blank"
        if _DEVICE.match(part):
            return "has a part that is the name of a device on Windows"
        if illegal := _ILLEGAL.search(part):
            return f"has {illegal[0]!r}"
        if len(part.encode()) > SEGMENT_LIMIT:
            return f"is longer than {SEGMENT_LIMIT} bytes"
    return f"is longer than {NAME_LIMIT} bytes" if len(name.encode()) > NAME_LIMIT else None


def object_name(
    name: str | None, *, campaign: str, row: str, take: int, kind: str, file: str = ""
) -> str:
    """Return the name of one file in the store, `a/b/c.mp4`.

    `name` is the row's own (None: the default), or that of a copy of `file`. Where it does not say
    the take, every take after the first one adds it, so that takes never share a name.
    """
    template = name or _SUFFIX.sub("", DEFAULT_NAMES)
    values = {"campaign": campaign, "row": row, "take": str(take), FILE: file}
    stem = _LATER.sub(lambda found: values[found[1]].rjust(int(found[2] or 0), "0"), template)
    if take > 1 and "{take" not in template and "{name" not in template:
        stem += f"-take{take}"
    return f"{stem}.{kind}"
