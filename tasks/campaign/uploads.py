"""Sheets that were uploaded on the board: their bytes as they came, kept next to the ledger.

A run of such a sheet reads what was looked at and approved, whatever becomes of the place it came
from. The same bytes under the same name are one file.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from callsheet.tasks.ledger.plans import KeptSheet
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.files import write_whole
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import no_search
from callsheet.tasks.sheet import SheetOptions
from callsheet.tasks.sheet.read import FoundSheet, find_sheet_in

#: Characters of a sheet's name that are kept at most, its suffix included.
LONGEST = 100
_UNFIT = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\/]+')


def keep_bytes(settings: Settings, name: str, content: bytes) -> tuple[Path, str]:
    """Keep the bytes of a sheet; return their file, and their sha256 in hex."""
    digest = hashlib.sha256(content).hexdigest()
    file = _file(settings, name, digest)
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, content)
    return file, digest


def fit_name(name: str) -> str:
    """Return what an uploaded sheet is called: a file's name that fits everywhere, no path."""
    last = PurePosixPath(unicodedata.normalize("NFC", name).replace("\\", "/")).name
    plain = _UNFIT.sub(" ", last).strip(" .")
    stem, dot, suffix = plain.rpartition(".")
    if dot and len(suffix) < 10:
        return f"{stem[: LONGEST - len(suffix) - 1]}.{suffix}" if stem else plain
    return plain[:LONGEST] or "sheet"


def read_kept(settings: Settings, kept: KeptSheet) -> bytes:
    """Return the bytes that were uploaded; raise BadInput where they are gone or others."""
    file = _file(settings, kept.name, kept.digest)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadInput(
            f"the sheet {kept.name} that was uploaded cannot be read ({file}: {error.strerror})",
            remedy="upload it again; if runs start on another machine, the folder "
            ".callsheet/board has to be the same there",
        ) from error
    if hashlib.sha256(content).hexdigest() != kept.digest:
        raise BadInput(f"{file} is not the sheet that was uploaded", remedy="upload it again")
    return content


def size_of(settings: Settings, kept: KeptSheet) -> int:
    """Return how many bytes an uploaded sheet has; 0 where they are gone."""
    with suppress(OSError):
        return _file(settings, kept.name, kept.digest).stat().st_size
    return 0


def forget(settings: Settings, sheets: Iterable[KeptSheet]) -> None:
    """Remove the files of uploaded sheets."""
    for one in sheets:
        file = _file(settings, one.name, one.digest)
        with suppress(OSError):
            file.unlink(missing_ok=True)
            # The same bytes may be there under another name.
            file.parent.rmdir()


def find_in_kept(settings: Settings, kept: KeptSheet, options: SheetOptions) -> FoundSheet:
    """Return what is in an uploaded sheet; raise BadInput where its bytes are gone or others."""
    content = read_kept(settings, kept)
    with no_search():
        return find_sheet_in(
            content,
            name=kept.name,
            options=options,
            folder=_folder(settings, kept),
            address=kept.place,
        )


def _file(settings: Settings, name: str, digest: str) -> Path:
    return settings.uploads / digest[:32] / fit_name(name)


def _folder(settings: Settings, kept: KeptSheet) -> Path | None:
    """Return where its `@file` scripts are looked for: only a sheet of this machine's has any."""
    if "://" in kept.place or Path(kept.place).is_relative_to(settings.uploads.resolve()):
        return None
    return Path(kept.place).parent
