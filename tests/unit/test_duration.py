"""Durations are written and said as people do."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import parse_duration, say_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("45s", 45), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("1d", 86400), ("1.5h", 5400),
     (" 2H ", 7200), ("0s", 0)],
)  # fmt: skip
def test_durations_are_read(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "10 m", "m", "-5m", "5 minutes", "1h-30m", "1e3s", "∞"])
def test_what_is_not_a_duration_is_refused_with_an_example(text):
    with pytest.raises(BadInput, match="45s, 10m or 2h") as caught:
        parse_duration(text)
    assert f'"{text}"' in str(caught.value)


@pytest.mark.parametrize("text", ["4000d", "9" * 400 + "h"])
def test_a_duration_that_no_date_can_hold_is_refused(text):
    with pytest.raises(BadInput, match="too long"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.4, "0s"), (-3, "0s"), (8, "8s"), (59.6, "1m"), (190, "3m 10s"), (3600, "1h"),
     (7500, "2h 5m"), (7505, "2h 5m"), (90000, "1d 1h")],
)  # fmt: skip
def test_durations_are_said_in_two_units(seconds, text):
    assert say_duration(seconds) == text
