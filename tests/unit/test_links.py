"""The setting `links`."""

from __future__ import annotations

import pytest

from callsheet.tasks.values.locations import Links, parse_links


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
