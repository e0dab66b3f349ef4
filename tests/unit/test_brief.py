"""A brief's digest is its identity: it follows what is asked for, and nothing else."""

from __future__ import annotations

import json
import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.values.briefs import Brief, canonical_json

LEAF = (
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)  # fmt: skip
TREE = st.recursive(LEAF, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def digest(**request) -> str:
    return Brief(row="a", request=request).digest


def test_the_digest_is_never_changed():
    assert digest(topic="Tea", aspect_ratio="9:16") == (
        "2ec02986aa1be33665dc6e262ab9869d0063daaad17de2987e7fbe7922ac3c0b"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "x", "b": 1}, {"b": 1, "a": "x"}),
        ({"a": 30}, {"a": 30.0}),
        ({"a": "one\r\ntwo\rthree"}, {"a": "one\ntwo\nthree"}),
        ({"a": unicodedata.normalize("NFD", "é")}, {"a": "é"}),
        ({"a": ("x", "y")}, {"a": ["x", "y"]}),
        ({"a": {"b": {"c": 1.0, "d": 2}}}, {"a": {"b": {"d": 2, "c": 1}}}),
    ],
)
def test_the_same_meaning_is_the_same_video(one, other):
    assert digest(**one) == digest(**other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.5}),
        ({"a": None}, {}),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}),
        ({"a": "x"}, {"a": "x "}),
    ],
)
def test_another_meaning_is_another_video(one, other):
    assert digest(**one) != digest(**other)


def test_what_the_service_is_not_asked_does_not_count():
    own = {"captions": ("srt",), "tags": ("t",), "cost_center": "c", "notes": "n", "priority": 9}
    dressed = {**own, "enabled": False, "max_credits": Decimal(1), "line": 7, "cells": (("T", ""),)}
    request = {"topic": "Tea"}
    plain = Brief(row="a", request=request)
    assert plain.digest == Brief(row="b", request=request, **dressed).digest


@pytest.mark.merge
@given(TREE)
def test_canonical_json_reads_back_to_itself(tree):
    once = canonical_json(tree)
    assert canonical_json(json.loads(once)) == once


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_what_json_does_not_have_is_refused(value):
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(value)


def test_a_brief_has_a_name_for_people():
    assert Brief(row="a", request={"title": "T", "topic": "P"}).title == "T"
    assert Brief(row="a", request={"topic": "P"}).title == "P"
    assert Brief(row="a", request={}).title == "a"
