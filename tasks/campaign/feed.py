"""Feeds of finished videos for ad platforms: JSON Feed 1.1 and Media RSS. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from xml.etree import ElementTree

from callsheet.tasks.ledger.values import CampaignRow

#: Their names, next to the status sheet.
FEEDS = ("feed.json", "feed.mrss")
_VERSION = "https://jsonfeed.org/version/1.1"
_MEDIA = "http://search.yahoo.com/mrss/"
#: What XML has no way to hold.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedItem:
    """A video in a feed; `at` is when it was finished."""

    id: str
    title: str
    text: str
    at: datetime
    link: str
    bytes: int
    tags: Sequence[str] = ()
    language: str | None = None
    captions: str | None = None


def item_of(
    campaign: str,
    row: CampaignRow,
    line: Mapping[str, Any],
    link: Callable[[str], str | None],
    *,
    kept: bool,
) -> FeedItem | None:
    """Return the item of a row; None for one without a video, or whose video is not wanted.

    Wanted are videos of rows that are in the sheet: those that a person keeps (`kept`), or all but
    those that a person rejects.
    """
    files = {file["kind"]: file for file in line["deliveries"]}
    verdict = line["review"]
    unwanted = verdict != "keep" if kept else verdict == "reject"
    if "mp4" not in files or unwanted or row.state == "retired":
        return None
    address = link(files["mp4"]["uri"])
    if address is None:
        return None
    asked, take = row.asked(), row.take
    moment = take.delivered_at if take is not None and take.delivered_at else row.since
    return FeedItem(
        id=f"{campaign}/{row.row}/{line['video_take']}",
        title=row.title,
        text=str(asked.get("topic") or row.title),
        at=datetime.fromtimestamp(int(moment), UTC),
        link=address,
        bytes=files["mp4"]["bytes"],
        tags=row.tags,
        language=asked.get("language"),
        captions=link(files["vtt"]["uri"]) if "vtt" in files else None,
    )


def as_json_feed(title: str, items: Sequence[FeedItem]) -> bytes:
    """Return the items as JSON Feed, each video as an attachment."""
    document = {"version": _VERSION, "title": title, "items": [_json_item(one) for one in items]}
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def _json_item(item: FeedItem) -> dict[str, Any]:
    video = {"url": item.link, "mime_type": "video/mp4", "size_in_bytes": item.bytes}
    captions = {"url": item.captions, "mime_type": "text/vtt"} if item.captions else None
    return {
        "id": item.id,
        "title": item.title,
        "content_text": item.text,
        "date_published": item.at.isoformat(),
        **({"tags": list(item.tags)} if item.tags else {}),
        **({"language": item.language} if item.language else {}),
        "attachments": [video, *([captions] if captions else [])],
    }


def as_media_rss(title: str, items: Sequence[FeedItem]) -> bytes:
    """Return the items as RSS 2.0 with Media RSS."""
    ElementTree.register_namespace("media", _MEDIA)
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    _add(channel, "title", title)
    _add(channel, "link", items[0].link if items else "")
    _add(channel, "description", f"Videos of {title}")
    for item in items:
        _add_item(channel, item)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _add_item(channel: ElementTree.Element, item: FeedItem) -> None:
    one = ElementTree.SubElement(channel, "item")
    _add(one, "title", item.title)
    _add(one, "description", item.text)
    _add(one, "guid", item.id, isPermaLink="false")
    _add(one, "pubDate", format_datetime(item.at))
    about = {"url": item.link, "fileSize": str(item.bytes), "type": "video/mp4", "medium": "video"}
    about |= {"lang": item.language} if item.language else {}
    content = _add(one, f"{{{_MEDIA}}}content", "", **about)
    _add(content, f"{{{_MEDIA}}}title", item.title)
    if item.tags:
        _add(content, f"{{{_MEDIA}}}keywords", ", ".join(item.tags))
    if item.captions:
        how = {"type": "text/vtt", "lang": item.language or "en", "href": item.captions}
        _add(content, f"{{{_MEDIA}}}subTitle", "", **how)


def _add(parent: ElementTree.Element, name: str, text: str, **about: str) -> ElementTree.Element:
    one = ElementTree.SubElement(parent, name, about)
    one.text = _NOT_XML.sub("", text) or None
    return one
