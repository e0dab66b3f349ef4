"""Members of answers: how amounts stand in the JSON of every door."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import PlainSerializer, WithJsonSchema

from callsheet.tasks.values.amounts import as_number

#: An amount of credits, or of money: a number in JSON, an int where it is whole.
Credits = Annotated[
    Decimal,
    PlainSerializer(as_number, return_type=int | float),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "number"}]}),
]
