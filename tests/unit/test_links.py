"""The setting `links`, and what feeds are made of."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from callsheet.tasks.campaign.outputs import FeedItem, as_json_feed, as_media_rss
from callsheet.tasks.values.locations import Links, parse_links

MEDIA = "{http://search.yahoo.com/mrss/}"
ITEM = FeedItem(
    id="spring/a/1",
    title="Mugs & <cups> \x07",
    text="A \x00mug",
    at=datetime(2026, 11, 24, 12, tzinfo=UTC),
    link="https://cdn.example/a.mp4?x=1&y=2",
    bytes=7,
    tags=("new", "a,b"),
    language="de",
    captions="https://cdn.example/a.vtt",
)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("presigned 7d", Links(lasting=604800)),
        ("presigned 90s", Links(lasting=90)),
        (" public https://cdn.example/x/ ", Links(base="https://cdn.example/x")),
        ("presigned 8d", None),
        ("presigned 5s", None),
        ("presigned", None),
        ("public cdn.example", None),
        ("public https://cdn.example/?x=1", None),
        ("https://cdn.example", None),
        ("", None),
    ],
)
def test_links_are_read_as_people_write_them(text: str, links: Links | None) -> None:
    assert parse_links(text) == links


def test_links_are_made_anew_when_half_of_their_time_is_over() -> None:
    links = Links(lasting=1000)
    assert links.turn(499) == links.turn(0) != links.turn(500)
    assert Links(base="https://cdn.example").turn(0) == Links(base="https://x.example").turn(1e9)


def test_a_json_feed_has_each_video_with_its_captions() -> None:
    feed = json.loads(as_json_feed("spring", [ITEM]))
    assert (feed["version"].rpartition("/")[2], feed["title"]) == ("1.1", "spring")
    (item,) = feed["items"]
    assert item["date_published"] == "2026-11-24T12:00:00+00:00"
    assert [one["mime_type"] for one in item["attachments"]] == ["video/mp4", "text/vtt"]
    assert item["attachments"][0]["url"] == ITEM.link


def test_media_rss_can_be_read_whatever_a_title_has_in_it() -> None:
    root = ElementTree.fromstring(as_media_rss("spring", [ITEM]))
    (item,) = root.iter("item")
    content = item.find(f"{MEDIA}content")
    assert content is not None
    assert content.attrib == {
        "url": ITEM.link, "fileSize": "7", "type": "video/mp4", "medium": "video", "lang": "de",
    }  # fmt: skip
    assert (item.findtext("title"), item.findtext("description")) == ("Mugs & <cups> ", "A mug")
    assert content.findtext(f"{MEDIA}keywords") == "new, a,b"
    assert ElementTree.fromstring(as_media_rss("empty", [])).find("channel/item") is None
