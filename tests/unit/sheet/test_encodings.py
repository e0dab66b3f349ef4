"""Whatever program saved it, the words are the same."""

import pytest

TEXT = "id,tool,fields.product,title\nr1,explainer,Kessel,Schöner “Tee” für dich\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_it_reads_every_unicode_encoding_alike(read, encoding):
    sheet = read(TEXT.encode(encoding))
    assert sheet.columns[0] == "id"
    assert sheet.briefs[0].title == "Schöner “Tee” für dich"
    assert sheet.briefs[0].digest == read(TEXT).briefs[0].digest
    assert not sheet.advice


def test_it_reads_utf_16_of_either_byte_order(read):
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        assert read(mark + TEXT.encode(encoding)).briefs == read(TEXT).briefs


def test_it_reads_windows_1252_and_quotes_what_it_guessed(read):
    sheet = read(TEXT.encode("cp1252"))
    assert sheet.briefs[0].digest == read(TEXT).briefs[0].digest
    note = str(sheet.notes[0])
    assert "Windows-1252" in note
    assert '"Schöner “Tee” für dich"' in note


def test_it_never_reads_latin_1(read):
    """Latin-1 would turn the curly quotes of Windows into control characters."""
    assert "“Tee”" in read(TEXT.encode("cp1252")).briefs[0].title


def test_it_refuses_bytes_that_are_neither(refuse):
    assert refuse(b"id,tool\nr1,\x81\n") == [
        "campaign.csv:2 is neither UTF-8 nor Windows-1252; save it as CSV UTF-8"
    ]


def test_it_refuses_a_broken_utf_16_file(refuse):
    assert "is damaged" in refuse(b"\xff\xfe\x00\xd8\x00\x00")[0]


def test_it_refuses_a_nul_and_names_its_line(refuse):
    assert refuse("id,tool\nr1,ex\0plainer\n") == [
        "campaign.csv:2 holds a NUL character; save it as CSV UTF-8"
    ]


@pytest.mark.parametrize("character", ["\x01", "\x1b", "\x7f"])
def test_it_refuses_control_characters_in_a_cell(refuse, character):
    (problem,) = refuse(f"id,tool,title\nr1,explainer,a{character}b\n")
    assert problem.startswith('campaign.csv:2 row "r1", column title: ')
    assert f"U+{ord(character):04X}" in problem


def test_it_reads_lines_that_end_in_any_way(read):
    for end in ("\n", "\r\n", "\r"):
        assert read(TEXT.replace("\n", end)).briefs[0].digest == read(TEXT).briefs[0].digest
