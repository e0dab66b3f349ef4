"""What a delivery is called in the store: a template, filled in so that no name does harm."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from string import Formatter
from typing import Literal

from callsheet.tasks.errors import ConfigurationError

FileKind = Literal["mp4", "srt", "vtt"]
CONTENT_TYPES: Mapping[FileKind, str] = {
    "mp4": "video/mp4",
    "srt": "application/x-subrip",
    "vtt": "text/vtt",
}

_SUFFIX = re.compile(r"\.(?:mp4|srt|vtt)$", re.I)
#: Control characters and what Windows, S3 consoles and address bars stumble over.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029<>:"/\\|?*#%{}^~\[\]`]')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)", re.I)
_VALUE_LIMIT = 120
_SEGMENT_LIMIT = 200
_NAME_LIMIT = 800


def object_name(template: str, *, campaign: str, row: str, take: int, kind: FileKind) -> str:
    """Return the name of one delivery, `a/b/c.mp4`; captions get the video's name and their suffix.

    Different rows, takes and kinds never share a name unless the template leaves them out.
    """
    values: dict[str, str | int] = {"campaign": campaign, "row": row, "take": take, "kind": kind}
    filled = _fill(template, values)
    stem = _SUFFIX.sub("", filled)
    segments = [_safe_segment(part, template) for part in f"{stem}.{kind}".split("/") if part]
    name = "/".join(part for part in segments if part)
    if len(name.encode()) > _NAME_LIMIT:
        raise ConfigurationError(f'the name template "{template}" makes names that are too long')
    return name


@lru_cache(maxsize=16)
def _pieces(template: str) -> list[tuple[str, str | None, str | None, str | None]]:
    return list(Formatter().parse(template))


def picture_name(video: str, ending: str) -> str:
    """Return the name of a picture beside its video: `a/b/c.mp4` has `a/b/c.jpg`."""
    return f"{_SUFFIX.sub('', video)}{ending}"


def _fill(template: str, values: dict[str, str | int]) -> str:
    known = ", ".join(f"{{{name}}}" for name in values)
    try:
        pieces = _pieces(template)
    except ValueError:
        message = f'the name template "{template}" has a brace without its partner'
        raise ConfigurationError(message, remedy=f"it may use {known}") from None
    filled = ""
    for literal, field, form, conversion in pieces:
        filled += literal
        if field is None:
            continue
        if field not in values or conversion or (form and not isinstance(values[field], int)):
            message = f'the name template "{template}" asks for {{{field}}}, which is not known'
            raise ConfigurationError(message, remedy=f"it may use {known}")
        filled += _formatted(values[field], form or "", template)
    return filled


def _formatted(value: str | int, form: str, template: str) -> str:
    if isinstance(value, str):
        return _safe_value(value)
    if not re.fullmatch(r"(?:0?\d)?d?", form):
        raise ConfigurationError(f'the name template "{template}" may write {{take:03d}} at most')
    return format(value, form)


@lru_cache(maxsize=1024)
def _safe_value(value: str) -> str:
    """Return `value` fit to stand between slashes; what had to be changed gets a digest."""
    wanted = unicodedata.normalize("NFC", value)
    safe = _UNSAFE.sub("-", wanted).strip(" .")
    safe = safe.encode("utf-8", "replace")[:_VALUE_LIMIT].decode("utf-8", "ignore")
    if safe == wanted and safe:
        return safe
    # Two values that look alike once cleaned must not meet under one name.
    mark = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe}-{mark}" if safe else mark


@lru_cache(maxsize=1024)
def _safe_segment(segment: str, template: str) -> str:
    segment = _UNSAFE.sub("-", segment).strip(" ")
    if segment == ".":
        return ""
    if segment == "..":
        raise ConfigurationError(f'the name template "{template}" may not climb with ".."')
    if len(segment.encode()) > _SEGMENT_LIMIT:
        raise ConfigurationError(f'the name template "{template}" makes names that are too long')
    segment = segment.rstrip(". ") or "_"
    return f"_{segment}" if _DEVICE.match(segment) else segment
