"""Sheets from paths and from standard input."""

import hashlib
import io

import pytest

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet import SheetOptions, read_sheet
from callsheet.tasks.sheet.text import MAX_BYTES

CSV = b"id,tool\nr1,explainer\n"


async def refused(address, **kwargs):
    with pytest.raises(SheetError) as caught:
        await read_sheet(address, **kwargs)
    (problem,) = caught.value.problems
    return str(problem)


async def test_it_reads_a_path(tmp_path):
    path = tmp_path / "Spring Launch.csv"
    path.write_bytes(CSV)
    sheet = await read_sheet(str(path))
    assert (sheet.campaign, sheet.name) == ("spring-launch", "Spring Launch.csv")
    assert sheet.address == str(path)
    assert sheet.digest == hashlib.sha256(CSV).hexdigest()


async def test_a_local_sheet_may_point_to_scripts_beside_it(tmp_path):
    (tmp_path / "c.csv").write_text("id,script\nr1,@intro.txt\n")
    (tmp_path / "intro.txt").write_text("Hello")
    sheet = await read_sheet(str(tmp_path / "c.csv"))
    assert sheet.briefs[0].request["script"] == {"scenes": [{"narration": "Hello"}]}


async def test_it_reads_standard_input():
    sheet = await read_sheet("-", SheetOptions(campaign="spring"), stdin=io.BytesIO(CSV))
    assert (sheet.campaign, sheet.name, sheet.address) == ("spring", "stdin", "-")


async def test_standard_input_cannot_point_to_files():
    told = await refused(
        "-", options=SheetOptions(campaign="c"), stdin=io.BytesIO(b"id,script\nr1,@intro.txt\n")
    )
    assert "only a sheet in a local folder can" in told


async def test_it_says_what_is_wrong_with_a_path(tmp_path):
    assert await refused(str(tmp_path / "no.csv")) == (
        f"{tmp_path}/no.csv is not there: check its path"
    )
    assert (
        await refused(str(tmp_path)) == f"{tmp_path} is a folder, not a sheet: name the file in it"
    )
    assert "cannot be read" in await refused("a\0b.csv")
    assert "File name too long" in await refused("x" * 5000)


async def test_it_refuses_a_large_file_and_an_endless_one(tmp_path):
    large = tmp_path / "large.csv"
    with large.open("wb") as out:
        out.truncate(MAX_BYTES + 1)
    assert "is larger than 20 MiB" in await refused(str(large))
    assert "is larger than 20 MiB" in await refused("/dev/zero")
    assert "is larger than 20 MiB" in await refused("-", stdin=io.BytesIO(b"x" * (MAX_BYTES + 1)))


@pytest.mark.parametrize("address", ["ftp://host/c.csv", "file:///c.csv", "gs://b/c.csv"])
async def test_it_names_the_addresses_it_knows(address):
    assert await refused(address) == (
        f"{address} is not a path, - (standard input), https:// or s3://"
    )
