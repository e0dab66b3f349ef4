"""Looks into a zipped workbook before anything is unpacked."""

from __future__ import annotations

import io
import zipfile

from tasks.sheet.findings import Findings
from tasks.sheet.limits import MAX_UNZIP_RATIO, MAX_UNZIPPED_BYTES, say_bytes

_MAX_PARTS = 10_000
_SMALL = 1024 * 1024


def refuse_bomb(content: bytes, findings: Findings) -> None:
    """Raise when a workbook would unpack to far more than a campaign needs.

    The sizes it declares can be trusted this far: unpacking stops where they say.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        findings.give_up("is not a workbook that can be read; save it again as .xlsx or as CSV")
    with archive:
        parts = archive.infolist()
        total = sum(part.file_size for part in parts)
        if len(parts) > _MAX_PARTS or total > MAX_UNZIPPED_BYTES:
            limit = say_bytes(MAX_UNZIPPED_BYTES)
            findings.give_up(f"unpacks to {say_bytes(total)}; {limit} is the limit")
        if total > _SMALL and total > MAX_UNZIP_RATIO * len(content):
            findings.give_up(
                f"unpacks to {total // len(content):,} times its size; no real workbook does"
            )
        if any(part.flag_bits & 1 for part in parts):
            findings.give_up("is protected by a password; save it without one")
        if not any(part.filename == "[Content_Types].xml" for part in parts):
            findings.give_up("is a zip file but not a workbook; save the sheet as .xlsx or as CSV")
        if any(_declares_entities(archive, part) for part in parts):
            findings.give_up("declares XML entities, which no workbook needs; save it as CSV")


def _declares_entities(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    if not part.filename.endswith((".xml", ".rels")):
        return False
    try:
        with archive.open(part) as source:
            return b"<!DOCTYPE" in source.read(4096)
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError):
        return False
