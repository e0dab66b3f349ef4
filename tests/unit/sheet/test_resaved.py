"""Saving a sheet elsewhere, in another program or format, never changes what is paid for."""

import csv
import io
import json
import unicodedata
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet import parse_sheet

HEADERS = ["id", "tool", "script", "title", "fields.offer", "aspect_ratio", "duration_seconds"]
_LETTERS = st.characters(exclude_categories=("Cc", "Cs", "Co", "Cn"), exclude_characters="{}")
#: Line breaks, delimiters and quotes are what programs differ about.
TEXTS = st.text(_LETTERS | st.sampled_from("\n,;|\"'“”éäŞ=+-@"), max_size=40).filter(
    # An error of a spreadsheet, like #REF!, is refused in a spreadsheet and is text elsewhere; a
    # brace begins a placeholder.
    lambda text: not set("#{}") & set(text)
)
ROWS = st.lists(
    st.tuples(
        st.booleans(),
        TEXTS.map(lambda text: f"Scene {text}"),
        TEXTS,
        TEXTS,
        st.sampled_from(["9:16", "1:1", "16:9", ""]),
        st.integers(1, 60),
    ).map(lambda row: written(*row)),
    min_size=1,
    max_size=5,
).map(lambda rows: [[f"r{number}", *row] for number, row in enumerate(rows)])


def written(tool, script, title, offer, ratio, seconds):
    """Return the cells of a row but its id."""
    first = ["explainer", "", title, offer] if tool else ["", script, title, ""]
    return [*first, ratio, str(seconds)]


def delimited(rows, *, delimiter=",", newline="\n", quoting=csv.QUOTE_MINIMAL, form="NFC"):
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=quoting)
    writer.writerows([HEADERS, *rows])
    return unicodedata.normalize(form, out.getvalue()).replace("\n", newline)


def objects(rows):
    found = [dict(zip(HEADERS, row, strict=True)) for row in rows]
    return [{"fields": {"offer": one.pop("fields.offer")}, **one} for one in found]


def excel(rows):
    book = Workbook()
    for line, row in enumerate([HEADERS, *rows], start=1):
        for column, text in enumerate(row, start=1):
            cell = book.active.cell(line, column)
            if HEADERS[column - 1] == "duration_seconds" and line > 1:
                cell.value = float(text)
            elif text:
                cell.value = text
                cell.data_type = "s"
    saved = io.BytesIO()
    book.save(saved)
    return saved.getvalue()


def identity(content, name):
    raw = content.encode() if isinstance(content, str) else content
    sheet = parse_sheet(raw, name=name)
    return [(brief.row, brief.digest) for brief in sheet.briefs]


@pytest.mark.merge
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS)
def test_the_digest_is_the_same_however_the_sheet_is_saved(rows):
    wanted = identity(delimited(rows), "c.csv")
    saved = [
        (delimited(rows, newline="\r\n"), "c.csv"),
        (delimited(rows, newline="\r"), "c.csv"),
        (delimited(rows, delimiter=";"), "c.csv"),
        (delimited(rows, delimiter="\t", quoting=csv.QUOTE_ALL), "c.tsv"),
        (delimited(rows, quoting=csv.QUOTE_ALL, form="NFD"), "c.csv"),
        (delimited(rows).encode("utf-8-sig"), "c.csv"),
        (delimited(rows, delimiter="\t").encode("utf-16"), "c.txt"),
        (json.dumps({"rows": objects(rows)}), "c.json"),
        (json.dumps({"rows": objects(rows)}, indent=1, ensure_ascii=False), "c.yaml"),
        ("\n".join(json.dumps(row, ensure_ascii=False) for row in objects(rows)), "c.jsonl"),
        (excel(rows), "c.xlsx"),
    ]
    for content, name in saved:
        assert identity(content, name) == wanted, name


@settings(max_examples=40, deadline=None)
@given(ROWS, st.randoms())
def test_moving_rows_and_columns_changes_nothing(rows, random):
    order = list(range(len(HEADERS)))
    random.shuffle(order)
    moved = [[row[place] for place in order] for row in (HEADERS, *random.sample(rows, len(rows)))]
    out = io.StringIO(newline="")
    csv.writer(out).writerows(moved)
    assert sorted(identity(out.getvalue(), "c.csv")) == sorted(identity(delimited(rows), "c.csv"))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["c.csv", "c.yaml", "c.json", "c.jsonl", "c.xlsx"]))
def test_no_bytes_end_in_anything_but_a_sheet_or_its_problems(content, name):
    for tried in (content, b"id,tool\n" + content, b"PK\x03\x04" + content, b"rows: " + content):
        with suppress(SheetError):
            parse_sheet(tried, name=name)
