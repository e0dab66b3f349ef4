"""Which format a sheet is in, and the one reader for it."""

from __future__ import annotations

import re
from pathlib import PurePath

from tasks.sheet.decode import decode
from tasks.sheet.findings import Findings
from tasks.sheet.table import Table
from tasks.sheet.values import SheetOptions

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
_ELSEWHERE = {".xls", ".xlsb", ".ods", ".numbers", ".gsheet", ".pdf", ".docx", ".doc"}
_ZIP = b"PK\x03\x04"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_YAML_START = re.compile(r"(?:\s*(?:#.*)?\n)*(?:---|(?:campaign|budget|defaults|rows)\s*:|- )")


def read_table(content: bytes, options: SheetOptions, findings: Findings) -> Table:
    """Return the table of a sheet in any format."""
    suffix = PurePath(findings.file).suffix.lower()
    if suffix in _ELSEWHERE or content.startswith(_OLD_OFFICE):
        findings.give_up("is not a format Callsheet reads; save it as .xlsx or as CSV UTF-8")
    if content.startswith(_ZIP):
        from tasks.sheet.workbook import read_workbook

        return read_workbook(content, findings, worksheet=options.worksheet)
    if SUFFIXES.get(suffix) == "workbook":
        findings.give_up("is not a workbook that can be read; save it again as .xlsx or as CSV")
    text = decode(content, findings)
    return _read_text(text, SUFFIXES.get(suffix) or _sniffed(text), options, findings)


def _read_text(text: str, kind: str, options: SheetOptions, findings: Findings) -> Table:
    if text.lstrip()[:14].casefold().startswith(("<!doctype html", "<html")):
        findings.give_up(
            "is a web page, not a sheet: publish the sheet as CSV, or export it, "
            "and see that the link needs no login"
        )
    if kind == "delimited":
        from tasks.sheet.delimited import read_delimited

        return read_delimited(text, findings, delimiter=options.delimiter)
    from tasks.sheet.mapping import Mapped

    if kind == "yaml":
        from tasks.sheet.yaml_tree import read_yaml

        return Mapped(findings, numbered=False).table(read_yaml(text, findings))
    from tasks.sheet.json_tree import read_json, read_json_lines

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
    return "yaml" if _YAML_START.match(text) else "delimited"
