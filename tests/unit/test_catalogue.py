"""What the service offers, read in whatever shape: what is not certain counts as not told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from callsheet.tasks.values.catalog import Catalogue, Tool, ToolField


def catalogue(**body: Any) -> Catalogue:
    return Catalogue(base_url="https://s.test/api/v1", told_at=0.0, body=body)


def tool(entry: Any) -> Tool:
    [found] = (catalogue(tools=[entry]).tools or {}).values()
    return found


def field(told: Any) -> ToolField:
    [found] = (tool({"id": "t", "fields": [told]}).fields or {}).values()
    return found


TONE = {"name": "tone", "description": "How it sounds", "required": True}


@pytest.mark.parametrize(
    "told",
    [
        {"fields": [TONE]},
        {"inputs": [{"key": "tone", "label": "How it sounds", "required": True}]},
        {"parameters": {"tone": {"description": "How it sounds", "required": True}}},
        {"input_schema": {"type": "object", "required": ["tone"],
                          "properties": {"tone": {"description": "How it sounds"}}}},
        {"fields": [{**TONE, "id": "17", "name": "How it sounds", "key": "tone"}]},
        {"fields": [], "inputs": [TONE]},
    ],
)  # fmt: skip
def test_fields_are_found_in_any_shape(told: Any) -> None:
    fields = tool({"id": "t", **told}).fields or {}

    assert [(name, one.words, one.required) for name, one in fields.items()] == [
        ("tone", "How it sounds", True)
    ]


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"fields": None},
        {"fields": "product"},
        {"fields": ["product", 7]},
        {"fields": [{"description": "nameless"}]},
        {"schema": {"type": "object"}},
        {"schema": {"type": "object", "properties": []}},
    ],
)
def test_fields_that_cannot_be_read_are_not_told_and_any_is_taken(told: Any) -> None:
    found = tool({"id": "t", **told})

    assert found.fields is None
    assert found.takes("anything")


@pytest.mark.parametrize(
    ("listed", "ids"),
    [
        (["a", "b"], ["a", "b"]),
        ([{"slug": "a", "name": "An A"}], ["a"]),
        ([{"tool_id": 7, "name": "Seven"}], ["7"]),
        ([{"id": "a"}, {"description": "nameless"}], None),
        ([{"id": "a"}, None], None),
        ([], None),
    ],
)
def test_tools_have_ids_or_nothing_is_known_of_them(listed: Any, ids: Any) -> None:
    found = catalogue(tools=listed).tools

    assert (None if found is None else list(found)) == ids


def test_a_tool_and_a_field_go_by_every_name_that_the_service_has_for_them() -> None:
    told = {"id": "tool_1", "slug": "launch", "name": "Product launch",
            "fields": [{"id": "f1", "key": "product", "name": "Your product"}]}  # fmt: skip
    offered = catalogue(tools=[told])

    assert [offered.tool(name) is None for name in ("tool_1", "launch", "lunch")] == [0, 0, 1]
    assert [tool(told).takes(name) for name in ("product", "f1", "prodct")] == [1, 1, 0]


def test_a_price_is_told_or_not() -> None:
    for told, price in (({"credits": 5}, 5), ({"price": "2.5"}, Decimal("2.5")), ({}, None)):
        assert tool({"id": "t", **told}).credits == price
    assert tool({"id": "t", "credits": {"a": 1}}).credits is None


@pytest.mark.parametrize(
    ("told", "value", "fault"),
    [
        ({}, "anything", None),
        ({"options": ["calm", "warm"]}, "loud", "is not one of calm, warm"),
        ({"enum": [{"value": 1, "label": "One"}]}, "1", None),
        ({"choices": [{"id": "a"}]}, "b", "is not one of a"),
        ({"max_length": 3}, "four", "has 4 characters; it takes 3"),
        ({"max_length": 3}, "two", None),
        ({"minimum": 2, "maximum": 1000}, "1", "is less than 2, the least that it takes"),
        ({"min": 2, "max": 1000}, 1001, "is more than 1,000, the most that it takes"),
        ({"min": 2, "max": 5}, "many", None),
        ({"options": ["calm"]}, ["calm"], None),
        ({"max_length": "3", "options": "calm"}, "loud", None),
    ],
)
def test_a_value_is_held_to_the_limits_that_were_told(told: Any, value: Any, fault: Any) -> None:
    assert field({"name": "f", **told}).fault(value) == fault


@pytest.mark.parametrize(
    ("listed", "known"),
    [
        ([{"id": 1, "name": "Ada"}, {"id": 2}], {"1": "Ada", "2": None}),
        ([{"name": "Ada"}, {}], None),
        ([], None),
    ],
)
def test_characters_have_ids_or_nothing_is_known_of_them(listed: Any, known: Any) -> None:
    assert catalogue(characters=listed).characters == known
