"""Moments are said in the reader's zone, with UTC behind."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from callsheet.deployments.terminal import say_moment

YEAR = datetime.now(UTC).year


@pytest.mark.parametrize(
    ("at", "zone", "said"),
    [
        (datetime(YEAR, 6, 22, 7, 14, tzinfo=UTC), "Europe/Berlin", "22 Jun 09:14 (07:14 UTC)"),
        (datetime(YEAR, 6, 22, 7, 14, tzinfo=UTC), "UTC", "22 Jun 07:14 UTC"),
        (
            datetime(YEAR, 6, 22, 23, 14, tzinfo=UTC),
            "Asia/Tokyo",
            "23 Jun 08:14 (22 Jun 23:14 UTC)",
        ),
        (0.0, "UTC", "1 Jan 1970 00:00 UTC"),
        (None, "UTC", "-"),
    ],
)
def test_a_moment_is_said_where_the_reader_is(at, zone, said):
    assert say_moment(at, zone=ZoneInfo(zone)) == said


def test_a_moment_to_wait_for_is_never_said_too_early():
    until = datetime(YEAR, 6, 22, 7, 14, 1, tzinfo=UTC)

    assert say_moment(until, zone=UTC, up=True) == "22 Jun 07:15 UTC"
