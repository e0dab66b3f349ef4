"""A file that is no sheet is named for what it is, with how to save what is wanted."""

from __future__ import annotations

import io
import zipfile

import pytest

OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 64


def packed(part: str, content: str = "x") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(part, content)
    return made.getvalue()


ODS = packed("mimetype", "application/vnd.oasis.opendocument.spreadsheet")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("c.csv", b"%PDF-1.7\n", "is a PDF"),
        ("c.csv", b"\x89PNG\r\n\x1a\n", "is a picture (PNG)"),
        ("c.rtf", b"{\\rtf1 id,tool}", "is a text document (RTF)"),
        ("c.csv.gz", b"\x1f\x8b\x08\0", "is packed (gzip): unpack it"),
        ("c.xlsx", packed("word/document.xml"), "is a Word document"),
        ("c.pptx", packed("ppt/presentation.xml"), "is a PowerPoint file"),
        ("c.numbers", packed("Index/Document.iwa"), "choose File, Export To, Excel or CSV"),
        ("c.ods", b"damaged", "is an OpenDocument spreadsheet"),
        ("c.zip", ODS, "is an OpenDocument spreadsheet"),
        ("c.xlsb", packed("xl/workbook.bin"), "is a binary workbook (.xlsb)"),
        ("c.xls", OLD_OFFICE, "choose File, Save As, Excel Workbook (.xlsx) or CSV UTF-8"),
        ("c.doc", b"", "is a Word document"),
        ("c.xls", OLD_OFFICE + "WordDocument".encode("utf-16-le"), "is a Word document"),
        ("c.xlsx", OLD_OFFICE + "EncryptedPackage".encode("utf-16-le"), "with a password"),
        ("c.gsheet", b'{"url": "https://..."}', "is only a link to a Google sheet"),
        ("c.xlsx", b"", "has no rows: it is empty"),
    ],
)
def test_it_is_named_for_what_it_is(refuse, name, content, told):
    (said,) = refuse(content, name)
    assert said.startswith(f"{name} ")
    assert told in said
    assert "\n" not in said
