"""`callsheet contact-sheet`: videos on one page that needs nothing else."""

from __future__ import annotations

import base64
import io
import re

import pytest
from PIL import Image

from tests.programs import Desk

SHEET = """id,tool,fields.product,aspect_ratio,duration_seconds,title,language
one,product-launch,Tea,9:16,5,<script>alert(1)</script> & Grüße,de
two,product-launch,Coffee,16:9,5,The second,en
"""


@pytest.fixture
def campaign(desk: Desk, name: str) -> str:
    """Two videos, one of which somebody rejected."""
    ended = desk.run(desk.sheet(f"{name}.csv", SHEET))
    assert ended.status == 0, ended.err
    words = ["--because", "wording", "--note", "says <b>tee</b>"]
    assert desk.call("review", name, "one", "reject", *words).status == 0
    return name


@pytest.mark.merge
def test_a_page_holds_everything_and_no_markup_of_others(desk: Desk, campaign: str) -> None:
    ended = desk.call("contact-sheet", campaign, "-o", "videos.html", "--json")
    assert ended.status == 0, ended.err
    page = (desk.folder / "videos.html").read_text()
    assert (ended.json["videos"], ended.json["bytes"]) == (2, len(page.encode()))
    sources = re.findall(r'src="([^"]+)"', page)
    assert len(sources) == 4
    sizes = []
    for source in sources:
        kind, _, data = source.partition(",")
        assert kind == "data:image/jpeg;base64"
        sizes.append(Image.open(io.BytesIO(base64.b64decode(data))).size)
    assert sizes[1::2] == [(900, 160), (1600, 90)]
    assert not re.search(r"<(script|video|link|iframe|b)\b|https?://|url\(", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; Grüße" in page
    assert "rejected: wording: says &lt;b&gt;tee&lt;/b&gt;" in page
    assert "0 kept, 1 rejected, 1 undecided; 2 with a finding" in page
    assert "it is 1 s long, 5 s were asked for" in page


def test_a_row_explained_says_with_its_take_what_was_decided(desk: Desk, campaign: str) -> None:
    told = desk.call("explain", campaign, "one").out
    assert told.count("UTC  rejected  by ") == 2, "with its take, and in the history"


def test_a_page_shows_the_chosen_videos(desk: Desk, campaign: str) -> None:
    words = ("-o", "videos.html", "--select", "language:en", "--json")
    assert desk.call("contact-sheet", campaign, *words).json["videos"] == 1
    page = (desk.folder / "videos.html").read_text()
    assert "The second" in page
    assert "Grüße" not in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-o", "videos.pdf"], "is not a web page"),
        (["-o", "videos.jpg"], "is not a web page"),
        (["-o", "nowhere/videos.html"], "there is no folder"),
        (["-o", "videos.html", "--select", "language:fr"], "language:fr matches no row"),
        ([], "-o"),
    ],
)
def test_what_cannot_be_written_is_said(
    desk: Desk, campaign: str, words: list[str], told: str
) -> None:
    ended = desk.call("contact-sheet", campaign, *words)
    assert ended.status == 2
    assert told in ended.err
    assert not list(desk.folder.glob("videos.*"))
