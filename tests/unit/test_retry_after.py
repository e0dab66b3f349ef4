"""Retry-After in all the forms it is met in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from callsheet.tasks.runtime.retry import retry_after

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def http_date(moment):
    return format_datetime(moment, usegmt=True)


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("7", 7), (" 7 ", 7), ("0.25", 0.25), ("-5", 0), ("3600", 3600), ("1e300", 86400)],
)
def test_seconds_are_read(told, seconds):
    assert retry_after({"retry-after": told}, now=NOW) == seconds


@pytest.mark.parametrize("told", ["", "nan", "inf", "-inf", "soon", "1e999", "7 seconds", "Mon"])
def test_what_is_neither_number_nor_date_is_nothing(told):
    assert retry_after({"retry-after": told}, now=NOW) is None


def test_a_date_is_compared_with_the_date_of_the_answer_and_not_with_our_clock():
    theirs = NOW + timedelta(hours=3)
    headers = {"date": http_date(theirs), "retry-after": http_date(theirs + timedelta(seconds=30))}
    assert retry_after(headers, now=NOW) == 30
    assert retry_after({"retry-after": http_date(NOW - timedelta(days=1))}, now=NOW) == 0
    assert retry_after({}, now=NOW) is None


@pytest.mark.parametrize("date", [{}, {"date": "yesterday"}])
def test_a_date_without_one_to_compare_is_compared_with_our_clock(date):
    told = http_date(NOW + timedelta(seconds=40))
    assert retry_after({"retry-after": told} | date, now=NOW) == 40
