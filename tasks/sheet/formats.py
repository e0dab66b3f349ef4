"""Detects the format and encoding of a sheet, and names files that are no sheet."""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from pathlib import PurePath

from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.sheet.table import Findings, SheetOptions, Table

SUFFIXES = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".tab": "delimited",
    ".txt": "delimited",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}
#: UTF-32 first: its little-endian mark begins with the one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_CELL = re.compile(r"[^,;|\t\r\n]*[^\x00-\x7f][^,;|\t\r\n]*")
_ZIP = b"PK\x03\x04"


def read_table(content: bytes, options: SheetOptions, findings: Findings) -> Table:
    """Return the table of a sheet in any format."""
    suffix = PurePath(findings.file).suffix.lower()
    if words := foreign(content, suffix):
        findings.give_up(words)
    if content.startswith(_ZIP):
        from callsheet.tasks.sheet.workbook import read_workbook

        if options.delimiter is not None:
            findings.note("is a workbook, and --delimiter is for CSV: it changes nothing")
        skip = options.hidden_rows == "skip"
        return read_workbook(content, findings, worksheet=options.worksheet, skip_hidden=skip)
    if SUFFIXES.get(suffix) == "workbook":
        if not content:
            findings.give_up("has no rows: it is empty")
        findings.give_up("is not a workbook that can be read; save it again as .xlsx or as CSV")
    text = decoded(content, findings)
    if options.worksheet is not None:
        findings.note("is no workbook, and --worksheet is for one: it changes nothing")
    return _read_text(text, SUFFIXES.get(suffix) or _sniffed(text), options, findings)


def _read_text(text: str, kind: str, options: SheetOptions, findings: Findings) -> Table:
    if text.lstrip()[:14].casefold().startswith(("<!doctype html", "<html")):
        findings.give_up(
            "is a web page, not a sheet: publish the sheet as CSV, or export it, "
            "and see that the link needs no login"
        )
    if kind == "delimited":
        from callsheet.tasks.sheet.grid import read_delimited

        if options.hidden_rows == "skip":
            findings.note(
                "does not say which rows were hidden where it was made: all of them are read; "
                "choose some with --select, or give the workbook itself"
            )
        return read_delimited(text, findings, delimiter=options.delimiter)
    from callsheet.tasks.sheet.mapping import Mapped
    from callsheet.tasks.sheet.trees import read_json, read_json_lines
    from callsheet.tasks.sheet.yaml_tree import read_yaml

    if kind == "yaml":
        return Mapped(findings, numbered=False).table(read_yaml(text, findings))
    if kind == "json lines":
        return Mapped(findings, numbered=False).table(read_json_lines(text, findings))
    return Mapped(findings, numbered=True).table(read_json(text, findings))


def _sniffed(text: str) -> str:
    """Tell the format by its first characters, where no name says it."""
    start = text.lstrip()
    if start.startswith("["):
        return "json"
    if start.startswith("{"):
        lines = [line.strip() for line in start.splitlines() if line.strip()]
        in_lines = len(lines) > 1 and all(line.endswith("}") for line in lines[:2])
        return "json lines" if in_lines and lines[1].startswith("{") else "json"
    from callsheet.tasks.sheet.columns import PARTS

    begun = rf"(?:\s*(?:#.*)?\n)*(?:---|(?:{'|'.join(PARTS)})\s*:|- )"
    return "yaml" if re.match(begun, text) else "delimited"


def decoded(content: bytes, findings: Findings) -> str:
    """Return the text: by a byte order mark, else strict UTF-8, else Windows-1252 with a note."""
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
    findings.note(
        f"is not UTF-8 and was read as Windows-1252: is {quoted} right? If not, save it as UTF-8"
    )
    return text


# Files that are no sheet, by their first bytes and by what is in them: what each is, and how what
# is wanted is saved.


_TABLE = "put its table into a spreadsheet, and save that as .xlsx or as CSV UTF-8"
_SAVE = "open it, choose File, Save As, Excel Workbook (.xlsx) or CSV UTF-8"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_WORD = f"is a Word document: {_TABLE}"
_SLIDES = f"is a PowerPoint file: {_TABLE}"
#: First bytes (or none that tell), what else is in it (a part of a packed file, a stream of an old
#: Office file), the suffix that says it where the bytes do not, and the words. The first that fits
#: is told.
_FOREIGN: tuple[tuple[bytes | tuple[()], str, str, str], ...] = (
    (b"%PDF", "", ".pdf", "is a PDF, which has pages and no cells: save the sheet it was made from "
     "as .xlsx or as CSV UTF-8"),
    (b"{\\rtf", "", "", f"is a text document (RTF): {_TABLE}"),
    (b"\x89PNG", "", "", f"is a picture (PNG): {_TABLE}"),
    (b"\xff\xd8\xff", "", "", f"is a picture (JPEG): {_TABLE}"),
    (b"GIF8", "", "", f"is a picture (GIF): {_TABLE}"),
    (b"\x1f\x8b", "", "", "is packed (gzip): unpack it, and name the sheet in it"),
    (_ZIP, "opendocument.spreadsheet", ".ods", f"is an OpenDocument spreadsheet: {_SAVE}"),
    (_ZIP, "word/document.xml", ".docx", _WORD),
    (_ZIP, "ppt/presentation.xml", "", _SLIDES),
    (_ZIP, "xl/workbook.bin", ".xlsb", f"is a binary workbook (.xlsb): {_SAVE}"),
    (_ZIP, "Index/Document.iwa", ".numbers", "is a Numbers spreadsheet: in Numbers choose File, "
     "Export To, Excel or CSV (UTF-8), and name the file that makes"),
    (_OLD_OFFICE, "EncryptedPackage", "", "is a workbook with a password: open it, take the "
     "password off (File, Info, Protect Workbook, Encrypt with Password, and empty it), and save "
     "it as .xlsx"),
    (_OLD_OFFICE, "WordDocument", ".doc", _WORD),
    (_OLD_OFFICE, "PowerPoint Document", "", _SLIDES),
    (_OLD_OFFICE, "", ".xls", f"is a workbook of an old Excel (.xls): {_SAVE}"),
    ((), "", ".pages", f"is a Pages document: {_TABLE}"),
    ((), "", ".gsheet",
     "is only a link to a Google sheet: there choose File, Download, .xlsx or CSV"),
)  # fmt: skip


def foreign(content: bytes, suffix: str) -> str | None:
    """Return what a file is that is no sheet, and how to save it; None where it may be one."""
    packed = _packed(content) if content.startswith(_ZIP) else ""
    for begins, part, _, words in _FOREIGN:
        if content.startswith(begins) and (part in packed or part.encode("utf-16-le") in content):
            return words
    return next((words for _, _, told, words in _FOREIGN if told and told == suffix), None)


def _packed(content: bytes) -> str:
    """Return the names of the parts of a packed file, and what it says that it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            said = archive.read("mimetype").decode("ascii", "ignore") if "mimetype" in names else ""
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
        return ""
    return "\n".join((*names, said))
