"""Credits are exact."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.values.amounts import (
    CreditPrice,
    as_number,
    as_text,
    from_micro,
    in_credits,
    parse_credits,
    to_micro,
)


@pytest.mark.parametrize(
    ("value", "amount"),
    [(12, "12"), (0.1, "0.1"), (1e-06, "0.000001"), (" 12.50 ", "12.5"), ("100", "100"),
     ("-0", "0"), (Decimal("0.1234567"), "0.123457"), (10**12, "1000000000000")],
)  # fmt: skip
def test_amounts(value, amount):
    found = parse_credits(value)
    assert found == Decimal(amount)
    assert as_text(found).replace(",", "") == amount


@pytest.mark.parametrize(
    "value",
    [None, True, False, -1, "-1", "", "twelve", "1,5", "1_000", "12 credits", "nan", "inf",
     float("nan"), float("inf"), 10**13, "1e99999", [], {}, b"1"],
)  # fmt: skip
def test_what_is_not_an_amount(value):
    assert parse_credits(value) is None


@given(st.integers(0, 10**18))
def test_millionths_are_kept_exactly(micro):
    assert to_micro(from_micro(micro)) == micro


@pytest.mark.parametrize(
    ("amount", "number", "text"),
    [("12", "12", "12"), ("1E+3", "1000", "1,000"), ("0.000001", "1e-06", "0.000001"),
     ("0", "0", "0"), (None, "null", "unknown")],
)  # fmt: skip
def test_shown_to_programs_and_to_people(amount, number, text):
    credits = None if amount is None else Decimal(amount)
    assert json.dumps(as_number(credits)) == number
    assert as_text(credits) == text


@pytest.mark.parametrize(
    ("amount", "words", "priced"),
    [
        ("45", "45 credits", "45 credits (5.40 USD)"),
        ("1", "1 credit", "1 credit (0.12 USD)"),
        ("1234.5", "1,234.5 credits", "1,234.5 credits (148.14 USD)"),
        ("0", "0 credits", "0 credits"),
        (None, "unknown credits", "unknown credits"),
    ],
)
def test_a_price_is_in_money_too_where_a_credit_has_a_price(amount, words, priced):
    credits = None if amount is None else Decimal(amount)
    assert in_credits(credits) == words
    assert in_credits(credits, CreditPrice(Decimal("0.12"), "USD")) == priced
