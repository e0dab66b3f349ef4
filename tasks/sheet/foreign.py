"""Files that are no sheet, by their first bytes and by what is in them: what each is, and how what
is wanted is saved."""

from __future__ import annotations

import io
import zipfile

_SAVE = "Excel Workbook (.xlsx) or CSV UTF-8"
_TABLE = "put its table into a spreadsheet, and save that as .xlsx or as CSV UTF-8"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
#: First bytes -> what that is, and what to do.
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "is a PDF, which has pages and no cells: save the sheet it was made from as .xlsx "
     "or as CSV UTF-8"),
    (b"{\\rtf", f"is a text document (RTF): {_TABLE}"),
    (b"\x89PNG", f"is a picture (PNG): {_TABLE}"),
    (b"\xff\xd8\xff", f"is a picture (JPEG): {_TABLE}"),
    (b"GIF8", f"is a picture (GIF): {_TABLE}"),
    (b"\x1f\x8b", "is packed (gzip): unpack it, and name the sheet in it"),
)  # fmt: skip
_NUMBERS = (
    "is a Numbers spreadsheet: in Numbers choose File, Export To, Excel or CSV (UTF-8), and name "
    "the file that makes"
)
_OPEN_DOCUMENT = f"is an OpenDocument spreadsheet: open it, choose File, Save As, {_SAVE}"
_OLD_EXCEL = f"is a workbook of an old Excel (.xls): open it, choose File, Save As, {_SAVE}"
_BINARY = f"is a binary workbook (.xlsb): open it, choose File, Save As, {_SAVE}"
_LOCKED = (
    "is a workbook with a password: open it, take the password off (File, Info, Protect "
    "Workbook, Encrypt with Password, and empty it), and save it as .xlsx"
)
_WORD = f"is a Word document: {_TABLE}"
_SLIDES = f"is a PowerPoint file: {_TABLE}"
_PAGES = f"is a Pages document: {_TABLE}"
_LINK = "is only a link to a Google sheet: there choose File, Download, .xlsx or CSV"
#: What a name says where the bytes do not.
_SUFFIXES = {
    ".xls": _OLD_EXCEL,
    ".xlsb": _BINARY,
    ".ods": _OPEN_DOCUMENT,
    ".numbers": _NUMBERS,
    ".pages": _PAGES,
    ".gsheet": _LINK,
    ".pdf": _BEGINNINGS[0][1],
    ".docx": _WORD,
    ".doc": _WORD,
}
#: A part of a packed file -> what has it.
_PARTS = {
    "word/document.xml": _WORD,
    "ppt/presentation.xml": _SLIDES,
    "xl/workbook.bin": _BINARY,
    "Index/Document.iwa": _NUMBERS,
}
#: A stream of an old Office file -> what has it.
_STREAMS = {"EncryptedPackage": _LOCKED, "WordDocument": _WORD, "PowerPoint Document": _SLIDES}


def foreign(content: bytes, suffix: str) -> str | None:
    """Return what a file is that is no sheet, and how to save it; None where it may be one."""
    for beginning, words in _BEGINNINGS:
        if content.startswith(beginning):
            return words
    if content.startswith(_OLD_OFFICE):
        streams = (words for name, words in _STREAMS.items() if name.encode("utf-16-le") in content)
        return next(streams, _WORD if suffix == ".doc" else _OLD_EXCEL)
    packed = _packed(content) if content.startswith(b"PK\x03\x04") else None
    return packed or _SUFFIXES.get(suffix)


def _packed(content: bytes) -> str | None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = set(archive.namelist())
            if "mimetype" in names and b"opendocument.spreadsheet" in archive.read("mimetype"):
                return _OPEN_DOCUMENT
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
        return None
    return next((words for part, words in _PARTS.items() if part in names), None)
